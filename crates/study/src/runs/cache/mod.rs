//! The cache of finished runs: a run that was made once is not made again.
//!
//! Each finished run is stored at once under the hash of all its inputs ([`Key`]), including the program itself, in a
//! file that appears whole or not at all. An interrupted experiment therefore continues where it stopped, and a
//! repeated one only reads results. [`Cached`] is the only place that looks runs up: everything that makes runs takes a
//! [`Runner`].

mod store;

pub use store::{LIMIT_BYTES, SCHEDULERS, Store, StoreError};

use crate::runs::estimate::{RunCost, like};
use crate::runs::key::Key;
use crate::runs::run::{RunId, Why};
use crate::runs::runner::Runner;
use std::sync::atomic::AtomicBool;
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};

/// A runner that takes runs from a store. It makes those that are not there with another runner, and stores them as
/// soon as they are done. A run that fails or is stopped is not stored.
#[derive(Clone, Copy)]
pub struct Cached<'a> {
    /// The store.
    pub store: &'a Store,
    /// The runner of runs that are not in the store; the same for all runs of a store.
    pub runner: &'a dyn Runner,
}

impl Runner for Cached<'_> {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        self.runner.run(id, setup, measure, stop)
    }

    fn stats(&self, id: &RunId, setup: &Setup<'_>, settle_ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
        let key = Key::new(self.store.program(), setup, settle_ns);
        let key = if id.regret { key.with_regret() } else { key };
        if let Some(stats) = self.store.get(&key) {
            return Ok(Some(stats));
        }
        let Some((stats, cpu_s)) = self.runner.timed_stats(id, setup, settle_ns, stop)? else { return Ok(None) };
        self.store.put(&key, &stats);
        self.store.note_cost(&RunCost { cpu_s, ..like(setup, settle_ns + stats.measured_ns) });
        Ok(Some(stats))
    }

    fn costs(&self) -> Vec<RunCost> {
        self.store.costs()
    }

    fn keeps(&self, setup: &Setup<'_>, settle_ns: u64, regret: bool) -> bool {
        let key = Key::new(self.store.program(), setup, settle_ns);
        self.store.has(&if regret { key.with_regret() } else { key })
    }
}
