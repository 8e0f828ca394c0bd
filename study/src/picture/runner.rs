//! Runs of which a picture is made.

use super::Picture;
use super::live::Live;
use crate::compare::{CompareRow, Recording, RunId, Runner, Why, measured, run_info, run_with};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};
use wakelab_workload::Workload;

/// Which side of which row a picture is of.
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
    /// The picture of a side of a row, `with` or *base*.
    pub fn of(&self, row: &CompareRow, with: bool) -> Option<&Picture> {
        let CompareRow { benchmark, case, load, .. } = row;
        self.0.get(&Case { benchmark: benchmark.clone(), case: case.clone(), load: load.clone(), with })
    }
}

/// A runner that makes a picture of the first repeat of each side, which it always makes, and leaves other runs to another.
pub struct Pictured<'a> {
    runner: &'a dyn Runner,
    recording: Option<Recording<'a>>,
    found: Mutex<HashMap<Case, Picture>>,
}

impl<'a> Pictured<'a> {
    /// Other runs are left to `runner`; `recording` writes the first repeats down, if that is wanted.
    pub fn new(runner: &'a dyn Runner, recording: Option<Recording<'a>>) -> Self {
        Pictured { runner, recording, found: Mutex::default() }
    }

    /// The pictures.
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
        let mut live = Live::new(setup.machine, settle_ns..setup.until);
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
