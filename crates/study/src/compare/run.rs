//! One run of a case.

use super::{Case, Experiment, Variant, run_seed};
use crate::runs::fence::caught;
use crate::runs::{RunFailed, RunId, Runner, Why};
use std::sync::atomic::AtomicBool;
use wakelab_input::DURATION_MAX_NS;
use wakelab_measure::RunStats;
use wakelab_sim::{PmSide, Setup};
use wakelab_workload::{METRICS, TIME};

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

/// One repeat of each case of an experiment on one side, which is the run of this number of a sweep if there is one:
/// each with its setup and when measuring begins, ns.
pub(crate) fn runs_of_repeat(
    experiment: &Experiment,
    with: bool,
    repeat: u32,
    number: Option<u64>,
) -> impl Iterator<Item = (RunId, Setup<'_>, u64)> {
    experiment.cases.iter().map(move |case| {
        let (setup, settle_ns) = setup_of(experiment, case, with, repeat);
        (RunId { number, ..id_of(experiment, case, with, repeat) }, setup, settle_ns)
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
