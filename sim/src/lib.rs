//! Simulated time: CPUs that run task programs under the scheduler on a machine.

mod outcome;
mod setup;

pub use outcome::{CpuTime, Outcome, SimError, Waiting};
pub use setup::{Mechanisms, Setup};

use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;

/// Runs to the end of `setup.until`, or until `stop` is set, and tells `sink` what happens.
///
/// # Errors
/// Where the kernel or the machine is not modelled, the workload is at odds with the machine, or it deadlocks.
pub fn run<S: Sink>(setup: &Setup<'_>, sink: &mut S, stop: &AtomicBool) -> Result<Outcome, SimError> {
    let _ = (setup, sink, stop);
    todo!()
}
