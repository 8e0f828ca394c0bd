//! The simulator as a runner, and what else may listen to a run.

use super::run_listener::RunListener;
use crate::recordings::trace::Tracer;
use crate::runs::{RunId, Runner, Why};
use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::AtomicBool;
use wakelab_events::simulated::Recorder;
use wakelab_measure::Measure;
use wakelab_sim::{Outcome, Setup, SimError};

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
