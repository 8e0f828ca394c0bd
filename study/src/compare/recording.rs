//! Runs that are recorded.

use super::run::run_with;
use super::{RunId, Runner, Why};
use crate::picture::Live;
use std::sync::atomic::AtomicBool;
use wakelab_events::record::{EventFolder, RunInfo};
use wakelab_measure::Measure;
use wakelab_sim::{Outcome, Setup};

/// The simulator, with every event of each run written to a folder. A run that fails or is stopped leaves nothing there.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a>(pub &'a EventFolder);

impl Runner for Recording<'_> {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        record(self.0, id, setup, measure, None, stop)
    }
}

/// Makes a run with every event of it written to a folder, and listened to if somebody does.
pub(crate) fn record(
    folder: &EventFolder,
    id: &RunId,
    setup: &Setup<'_>,
    measure: &mut Measure,
    live: Option<&mut Live>,
    stop: &AtomicBool,
) -> Result<Outcome, Why> {
    let mut recorder = folder.record(&run_info(id, setup, measure.settle_ns()))?;
    let outcome = run_with(setup, measure, Some(&mut recorder), live, stop)?;
    match recorder.error() {
        Some(error) => return Err(error.clone().into()),
        None if outcome.stopped => {}
        None => recorder.finish()?,
    }
    Ok(outcome)
}

/// A run, as files of it describe it.
pub(crate) fn run_info<'a>(id: &'a RunId, setup: &Setup<'a>, settle_ns: u64) -> RunInfo<'a> {
    RunInfo {
        machine: &setup.machine.name,
        topology: &setup.machine.topology,
        arch: setup.machine.arch,
        reclaim_distance: setup.machine.reclaim_distance,
        kernel: setup.kernel,
        features: setup.features,
        variant: &id.variant,
        side: if id.with { "with" } else { "base" },
        workload: &id.workload,
        load: &id.load,
        repeat: id.repeat + 1,
        seed: id.seed,
        settle_ns,
        end_ns: setup.until,
    }
}
