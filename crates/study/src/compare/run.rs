//! One run of a case.

use super::{Case, Experiment, Variant, run_seed};
use crate::estimate::RunCost;
use crate::fence::{Question, caught};
use crate::picture::RunListener;
use crate::trace::Tracer;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::AtomicBool;
use wakelab_events::WriteError;
use wakelab_events::simulated::Recorder;
use wakelab_input::{DURATION_MAX_NS, duration_text};
use wakelab_measure::{Measure, NeverRan, OpTime, RunStats};
use wakelab_sim::{Outcome, PmSide, Setup, SimError};
use wakelab_workload::{METRICS, TIME};

/// Makes runs: the simulator, or a stand-in in tests.
pub trait Runner: Sync {
    /// Makes run `id` and passes what happens to `measure`, until the end or until `stop` is set.
    ///
    /// # Errors
    /// Fails as [`wakelab_sim::run`] does, or if a file of the run cannot be written.
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why>;

    /// Returns the numbers of run `id`, measured from `settle_ns` on; `None` if it was stopped.
    ///
    /// # Errors
    /// Fails as [`Runner::run`] does, or if nothing was measured that gives the workload's metric.
    fn stats(&self, id: &RunId, setup: &Setup<'_>, settle_ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
        let done = measured(id, setup, settle_ns, |measure| self.run(id, setup, measure, stop))?;
        Ok(done.map(|(stats, _)| stats))
    }

