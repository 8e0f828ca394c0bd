//! An experiment as it was written, with the place of each value.

use super::NamedSide;
use crate::compare::Until;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use wakelab_input::shortened_message;
use wakelab_scx_fetch::Schedulers;
use wakelab_workload::benchmarks;

/// The highest number of repeats.
pub const REPEATS_MAX: u32 = 10_000;
/// The number of repeats if none is given: the fewest of which a t-test says something.
pub const REPEATS: u32 = 3;

/// A workload as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadSpec {
    /// Its name: `netperf:TCP_RR`.
    pub name: Given<String>,
    /// Its load: `25%..200%/25%`.
    pub load: Given<String>,
    /// The parameters of its model that are set.
    pub params: Vec<(String, Given<u64>)>,
}

impl WorkloadSpec {
    /// Creates a workload that flags give. Without a load it has its own, if it has one.
    ///
    /// # Errors
    /// Fails if it has no load.
    pub(super) fn of_flags(name: &str, load: Option<&str>) -> Result<Self, SpecError> {
        let name = Given::by_flag("--workload", name.to_owned());
        let load = match load {
            Some(load) => Given::by_flag("--load", load.to_owned()),
            None => WorkloadSpec::own_load(&name, Path::new("")).ok_or_else(|| {
                let missing =
                    Given::by_flag("--load", ()).error("is required for this workload; expected a number of instances");
                let own = benchmarks().iter().filter(|benchmark| benchmark.default_load().is_some());
                let own: String = own.map(|benchmark| format!(", and {}", benchmark.name())).collect();
                let example = "such as 28, 1,2,4,8, 25% or 25%..200%/25%";
                let files = "a file of rt-app (.json), one whose tasks are all by count";
                missing.with_hint(format!("{example}; {files}{own} have a load of their own"))
            })?,
        };
        Ok(WorkloadSpec { name, load, params: Vec::new() })
    }

    /// Returns the load of a workload that needs none: a file of rt-app runs once, Jankbench draws one app, and tasks
    /// by `count` are as many at any load. The path of a file begins at `folder`.
    pub(super) fn own_load(name: &Given<String>, folder: &Path) -> Option<Given<String>> {
        let rt_app = name.value.ends_with(".json").then_some(1);
        let own = rt_app.or_else(|| wakelab_workload::default_load(&found_from(folder, &name.value)));
        own.map(|load| Given::by_default("load", load.to_string()))
    }
}

/// Returns a name, or the path of a file relative to `folder`.
pub(crate) fn found_from<'a>(folder: &Path, name: &'a str) -> Cow<'a, str> {
    if name.contains('/') || name.ends_with(".toml") || name.ends_with(".json") {
        Cow::Owned(folder.join(name).to_string_lossy().into_owned())
    } else {
        Cow::Borrowed(name)
    }
}

/// An experiment as it was written: every workload on every machine and kernel, on the base and on each variant. One
/// machine, one kernel and one variant are two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// The machines, one or more: names, or the paths of files.
    pub machines: Vec<Given<String>>,
    /// The kernels, one or more: of the sides that name none themselves.
    pub kernels: Vec<Given<String>>,
    /// The workloads, one or more.
    pub workloads: Vec<WorkloadSpec>,
    /// The base.
    pub base: NamedSide,
    /// The variants that are compared with the base; if there is none, only the base is run.
    pub variants: Vec<NamedSide>,
    /// The number of runs of each case on each side; with `until`, the fewest.
    pub repeats: Given<u32>,
    /// How exact the intervals are to be; `None` for a fixed number of repeats.
    pub until: Option<Given<Until>>,
    /// The seed from which the seeds of the runs are derived.
    pub seed: u64,
    /// The measured time, ns.
    pub time_ns: Given<u64>,
    /// The simulated time before measuring begins, ns.
    pub settle_ns: Given<u64>,
    /// The cost of a tracer at each call of `select_idle_cpu()`, ns.
    pub observer_cost_ns: u64,
    /// Whether each search is compared with perfect knowledge.
    pub regret: bool,
    /// Whether parts of rt-app files that the model has no meaning for are accepted, with a warning.
    pub lenient: bool,
    /// The CPUs that the workloads are restricted to: `0-31`, or `node 0`; `None` for all.
    pub pinned: Option<Given<String>>,
    /// A CSV file of published results.
    pub results: Option<Given<PathBuf>>,
    /// A CSV file of published search statistics.
    pub search: Option<Given<PathBuf>>,
    /// The start of relative paths: the folder of the file, or the current one.
    pub folder: PathBuf,
    /// A folder that results leave out of the names of published tables: where a program unpacked files of its own, so
    /// that the same experiment gives the same bytes wherever that is.
    pub unpacked_to: Option<PathBuf>,
    /// Where the schedulers of sides come from; by default they are compiled objects.
    pub schedulers: Schedulers,
}

