//! An experiment as it was written.

use std::fmt;
use std::path::PathBuf;
use wakelab_workload::benchmarks;

/// More repeats than this are refused.
pub const REPEATS_MAX: u32 = 10_000;

/// A workload as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadSpec {
    /// `netperf:TCP_RR`.
    pub name: Given<String>,
    /// `25%..200%/25%`.
    pub load: Given<String>,
    /// Numbers of its model that are set to others.
    pub params: Vec<(String, Given<u64>)>,
}

impl WorkloadSpec {
    /// The load of a workload that says itself how many threads there are: a file of rt-app runs once, and one app draws.
    pub(super) fn own_load(name: &Given<String>) -> Option<Given<String>> {
        let rt_app = name.value.ends_with(".json").then_some(1);
        let own = rt_app.or_else(|| wakelab_workload::default_load(&name.value));
        own.map(|load| Given::by_default("load", load.to_string()))
    }
}

/// An experiment as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// A machine's name, or the path of its file.
    pub machine: Given<String>,
    /// A kernel's name.
    pub kernel: Given<String>,
    /// The workloads, one or more.
    pub workloads: Vec<WorkloadSpec>,
    /// What is switched on the base side: `A,NO_B`, or empty.
    pub base: Given<String>,
    /// The same on the other.
    pub with: Given<String>,
    /// How often each case is run on each side.
    pub repeats: Given<u32>,
    /// Where the seeds of the runs come from.
    pub seed: u64,
    /// What is measured, ns.
    pub time_ns: Given<u64>,
    /// What is simulated before that, ns.
    pub settle_ns: Given<u64>,
    /// What a tracer costs at each call of `select_idle_cpu()`, ns.
    pub observer_cost_ns: u64,
    /// Whether each search is compared with perfect knowledge.
    pub regret: bool,
    /// Whether what the model has no meaning for is let pass in files of rt-app, with a warning.
    pub lenient: bool,
    /// A CSV file of published results.
    pub results: Option<Given<PathBuf>>,
    /// A CSV file of published search statistics.
    pub search: Option<Given<PathBuf>>,
    /// Where relative paths begin: the folder of the file, or the current one.
    pub folder: PathBuf,
}

impl Spec {
    /// What `wakelab compare` is given, with the defaults of everything that can be left out: one repeat, seed 1, 1 s
    /// measured after 600 ms, or what the benchmark takes if that is longer. What differs is set in the fields. A file of
    /// rt-app says itself how many threads there are, and has a load of 1 if none is given.
    ///
    /// # Errors
    /// Where there is no load for another workload.
    pub fn of_flags(
        machine: &str,
        kernel: &str,
        workload: &str,
        load: Option<&str>,
        base: &str,
        with: &str,
    ) -> Result<Self, SpecError> {
        let flag = |flag, value: &str| Given::by_flag(flag, value.to_owned());
        let name = flag("--workload", workload);
        let load = match load {
            Some(load) => flag("--load", load),
            None => WorkloadSpec::own_load(&name).ok_or_else(|| {
                let missing =
                    Given::by_flag("--load", ()).error("is required for this workload; expected how many instances");
                let own = benchmarks().iter().filter(|benchmark| benchmark.default_load().is_some());
                let own: String = own.map(|benchmark| format!(" and {}", benchmark.name())).collect();
                let example = "such as 28, 1,2,4,8, 25% or 25%..200%/25%";
                missing.with_hint(format!("{example}; only a file of rt-app (.json){own} have a load of their own"))
            })?,
        };
        let shortest = wakelab_workload::shortest_run(&name.value);
        let workload = WorkloadSpec { name, load, params: Vec::new() };
        let mut spec = Spec::with_defaults(
            "compare".to_owned(),
            (flag("--machine", machine), flag("--kernel", kernel)),
            vec![workload],
            (flag("--base", base), flag("--with", with)),
        );
        if shortest.time_ns > spec.time_ns.value {
            spec.time_ns = Given::by_default("time", shortest.time_ns);
            spec.settle_ns = Given::by_default("settle", shortest.settle_ns);
        }
        Ok(spec)
    }

    pub(super) fn with_defaults(
        name: String,
        (machine, kernel): (Given<String>, Given<String>),
        workloads: Vec<WorkloadSpec>,
        (base, with): (Given<String>, Given<String>),
    ) -> Self {
        Spec {
            name,
            machine,
            kernel,
            workloads,
            base,
            with,
            repeats: Given::by_default("repeats", 1),
            seed: 1,
            time_ns: Given::by_default("time", 1_000_000_000),
            settle_ns: Given::by_default("settle", 600_000_000),
            observer_cost_ns: 0,
            regret: false,
            lenient: false,
            results: None,
            search: None,
            folder: PathBuf::new(),
        }
    }
}

/// Where something was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1; `None` if it is the file as a whole.
        line: Option<usize>,
        /// The key, as `variants.base`.
        key: Option<String>,
    },
    /// On the command line.
    Flag(&'static str),
    /// Nowhere: the default of this flag or key.
    Default(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, line, key } => wakelab_input::write_place(f, path, *line, key.as_deref()),
            Place::Flag(flag) => f.write_str(flag),
            Place::Default(name) => write!(f, "the default of {name}"),
        }
    }
}

/// A value, and where it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// Where it was given.
    pub place: Place,
}

impl<T> Given<T> {
    /// Given by this flag.
    pub fn by_flag(flag: &'static str, value: T) -> Self {
        Given { value, place: Place::Flag(flag) }
    }

    /// Given by nobody.
    pub fn by_default(name: &'static str, value: T) -> Self {
        Given { value, place: Place::Default(name) }
    }

    /// An error about it.
    pub fn error(&self, what: impl Into<String>) -> SpecError {
        SpecError { place: self.place.clone(), what: what.into(), hint: None }
    }
}

/// An experiment cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Where.
    pub place: Place,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SpecError {
    /// The same error, with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}"))
    }
}

impl std::error::Error for SpecError {}
