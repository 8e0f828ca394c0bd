//! What a page shows of one run apart from its statistics: what each CPU did, caches, frequencies and idle states over
//! time, where wakees went, and the explanation of some wake-ups. [`Pictured`] listens to simulated runs, and
//! [`stats_and_pictures`](crate::recordings::stats::stats_and_pictures) reads recordings. Both use a bounded amount of
//! memory.

use super::event_writer::{EventWriter, run_info};
use super::run_listener::{Picture, RunListener};
use super::simulator::run_with;
use crate::compare::CompareRow;
use crate::runs::{RunId, Runner, Why, measured};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};
use wakelab_workload::Workload;

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
    recording: Option<EventWriter<'a>>,
    found: Mutex<HashMap<Case, Picture>>,
}

impl<'a> Pictured<'a> {
    /// Creates a runner that passes other runs on to `runner`. `recording` writes the first repeats to files, if that
    /// is wanted.
    pub fn new(runner: &'a dyn Runner, recording: Option<EventWriter<'a>>) -> Self {
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
