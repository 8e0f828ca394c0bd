//! Chains of processes that fork one which computes, and wait for it.

use super::work::{Pace, steps};
use super::{Task, rounds};
use crate::sys::fork_and_wait;
use std::hint::black_box;
use std::time::Instant;

/// How long a forked process computes, ns.
pub const CHILD_NS: u64 = 100_000;

/// A chain, which counts its forks.
pub(super) fn chain(count: Option<u64>) -> Vec<Task> {
    vec![Box::new(move |tally| {
        let work = Pace::measure().steps(CHILD_NS);
        for _ in rounds(count) {
            let began = Instant::now();
            fork_and_wait(|| {
                black_box(steps(work));
            })?;
            tally.done_since(began);
        }
        Ok(())
    })]
}
