//! Runs that are written to files.

use super::run_listener::RunListener;
use super::simulator::run_with;
use crate::recordings::trace::TraceFolder;
use crate::runs::{RunId, Runner, Why, measured};
use std::sync::atomic::AtomicBool;
use wakelab_events::simulated::{EventFolder, RunInfo};
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};

/// A runner that writes every event of each run to one folder, and the first repeat of each case and side as a trace to
/// another. A run that fails or is stopped leaves no file.
#[derive(Clone, Copy)]
pub struct EventWriter<'a> {
    /// The folder of events, if they are wanted.
    pub events: Option<&'a EventFolder>,
    /// The folder of traces, if they are wanted.
    pub traces: Option<&'a TraceFolder>,
    /// The runner of runs of which nothing is written.
    pub others: &'a dyn Runner,
}

impl EventWriter<'_> {
    fn traces(&self, id: &RunId) -> Option<&TraceFolder> {
        self.traces.filter(|_| id.repeat == 0)
    }

    /// Makes a run and writes it, and passes its events to `live` if there is one.
    pub(crate) fn record(
        &self,
        id: &RunId,
        setup: &Setup<'_>,
        measure: &mut Measure,
        live: Option<&mut RunListener>,
        stop: &AtomicBool,
    ) -> Result<Outcome, Why> {
        let run = run_info(id, setup, measure.settle_ns());
        let mut recorder = self.events.map(|folder| folder.record(&run)).transpose()?;
        let cpus = setup.machine.topology.nr_cpus();
        let begin = |folder: &TraceFolder| folder.begin(&id.workload, &id.load, run.side, cpus);
        let failed = |e: std::io::Error| {
            let path = self.traces.map(|folder| folder.path().display().to_string()).unwrap_or_default();
            Why::Trace(format!("{path}: {e}"))
        };
        let mut tracing = self.traces(id).map(begin).transpose().map_err(failed)?;
        let writers = (recorder.as_mut(), tracing.as_mut().map(|tracing| tracing.tracer()));
        let outcome = run_with(setup, measure, writers, live, stop)?;
        let error = recorder.as_ref().and_then(|recorder| recorder.error().cloned());
        if let Some(error) = error {
            return Err(error.into());
        }
        // A tracer that failed stopped the run, so report its error and no interruption.
        let broken = tracing.as_mut().and_then(|tracing| tracing.tracer().error());
        if let Some(error) = broken {
            return Err(failed(error));
        }
        if outcome.stopped {
            return Ok(outcome);
        }
        if let Some(recorder) = recorder {
            recorder.finish()?;
        }
        if let (Some(folder), Some(tracing)) = (self.traces, tracing) {
            folder.keep(tracing).map_err(failed)?;
        }
        Ok(outcome)
    }
}

impl Runner for EventWriter<'_> {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        self.record(id, setup, measure, None, stop)
    }

    fn stats(&self, id: &RunId, setup: &Setup<'_>, settle_ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
        match self.events.is_some() || self.traces(id).is_some() {
            true => {
                let done = measured(id, setup, settle_ns, |measure| self.run(id, setup, measure, stop))?;
                Ok(done.map(|(stats, _)| stats))
            }
            false => self.others.stats(id, setup, settle_ns, stop),
        }
    }
}

/// Returns the description of a run for its files.
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
