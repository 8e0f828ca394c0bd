//! Models of benchmarks.
//!
//! **A new benchmark is one file and one line.** The file in this folder has a type that implements [`Benchmark`]; the
//! line is in the `benchmarks!` call below. docs/extending.md shows both. Everything else that names a
//! benchmark asks it: the command line for its cases and parameters, an experiment for its load and its shortest run, a
//! scoreboard for the number that it prints. What several models have in common is in `model/`.

use crate::error::{About, WorkloadError};
use crate::{Channel, Param, Program, Task};
use std::collections::BTreeMap;
use std::fmt::Debug;
use wakelab_input::did_you_mean;

/// Declares the module of each benchmark and lists the benchmarks in this order, which is that of `wakelab workload
/// list`.
macro_rules! benchmarks {
    ($($module:ident: $benchmark:ident,)*) => {
        $(mod $module;)*

        /// Returns all benchmarks.
        pub fn benchmarks() -> &'static [&'static dyn Benchmark] {
            &[$(&$module::$benchmark),*]
        }
    };
}

benchmarks! {
    netperf: Netperf,
    hackbench: Hackbench,
    will_it_scale: WillItScale,
    perf_bench: PerfBench,
    tbench: Tbench,
    schbench: Schbench,
    uperf: Uperf,
    sysbench: Sysbench,
    oracle: Oracle,
    dbench: Dbench,
    ycsb: Ycsb,
    stress_ng: StressNg,
    stream: Stream,
    sequential_tasks: SequentialTasks,
    gitsource: Gitsource,
    kernbench: Kernbench,
    jankbench: Jankbench,
}

/// The model of a benchmark.
pub trait Benchmark: Debug + Sync {
    /// Returns the benchmark's name as its authors spell it. A workload is named `NAME:CASE`.
    fn name(&self) -> &'static str;
    /// Returns the cases, one or more.
    fn cases(&self) -> &'static [Case];
    /// Returns a description of the benchmark and of what the model leaves out: a sentence and, after an empty line,
    /// the rest.
    fn doc(&self) -> &'static str;
    /// Returns the parameters of a case, each with its range and origin.
    fn params(&self, case: &Case) -> Vec<ParamDef>;
    /// Returns the label of a load of a case, as the benchmark's published tables print it.
    fn load_label(&self, case: &Case, instances: u32) -> String;
    /// Returns the number of tasks of `instances` instances of a case.
    fn nr_tasks(&self, case: &Case, instances: u32, values: &Values) -> u64;
    /// Returns what a case measures with these parameters. By default, the parameters do not matter.
    fn measures(&self, case: &Case, _values: &Values) -> Measures {
        Measures::of(case)
    }
    /// Returns the shortest run of a case whose result means anything. By default, any run does.
    fn shortest_run(&self, _case: &Case) -> ShortestRun {
        ShortestRun::default()
    }
    /// Returns the shortest run of a case that is compared with results of the real benchmark, which runs for a minute
    /// or so. By default, any run whose result means anything is.
    fn published_run(&self, case: &Case) -> ShortestRun {
        self.shortest_run(case)
    }
    /// Returns whether the name alone, without a case, means the first case.
    fn has_default_case(&self) -> bool {
        false
    }
    /// Returns the load if none is given. Returns `None` if one must be given.
    fn default_load(&self) -> Option<u32> {
        None
    }
    /// Returns whether the load is a rate ([`Load::PerSecond`](crate::Load::PerSecond)). `instances` is then the rate a
    /// second.
    fn load_is_rate(&self) -> bool {
        false
    }
    /// Returns the number that the benchmark itself prints if the model measures `metric`, up to a constant factor: a
    /// published table has that number. By default, it prints what the model measures.
    fn printed(&self, _instances: u64, metric: f64) -> f64 {
        metric
    }
    /// Builds `instances` instances of a case, 1 or more.
    fn build(&self, case: &Case, instances: u32, values: &Values) -> TaskSet;
}

/// A case of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name of the case: what comes after the colon.
    pub name: &'static str,
    /// A description of the case.
    pub doc: &'static str,
    /// The metric, one of [`METRICS`](crate::METRICS).
    pub metric: &'static str,
    /// The metric's unit.
    pub unit: &'static str,
    /// Whether more of the metric is better.
    pub higher_is_better: bool,
}

