//! Results that are kept: a run that was made once is not made again.
//!
//! Each finished run is kept at once under the hash of all its inputs ([`Key`]), the program's own bytes among them, in a
//! file that appears whole or not at all. So an interrupted experiment goes on where it stopped, and one that is repeated
//! reads what it would compute. [`Cached`] is the one place where runs are looked up: everything that makes runs takes a
//! [`Runner`](crate::compare::Runner).

mod key;
mod store;

pub use key::{Key, Program};
pub use store::{LIMIT_BYTES, Store, StoreError};

use crate::compare::{RunId, Runner, Why};
use std::sync::atomic::AtomicBool;
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};

/// Takes runs from a store, makes those that are not there, and keeps them as soon as they are done. A run that fails or is
/// stopped is not kept.
#[derive(Clone, Copy)]
pub struct Cached<'a> {
    /// What is kept.
    pub store: &'a Store,
    /// What makes runs: the same for all of a store.
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
        let stats = self.runner.stats(id, setup, settle_ns, stop)?;
        if let Some(stats) = &stats {
            self.store.put(&key, stats);
        }
        Ok(stats)
    }
}