    /// The same with the CPU time that the run took, s, wherever it was made: for estimates, and for no result.
    ///
    /// # Errors
    /// As [`Runner::stats`].
    fn timed_stats(
        &self,
        id: &RunId,
        setup: &Setup<'_>,
        settle_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<(RunStats, f64)>, Why> {
        timed(|| self.stats(id, setup, settle_ns, stop))
    }

    /// What runs took that were made before, as far as that was noted.
    fn costs(&self) -> Vec<RunCost> {
        Vec::new()
    }

    /// Whether the numbers of this run are kept, so that it would not be made again.
    fn keeps(&self, _setup: &Setup<'_>, _settle_ns: u64, _regret: bool) -> bool {
        false
    }
}

/// Makes a run with `run`, and returns its numbers and its end, ns; `None` if it was stopped.
pub(crate) fn measured(
    id: &RunId,
    setup: &Setup<'_>,
    settle_ns: u64,
    run: impl FnOnce(&mut Measure) -> Result<Outcome, Why>,
) -> Result<Option<(RunStats, u64)>, Why> {
    let mut measure = Measure::new(id.seed, settle_ns, setup.until, setup.machine.topology.nr_cpus());
    if id.regret {
        measure = measure.with_regret();
    }
    let outcome = run(&mut measure)?;
    if outcome.stopped {
        return Ok(None);
    }
    if setup.workload.metric == TIME && !outcome.exited {
        return Err(Why::Unfinished(outcome.ended));
    }
    let never_ran = never_ran(&measure, &outcome);
    let mut stats = RunStats { never_ran, ..measure.finish(outcome.ended) };
    (stats.power, stats.scheduler) = (outcome.power, outcome.scheduler);
    let ops = outcome.scheduler_ops.into_iter();
    stats.scheduler_ops = ops.map(|(op, time)| OpTime { op: op.to_owned(), calls: time.calls, ns: time.ns }).collect();
    if stats.measured_ns == 0 {
        return Err(Why::Over { ended: outcome.ended, settle: settle_ns });
    }
    if stats.done == 0 {
        return Err(Why::Nothing(stats.measured_ns));
    }
    Ok(Some((stats, outcome.ended)))
}

/// Who never ran in the measured time.
fn never_ran(measure: &Measure, outcome: &Outcome) -> NeverRan {
    let waiting = outcome.waiting.iter().map(|(task, name)| (*task, name.as_str()));
    measure.never_ran(outcome.ended, outcome.nr_tasks, waiting)
}

/// Makes a run on this thread, and adds the CPU time that it took, s.
pub(crate) fn timed(run: impl FnOnce() -> Result<Option<RunStats>, Why>) -> Result<Option<(RunStats, f64)>, Why> {
    let thread_cpu_s = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let began = thread_cpu_s();
    Ok(run()?.map(|stats| (stats, thread_cpu_s() - began)))
}

/// The simulator.
#[derive(Clone, Copy, Debug)]
pub struct Simulator;

impl Runner for Simulator {
    fn run(&self, _: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        if measure.regret().is_none() {
            return Ok(wakelab_sim::run(setup, measure, stop)?);
        }
        Ok(run_with(setup, measure, (None, None), None, stop)?)
    }
}

/// The writers of a run: of its events and of its trace.
pub(crate) type Writers<'a, 'f> = (Option<&'a mut Recorder<'f>>, Option<&'a mut Tracer<BufWriter<File>>>);

/// Simulates a run with further listeners: the regret counter, if the measure has one, the writers, and the listener
/// that makes a picture.
pub(crate) fn run_with(
    setup: &Setup<'_>,
    measure: &mut Measure,
    writers: Writers<'_, '_>,
    live: Option<&mut RunListener>,
    stop: &AtomicBool,
) -> Result<Outcome, SimError> {
    let mut regret = measure.regret().take();
    let outcome = wakelab_sim::run(setup, &mut (&mut *measure, (regret.as_deref_mut(), (writers, live))), stop);
    *measure.regret() = regret;
    outcome
}

/// The identity of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId {
    /// The machine.
    pub machine: String,
    /// The kernel.
    pub kernel: &'static str,
    /// The switches; may be empty.
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// The load.
    pub load: String,
    /// Whether it is a run of the side `with`; else of `base`.
    pub with: bool,
    /// The number of the repeat, from 0.
    pub repeat: u32,
    /// The seed.
    pub seed: u64,
    /// Whether each search is compared with perfect knowledge, which adds to the numbers of the run.
    pub regret: bool,
    /// Its number in a sweep; `None` if it is of no sweep.
    pub number: Option<u64>,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunId { machine, kernel, variant, workload, load, repeat, seed, .. } = self;
        let sep = if variant.is_empty() { "" } else { " " };
        write!(f, "{workload} {load} on {machine} {kernel}{sep}{variant}, repeat {}, seed {seed}", repeat + 1)
    }
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The simulator failed.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The events could not be written.
    #[error("--events: {0}\n  hint: name a folder with room for them, or simulate for less time")]
    Events(#[from] WriteError),
    /// The trace could not be written.
    #[error("--perfetto: {0}\n  hint: name a folder with room for it, or simulate for less time")]
    Trace(String),
    /// The run ended before measuring began.
    #[error(
        "all tasks had exited at {}, before measuring began at {}\n  hint: settle for less time; --settle 0s is \
        allowed",
        duration_text(*ended),
        duration_text(*settle)
    )]
    Over {
        /// The end of the run, ns.
        ended: u64,
        /// The start of measuring, ns.
        settle: u64,
    },
    /// No transaction was done.
    #[error(
        "no transaction was done in the {} that were measured\n  hint: measure for longer (--time), or settle for \
         longer (--settle)",
        duration_text(*.0)
    )]
    Nothing(u64),
    /// The metric of the workload is not one that a run gives.
    #[error("the workload's metric is {0}, and a run gives {list}", list = METRICS.join(" or "))]
    Metric(String),
    /// As another process has told it, that made the run.
    #[error("{0}")]
    Fenced(String),
    /// The process that made the run has died of it: how.
    #[error(
        "the process that made it has ended ({0})\n  hint: unless it ran out of memory, this is a bug in wakelab; \
         please report it with the scheduler"
    )]
    Died(String),
    /// The run panicked: the message.
    #[error("it panicked ({0})\n  hint: this is a bug in wakelab; please report it with the scheduler")]
    Panicked(String),
    /// Some task had not exited, and the metric is the time until all have.
    #[error("some task had not exited after {}\n  hint: repeat its loops less often", duration_text(*.0))]
    Unfinished(u64),
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{run}: {why}")]
pub struct RunFailed {
    /// The run.
    pub run: Box<RunId>,
    /// The cause.
    pub why: Why,
}

/// Runs a case on one side; `None` if it was stopped.
pub(super) fn run(
    runner: &dyn Runner,
    experiment: &Experiment,
    case: &Case,
    with: bool,
    repeat: u32,
    stop: &AtomicBool,
) -> Result<Option<(RunId, RunStats)>, RunFailed> {
    run_named(runner, experiment, case, id_of(experiment, case, with, repeat), stop)
}

/// The identity of a run of a case on one side.
fn id_of(experiment: &Experiment, case: &Case, with: bool, repeat: u32) -> RunId {
    let variant = if with { &experiment.with } else { &experiment.base };
    RunId {
        machine: variant.machine.as_deref().unwrap_or(&experiment.machine).name.clone(),
        kernel: variant.kernel.name,
        // The switches as they are read do not have the scheduler.
        variant: if variant.scheduler.is_some() { variant.label.clone() } else { variant.switches.to_string() },
        workload: case.name.clone(),
        load: case.workload.load.clone(),
        with,
        repeat,
        seed: run_seed(experiment.seed, &case.workload.load, repeat),
        regret: experiment.regret,
        number: None,
    }
}