/// The metric of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// The metric, one of [`METRICS`](crate::METRICS).
    pub metric: &'static str,
    /// The metric's unit.
    pub unit: &'static str,
    /// Whether more of the metric is better.
    pub higher_is_better: bool,
}

impl Measures {
    /// The time from the start of the first transaction until all tasks have exited, s.
    pub const TIME: Self = Measures { metric: crate::TIME, unit: "s", higher_is_better: false };

    /// Returns the metric of a case.
    pub fn of(case: &Case) -> Self {
        Measures { metric: case.metric, unit: case.unit, higher_is_better: case.higher_is_better }
    }

    /// Returns the time if the model is given a number of loops, else what the case measures.
    pub(crate) fn of_loops(case: &Case, values: &Values) -> Self {
        if values.get("loops") == 0 { Self::of(case) } else { Self::TIME }
    }
}

/// The shortest run whose result means anything: 0 if any time will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShortestRun {
    /// The simulated time before measuring begins, ns.
    pub settle_ns: u64,
    /// The measured time, ns.
    pub time_ns: u64,
}

/// A parameter of a model, with its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamDef {
    /// The name.
    pub name: &'static str,
    /// The unit, such as `ns` or `%`.
    pub unit: &'static str,
    /// The default value.
    pub value: u64,
    /// The lowest plausible value.
    pub low: u64,
    /// The highest plausible value.
    pub high: u64,
    /// The highest value that can be given. A study may leave the plausible range, as one without a ramp does.
    pub max: u64,
    /// Where the value and the range were taken from.
    pub origin: &'static str,
}

impl ParamDef {
    /// The highest time that can be given, ns: ten seconds.
    pub const MAX_NS: u64 = 10_000_000_000;
}

/// The programs, channels and tasks that make up the instances of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSet {
    /// All programs.
    pub programs: Vec<Program>,
    /// All channels.
    pub channels: Vec<Channel>,
    /// All tasks, in the order in which they are forked.
    pub tasks: Vec<Task>,
}

/// The parameters that a model is built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(Vec<Param>);

impl Values {
    /// Returns the parameters of a model, some of them set to other values by `options`. Errors call the workload
    /// `name`.
    ///
    /// # Errors
    /// An option is not a parameter of the model, or its value is too high.
    pub fn new(name: &str, defs: &[ParamDef], options: &BTreeMap<String, u64>) -> Result<Self, WorkloadError> {
        let names = || defs.iter().map(|def| def.name);
        if let Some(unknown) = options.keys().find(|option| !names().any(|name| name == option.as_str())) {
            let what =
                format!("{name} has no parameter {unknown}; expected {}", names().collect::<Vec<_>>().join(", "));
            let hint = did_you_mean(unknown, names());
            return Err(WorkloadError::new(About::Param(unknown.clone()), what).with_hint(hint));
        }
        let value = |def: &ParamDef| match options.get(def.name) {
            Some(&given) if given > def.max => {
                let what = format!("{} = {given} {} is out of range; expected 0 to {}", def.name, def.unit, def.max);
                Err(WorkloadError::new(About::Param(def.name.to_owned()), what))
            }
            Some(&given) if given != def.value => {
                Ok((given, format!("given instead of {} ({})", def.value, def.origin)))
            }
            _ => Ok((def.value, def.origin.to_owned())),
        };
        let param = |def: &ParamDef| {
            let (value, origin) = value(def)?;
            let (name, unit) = (def.name.to_owned(), def.unit.to_owned());
            Ok(Param { name, unit, value, low: def.low, high: def.high, origin })
        };
        defs.iter().map(param).collect::<Result<_, _>>().map(Values)
    }

    /// Returns the value of the parameter of that name.
    ///
    /// # Panics
    /// If the model has no such parameter.
    pub fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|param| param.name == name).expect("a model reads its own parameters").value
    }

    /// Returns all parameters with their units, ranges and origins.
    pub fn into_params(self) -> Vec<Param> {
        self.0
    }
}
