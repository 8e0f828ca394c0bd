//! The benchmarks that are known: one file each, and one line here.

use crate::dbench::Dbench;
use crate::error::{About, WorkloadError};
use crate::gitsource::Gitsource;
use crate::hackbench::Hackbench;
use crate::jankbench::Jankbench;
use crate::kernbench::Kernbench;
use crate::netperf::Netperf;
use crate::oracle::Oracle;
use crate::perf_bench::PerfBench;
use crate::schbench::Schbench;
use crate::sequential_tasks::SequentialTasks;
use crate::stream::Stream;
use crate::stress_ng::StressNg;
use crate::sysbench::Sysbench;
use crate::tbench::Tbench;
use crate::uperf::Uperf;
use crate::will_it_scale::WillItScale;
use crate::ycsb::Ycsb;
use crate::{Channel, Param, Program, Task};
use std::collections::BTreeMap;
use std::fmt::Debug;
use wakelab_input::did_you_mean;

/// All benchmarks.
const BENCHMARKS: &[&dyn Benchmark] = &[
    &Netperf,
    &Hackbench,
    &WillItScale,
    &PerfBench,
    &Tbench,
    &Schbench,
    &Uperf,
    &Sysbench,
    &Oracle,
    &Dbench,
    &Ycsb,
    &StressNg,
    &Stream,
    &SequentialTasks,
    &Gitsource,
    &Kernbench,
    &Jankbench,
];

/// All benchmarks.
pub fn benchmarks() -> &'static [&'static dyn Benchmark] {
    BENCHMARKS
}

/// The model of a benchmark.
pub trait Benchmark: Debug + Sync {
    /// Its name: what comes before the colon.
    fn name(&self) -> &'static str;
    /// Its cases, one or more.
    fn cases(&self) -> &'static [Case];
    /// What it is and what the model stands for: a sentence, then, after an empty line, what else is to be known.
    fn doc(&self) -> &'static str;
    /// The numbers that the model of a case is made of.
    fn params(&self, case: &Case) -> Vec<ParamDef>;
    /// A load of a case as the benchmark's tables print it.
    fn load_label(&self, case: &Case, instances: u32) -> String;
    /// How many tasks so many instances of a case are.
    fn nr_tasks(&self, case: &Case, instances: u32, values: &Values) -> u64;
    /// What a case measures with these numbers: for most, the same with all.
    fn measures(&self, case: &Case, _values: &Values) -> Measures {
        Measures::of(case)
    }
    /// How long a run of a case takes at least until it says something.
    fn takes(&self, _case: &Case) -> Takes {
        Takes::default()
    }
    /// Whether the name alone, without a colon, is that of the first case.
    fn is_its_first_case(&self) -> bool {
        false
    }
    /// The load where none is given; `None`: one has to be.
    fn usual_load(&self) -> Option<u32> {
        None
    }
    /// Whether the load is a rate ([`Load::PerSecond`](crate::Load::PerSecond)), and `instances` so many a second.
    fn by_rate(&self) -> bool {
        false
    }
    /// What so many instances of a case are made of; `instances` is 1 or more.
    fn build(&self, case: &Case, instances: u32, values: &Values) -> Parts;
}

/// A case of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name: what comes after the colon.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What it measures.
    pub metric: &'static str,
    /// The metric's unit.
    pub unit: &'static str,
    /// Whether more of the metric is better.
    pub higher_is_better: bool,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// The metric.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether more of it is better.
    pub higher_is_better: bool,
}

impl Measures {
    /// The time from the first begin of a transaction until all tasks have exited.
    pub const TIME: Self = Measures { metric: crate::TIME, unit: "s", higher_is_better: false };

    /// What a case measures.
    pub fn of(case: &Case) -> Self {
        Measures { metric: case.metric, unit: case.unit, higher_is_better: case.higher_is_better }
    }

    /// The time of a number of loops, if the model is given one.
    pub(crate) fn of_loops(case: &Case, values: &Values) -> Self {
        if values.get("loops") == 0 { Self::of(case) } else { Self::TIME }
    }
}

/// How long a run takes at least, beyond what anybody would give it: 0 where any time will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    /// What is to be simulated before measuring begins, ns.
    pub settle_ns: u64,
    /// What is to be measured, ns.
    pub time_ns: u64,
}

/// A number of a model, as the model has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamDef {
    /// Its name.
    pub name: &'static str,
    /// Its unit: ns, %.
    pub unit: &'static str,
    /// The value that is used unless another is given.
    pub value: u64,
    /// The lowest that is plausible.
    pub low: u64,
    /// The highest that is plausible.
    pub high: u64,
    /// The highest that can be given: a study may leave the plausible range, as one without a ramp does.
    pub max: u64,
    /// Where the value and the range were taken from.
    pub origin: &'static str,
}

impl ParamDef {
    /// The highest time that can be given: ten seconds.
    pub const MAX_NS: u64 = 10_000_000_000;
}

/// The programs, channels and tasks of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// All programs.
    pub programs: Vec<Program>,
    /// All channels.
    pub channels: Vec<Channel>,
    /// All tasks, in the order in which they are forked.
    pub tasks: Vec<Task>,
}

/// The numbers that a model is built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(Vec<Param>);

impl Values {
    /// Those of the model, with some set to others.
    ///
    /// # Errors
    /// Where an option is not a number of the model or is too high.
    pub fn new(name: &str, defs: &[ParamDef], options: &BTreeMap<String, u64>) -> Result<Self, WorkloadError> {
        let names = || defs.iter().map(|def| def.name);
        if let Some(unknown) = options.keys().find(|option| !names().any(|name| name == option.as_str())) {
            let what = format!("{name} has no number {unknown}; expected {}", names().collect::<Vec<_>>().join(", "));
            let hint = did_you_mean(unknown, names());
            return Err(WorkloadError::new(About::Param(unknown.clone()), what).with_hint(hint));
        }
        let value = |def: &ParamDef| match options.get(def.name) {
            Some(&given) if given > def.max => {
                let what = format!("{} is {given} {}; expected 0 to {}", def.name, def.unit, def.max);
                Err(WorkloadError::new(About::Param(def.name.to_owned()), what))
            }
            Some(&given) if given != def.value => {
                Ok((given, format!("given in place of {} ({})", def.value, def.origin)))
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

    /// The number of that name.
    ///
    /// # Panics
    /// If the model has no such number.
    pub fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|param| param.name == name).expect("a model asks for its own numbers").value
    }

    /// All of them, with what is said about them.
    pub fn into_params(self) -> Vec<Param> {
        self.0
    }
}