/// Makes a run. One of a foreign scheduler that panics has failed.
fn run_named(
    runner: &dyn Runner,
    experiment: &Experiment,
    case: &Case,
    id: RunId,
    stop: &AtomicBool,
) -> Result<Option<(RunId, RunStats)>, RunFailed> {
    let variant = if id.with { &experiment.with } else { &experiment.base };
    let make = || stats(runner, experiment, case, variant, &id, stop);
    let made = match variant.scheduler {
        None => make(),
        Some(_) => caught(make).unwrap_or_else(|panic| Err(Why::Panicked(panic))),
    };
    match made {
        Ok(stats) => Ok(stats.map(|stats| (id, stats))),
        Err(why) => Err(RunFailed { run: Box::new(id), why }),
    }
}

/// Runs a case of a sweep, which is that run of its `number`, on the base side; `None` if it was stopped.
pub(crate) fn run_base(
    runner: &dyn Runner,
    experiment: &Experiment,
    case: &Case,
    (repeat, number): (u32, u64),
    stop: &AtomicBool,
) -> Result<Option<(RunId, RunStats)>, RunFailed> {
    let id = RunId { number: Some(number), ..id_of(experiment, case, false, repeat) };
    run_named(runner, experiment, case, id, stop)
}

/// The runs of an experiment that are called so, each with its setup and when measuring begins, ns: one for each case
/// of that name.
pub(crate) fn named_setup<'e>(
    experiment: &'e Experiment,
    question: &Question,
) -> impl Iterator<Item = (RunId, Setup<'e>, u64)> {
    let Question { machine, kernel, variant, workload, load, with, repeat, seed, regret, number, .. } = question;
    let (with, repeat, number) = (*with, *repeat, *number);
    let is_it = move |id: &RunId| {
        let names = (&id.machine, id.kernel, &id.variant, &id.workload, &id.load);
        let asked = (machine, kernel.as_str(), variant, workload, load);
        names == asked && (id.seed, id.regret) == (*seed, *regret)
    };
    experiment.cases.iter().filter_map(move |case| {
        let id = RunId { number, ..id_of(experiment, case, with, repeat) };
        is_it(&id).then(|| {
            let (setup, settle_ns) = setup_of(experiment, case, with, repeat);
            (id, setup, settle_ns)
        })
    })
}

fn stats(
    runner: &dyn Runner,
    experiment: &Experiment,
    case: &Case,
    variant: &Variant,
    id: &RunId,
    stop: &AtomicBool,
) -> Result<Option<RunStats>, Why> {
    let metric = case.workload.metric.as_str();
    if !METRICS.contains(&metric) {
        return Err(Why::Metric(metric.to_owned()));
    }
    let (setup, settle) = setup(experiment, case, variant, id.seed);
    runner.stats(id, &setup, settle, stop)
}

/// The setup of a run, and when measuring begins, ns.
fn setup<'a>(experiment: &'a Experiment, case: &'a Case, variant: &'a Variant, seed: u64) -> (Setup<'a>, u64) {
    // A time is that of the whole run, however long it takes.
    let (settle, until) = match case.workload.metric.as_str() {
        TIME => (0, DURATION_MAX_NS),
        _ => (experiment.settle_ns, experiment.end_ns()),
    };
    let setup = Setup {
        machine: variant.machine.as_deref().unwrap_or(&experiment.machine),
        kernel: &variant.kernel,
        features: variant.features,
        workload: &case.workload,
        seed,
        until,
        mechanisms: experiment.mechanisms,
        observer_cost: experiment.observer_cost_ns,
        pm: variant.pm.map(|side| PmSide { measured_from: settle, ..side }),
        scheduler: variant.scheduler.as_deref(),
    };
    (setup, settle)
}

/// The setup of a run of a case on one side, and when measuring begins, ns.
pub(super) fn setup_of<'a>(experiment: &'a Experiment, case: &'a Case, with: bool, repeat: u32) -> (Setup<'a>, u64) {
    let variant = if with { &experiment.with } else { &experiment.base };
    setup(experiment, case, variant, run_seed(experiment.seed, &case.workload.load, repeat))
}

/// The setups of all runs of an experiment, each with when measuring begins, ns.
pub(crate) fn setups(experiment: &Experiment) -> impl Iterator<Item = (Setup<'_>, u64)> {
    let sides = [&experiment.base, &experiment.with].into_iter().take(experiment.sides());
    sides.flat_map(move |side| {
        experiment.cases.iter().flat_map(move |case| {
            let seeds = (0..experiment.repeats).map(|repeat| run_seed(experiment.seed, &case.workload.load, repeat));
            seeds.map(move |seed| setup(experiment, case, side, seed))
        })
    })
}
