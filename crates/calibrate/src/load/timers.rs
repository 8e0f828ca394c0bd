//! Tasks that sleep, and compute when their timer has woken them.

use super::work::{Pace, steps};
use super::{Task, rounds};
use rustix::thread::set_current_timer_slack;
use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// How long a task sleeps, ns.
pub const SLEEP_NS: u64 = 1_000_000;

/// How long it computes, ns.
pub const TIMER_NS: u64 = 300_000;

/// A task, which counts its wake-ups. Their latency is what it slept for too long.
pub(super) fn task(count: Option<u64>) -> Vec<Task> {
    vec![Box::new(move |tally| {
        // The kernel may let a sleep be this much longer, to serve several timers with one interrupt; 50 us otherwise.
        set_current_timer_slack(NonZeroU64::new(1))?;
        let work = Pace::measure().steps(TIMER_NS);
        let sleep = Duration::from_nanos(SLEEP_NS);
        for _ in rounds(count) {
            let began = Instant::now();
            std::thread::sleep(sleep);
            tally.done(began.elapsed().saturating_sub(sleep));
            black_box(steps(work));
        }
        Ok(())
    })]
}