impl Spec {
    /// The files that the experiment names, as far as they exist, each once.
    pub fn files(&self) -> Vec<PathBuf> {
        let workloads = self.workloads.iter().map(|workload| &workload.name.value);
        let names = workloads.chain(self.machines.iter().map(|machine| &machine.value)).map(PathBuf::from);
        let published = [&self.results, &self.search].into_iter().flatten().map(|path| path.value.clone());
        let all: BTreeSet<PathBuf> = names.chain(published).map(|path| self.folder.join(path)).collect();
        all.into_iter().filter(|path| path.is_file()).collect()
    }

    /// Whether there are no more than two sides: one machine, one kernel for each side, and one variant beside the base
    /// at most.
    pub fn has_two_sides(&self) -> bool {
        self.machines.len() == 1 && self.kernels.len() == 1 && self.variants.len() <= 1
    }

    /// Checks that there are no more than two sides.
    ///
    /// # Errors
    /// Fails if there are more, at the first of them.
    pub fn only_two_sides(&self) -> Result<(), SpecError> {
        let (more, what) = match (&self.machines[..], &self.kernels[..], &self.variants[..]) {
            ([_, second, ..], ..) => (second, "machines"),
            (_, [_, second, ..], _) => (second, "kernels"),
            (.., [_, second, ..]) => (second.given(), "variants beside the base"),
            _ => return Ok(()),
        };
        Err(more.error(format!("expected one machine, one kernel and two variants, found several {what}")))
    }

    /// Sets the times to those of the benchmark that takes the longest, if they are longer than the usual ones.
    pub(super) fn take_long_enough(&mut self) {
        for workload in &self.workloads {
            let shortest = wakelab_workload::shortest_run(&workload.name.value);
            if shortest.time_ns > self.time_ns.value {
                self.time_ns = Given::by_default("time", shortest.time_ns);
                self.settle_ns = Given::by_default("settle", shortest.settle_ns);
            }
        }
    }

    pub(super) fn with_defaults(
        name: String,
        (machines, kernels): (Vec<Given<String>>, Vec<Given<String>>),
        workloads: Vec<WorkloadSpec>,
        (base, variants): (NamedSide, Vec<NamedSide>),
    ) -> Self {
        Spec {
            name,
            machines,
            kernels,
            workloads,
            base,
            variants,
            repeats: Given::by_default("repeats", REPEATS),
            until: None,
            seed: 1,
            time_ns: Given::by_default("time", 1_000_000_000),
            settle_ns: Given::by_default("settle", 600_000_000),
            observer_cost_ns: 0,
            regret: false,
            lenient: false,
            pinned: None,
            results: None,
            search: None,
            folder: PathBuf::new(),
            unpacked_to: None,
            schedulers: Schedulers::default(),
        }
    }
}

/// The place where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1; `None` for the file as a whole.
        line: Option<usize>,
        /// The key, such as `variants.base`.
        key: Option<String>,
    },
    /// A flag of the command line.
    Flag(&'static str),
    /// The default of this flag or key.
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

/// A value with the place where it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub place: Place,
}

impl<T> Given<T> {
    /// Creates a value that was given by a flag.
    pub fn by_flag(flag: &'static str, value: T) -> Self {
        Given { value, place: Place::Flag(flag) }
    }

    /// Creates a value that is the default of a flag or key.
    pub fn by_default(name: &'static str, value: T) -> Self {
        Given { value, place: Place::Default(name) }
    }

    /// Returns an error about the value.
    pub fn error(&self, what: impl Into<String>) -> SpecError {
        SpecError { place: self.place.clone(), what: what.into(), hint: None }
    }
}

/// Why an experiment cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The place.
    pub place: Place,
    /// The problem, and what was expected.
    pub what: String,
    /// The next step.
    pub hint: Option<String>,
}

impl SpecError {
    /// Returns this error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, shortened_message(&self.what))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {}", shortened_message(hint)))
    }
}

impl std::error::Error for SpecError {}
