//! A scoreboard goes on where a run fails.

use crate::compare::{RunFailed, RunId, Runner, Why};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};

/// Keeps what failed and gives no numbers of it, so that the other runs are made.
pub(super) struct GoOn<'a> {
    runner: &'a dyn Runner,
    failed: Mutex<Vec<RunFailed>>,
}

impl<'a> GoOn<'a> {
    pub(super) fn new(runner: &'a dyn Runner) -> Self {
        GoOn { runner, failed: Mutex::default() }
    }

    /// The first run at this load that failed, whatever the order in which they were made.
    pub(super) fn failure(&self, load: &str) -> Option<RunFailed> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.iter().filter(|one| one.run.load == load).min_by_key(|one| (one.run.repeat, one.run.with)).cloned()
    }
}

impl Runner for GoOn<'_> {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        self.runner.run(id, setup, measure, stop)
    }

    fn stats(&self, id: &RunId, setup: &Setup<'_>, settle_ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
        self.runner.stats(id, setup, settle_ns, stop).or_else(|why| {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.push(RunFailed { run: Box::new(id.clone()), why });
            Ok(None)
        })
    }
}
