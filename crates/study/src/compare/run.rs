//! One run of a case.

use super::{Block, Case, Variant, run_seed};
use crate::runs::fence::caught;
use crate::runs::{RunFailed, RunId, Runner, Why};
use std::sync::atomic::AtomicBool;
use wakelab_input::DURATION_MAX_NS;
use wakelab_measure::RunStats;
use wakelab_sim::{PmSide, Setup};
use wakelab_workload::{METRICS, TIME};

/// Runs a case on a side; `None` if it was stopped.
pub(super) fn run_case(
    runner: &dyn Runner,
    block: &Block,
    case: &Case,
    (side, repeat): (usize, u32),
    stop: &AtomicBool,
) -> Result<Option<(RunId, RunStats)>, RunFailed> {
    run_named(runner, block, case, side, id_of(block, case, side, repeat), stop)
}

/// The identity of a run of a case on a side.
fn id_of(block: &Block, case: &Case, side: usize, repeat: u32) -> RunId {
    let variant = block.side(side);
    RunId {
        machine: variant.machine.as_deref().unwrap_or(&block.machine).name.clone(),
        kernel: variant.kernel.name,
        // The switches as they are read do not have the scheduler.
        variant: if variant.scheduler.is_some() { variant.label.clone() } else { variant.switches.to_string() },
        workload: case.name.clone(),
        load: case.workload.load.clone(),
        with: side > 0,
        repeat,
        seed: run_seed(block.seed, &case.workload.load, repeat),
        regret: block.regret,
        number: None,
    }
}

/// Makes a run. One of a foreign scheduler that panics has failed.
fn run_named(
    runner: &dyn Runner,
    block: &Block,
    case: &Case,
    side: usize,
    id: RunId,
    stop: &AtomicBool,
) -> Result<Option<(RunId, RunStats)>, RunFailed> {
    let variant = block.side(side);
    let make = || stats(runner, block, case, variant, &id, stop);
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
    block: &Block,
    case: &Case,
    (repeat, number): (u32, u64),
    stop: &AtomicBool,
) -> Result<Option<(RunId, RunStats)>, RunFailed> {
    let id = RunId { number: Some(number), ..id_of(block, case, 0, repeat) };
    run_named(runner, block, case, 0, id, stop)
}

/// One repeat of each case of a block on its base, or on each variant, which is the run of this number of a sweep if
/// there is one: each with its setup and when measuring begins, ns.
pub(crate) fn runs_of_repeat(
    block: &Block,
    with: bool,
    repeat: u32,
    number: Option<u64>,
) -> impl Iterator<Item = (RunId, Setup<'_>, u64)> {
    let sides = if with { 1..block.sides() } else { 0..1 };
    sides.flat_map(move |side| {
        block.cases.iter().map(move |case| {
            let (setup, settle_ns) = setup_of(block, case, side, repeat);
            (RunId { number, ..id_of(block, case, side, repeat) }, setup, settle_ns)
        })
    })
}

fn stats(
    runner: &dyn Runner,
    block: &Block,
    case: &Case,
    variant: &Variant,
    id: &RunId,
    stop: &AtomicBool,
) -> Result<Option<RunStats>, Why> {
    let metric = case.workload.metric.as_str();
    if !METRICS.contains(&metric) {
        return Err(Why::Metric(metric.to_owned()));
    }
    let (setup, settle) = setup(block, case, variant, id.seed);
    runner.stats(id, &setup, settle, stop)
}

/// The setup of a run, and when measuring begins, ns.
fn setup<'a>(block: &'a Block, case: &'a Case, variant: &'a Variant, seed: u64) -> (Setup<'a>, u64) {
    // A time is that of the whole run, however long it takes.
    let (settle, until) = match case.workload.metric.as_str() {
        TIME => (0, DURATION_MAX_NS),
        _ => (block.settle_ns, block.end_ns()),
    };
    let setup = Setup {
        machine: variant.machine.as_deref().unwrap_or(&block.machine),
        kernel: &variant.kernel,
        features: variant.features,
        workload: &case.workload,
        seed,
        until,
        mechanisms: block.mechanisms,
        observer_cost: block.observer_cost_ns,
        pm: variant.pm.map(|side| PmSide { measured_from: settle, ..side }),
        scheduler: variant.scheduler.as_deref(),
    };
    (setup, settle)
}

/// The setup of a run of a case on a side, and when measuring begins, ns.
pub(super) fn setup_of<'a>(block: &'a Block, case: &'a Case, side: usize, repeat: u32) -> (Setup<'a>, u64) {
    setup(block, case, block.side(side), run_seed(block.seed, &case.workload.load, repeat))
}

/// The setups of all runs of a block, each with when measuring begins, ns.
pub(crate) fn setups(block: &Block) -> impl Iterator<Item = (Setup<'_>, u64)> {
    (0..block.sides()).flat_map(move |side| {
        let repeats = move |case| (0..block.repeats).map(move |repeat| setup_of(block, case, side, repeat));
        block.cases.iter().flat_map(repeats)
    })
}
