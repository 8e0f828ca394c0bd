//! What a page shows of one run apart from its statistics: what each CPU did, caches, frequencies and idle states over
//! time, where wakees went, and the explanation of some wake-ups. [`Pictured`] listens to simulated runs, and
//! [`crate::stats::stats_and_pictures`] reads recordings. Both use a bounded amount of memory.

mod explained_wakeups;
mod over_time;
mod run_listener;
mod time_bins;

pub use explained_wakeups::{ExplainedWakeup, WhyExplained, explained_wakeups};
pub(crate) use over_time::OverTimeBuilder;
pub(crate) use run_listener::RunListener;

use crate::compare::{CompareRow, Recording, RunId, Runner, Why, measured, run_info, run_with};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use wakelab_measure::{Latency, Measure, RunStats, StateChange};
use wakelab_page::Heat;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::Reason;
use wakelab_sim::{Outcome, Setup};
use wakelab_workload::Workload;

/// The picture of a simulated run.
#[derive(Clone, Debug)]
pub struct Picture {
    /// How long wakees waited until they ran, in the measured time.
    pub waits: Latency,
    /// The wake-ups of the measured time by the reason of their choice.
    pub reasons: BTreeMap<Reason, u64>,
    /// The whole run over time.
    pub over_time: OverTime,
    /// The start of measuring, ns.
    pub settle_ns: u64,
    /// Every change of state.
    pub changes: Vec<StateChange>,
    /// The names of idle states, by number.
    pub idle_states: Vec<String>,
    /// The wake-up of the measured time after which the wakee waited longest, and one for each reason; or why they
    /// cannot be explained.
    pub explained: Result<Vec<ExplainedWakeup>, String>,
}

/// A run over time. Times are those of the source, ns.
#[derive(Clone, Debug)]
pub struct OverTime {
    /// The start.
    pub start_ns: u64,
    /// The end.
    pub end_ns: u64,
    /// The activity of each CPU, without the name of a side; `None` if the source has no switches.
    pub heat: Option<Heat>,
    /// By the lowest CPU of an LLC: the lowest and the highest utilisation in each bin of time.
    pub caches: BTreeMap<Cpu, Vec<CacheAt>>,
    /// By package: the mean frequency of busy CPUs, MHz.
    pub frequency: BTreeMap<u32, Vec<(u64, f64)>>,
    /// By package: its mean power with its cores and clusters, mW; empty if that is not known.
    pub power: BTreeMap<u32, Vec<(u64, f64)>>,
    /// The shares of the time of all CPUs in which they ran tasks or were in an idle state, %; empty if idle states are
    /// not known.
    pub states: Vec<StateOverTime>,
    /// The wake-ups by the LLC on which the wakee ran last and the LLC to which it went; for a simulation, only those
    /// of the measured time.
    pub moved: BTreeMap<(u32, u32), u64>,
    /// All LLCs.
    pub llcs: Vec<u32>,
}

impl OverTime {
    /// Whether there is anything for a chart over time.
    pub fn shows(&self) -> bool {
        let governed = !self.frequency.is_empty() || !self.states.is_empty() || !self.power.is_empty();
        self.heat.is_some() || !self.caches.is_empty() || governed
    }
}

/// An LLC at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheAt {
    /// The time, ns.
    pub t_ns: u64,
    /// The sum of the utilisation of its CPUs, % of their capacity.
    pub util_pct: f64,
    /// The `nr_idle_scan` that SIS_UTIL computed from it; `None` if SIS_UTIL is off.
    pub nr_idle_scan: Option<u32>,
}

/// The states of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// They run tasks.
    Running,
    /// They are idle, in the state of this number if the governor chose one.
    Idle(Option<u32>),
}

/// A state with its share of the time, by time.
pub type StateOverTime = (CpuState, Vec<(u64, f64)>);

/// The side of a row that a picture belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Case {
    benchmark: String,
    case: String,
    load: String,
    with: bool,
}

impl Case {
    fn of(workload: &Workload, with: bool) -> Self {
        let Workload { benchmark, case, load, .. } = workload;
        Case { benchmark: benchmark.clone(), case: case.clone(), load: load.clone(), with }
    }
}

/// Pictures of the first repeat of each side of rows.
#[derive(Debug, Default)]
pub struct Pictures(HashMap<Case, Picture>);

impl Pictures {
    /// Returns the picture of a side of a row: of `with`, or of base.
    pub fn of(&self, row: &CompareRow, with: bool) -> Option<&Picture> {
        let CompareRow { benchmark, case, load, .. } = row;
        self.0.get(&Case { benchmark: benchmark.clone(), case: case.clone(), load: load.clone(), with })
    }

    /// Returns why wake-ups of some runs could not be explained, each reason once.
    pub fn unexplained(&self) -> BTreeSet<&str> {
        self.0.values().filter_map(|picture| picture.explained.as_ref().err()).map(String::as_str).collect()
    }
}

/// A runner that makes the first repeat of each side itself, with a picture, and passes on other runs.
pub struct Pictured<'a> {
    runner: &'a dyn Runner,
    recording: Option<Recording<'a>>,
    found: Mutex<HashMap<Case, Picture>>,
}

impl<'a> Pictured<'a> {
    /// Creates a runner that passes other runs on to `runner`. `recording` writes the first repeats to files, if that
    /// is wanted.
    pub fn new(runner: &'a dyn Runner, recording: Option<Recording<'a>>) -> Self {
        Pictured { runner, recording, found: Mutex::default() }
    }

    /// Returns the pictures.
    pub fn found(self) -> Pictures {
        Pictures(self.found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Runner for Pictured<'_> {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        self.runner.run(id, setup, measure, stop)
    }

    fn stats(&self, id: &RunId, setup: &Setup<'_>, settle_ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
        if id.repeat > 0 {
            return self.runner.stats(id, setup, settle_ns, stop);
        }
        let mut live = RunListener::new(setup.machine, settle_ns..setup.until);
        let done = measured(id, setup, settle_ns, |measure| match &self.recording {
            Some(recording) => recording.record(id, setup, measure, Some(&mut live), stop),
            None => Ok(run_with(setup, measure, (None, None), Some(&mut live), stop)?),
        })?;
        Ok(done.map(|(stats, ended)| {
            let picture = live.finish(&run_info(id, setup, settle_ns), ended, &stats);
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.insert(Case::of(setup.workload, id.with), picture);
            stats
        }))
    }
}
