//! Simulated time: CPUs that run task programs under the scheduler on a machine.

mod averages;
mod balance;
mod calls;
mod channel;
mod cpu;
mod delayed;
mod energy;
mod engine;
mod exec;
mod hrtick;
mod idle_time;
mod iowait;
mod list;
mod misfit;
mod model;
mod modelled;
mod newidle;
mod nohz;
pub mod observe;
mod outcome;
mod pm;
mod program;
mod random;
mod runqueue;
mod schedule;
mod search;
mod setup;
mod start;
#[cfg(test)]
mod sums;
mod sync;
mod system;
mod task;
mod tick;
mod timeline;
mod wake;
mod wakee;

pub use energy::no_eas;
pub use modelled::{check, check_power, kernels};
pub use outcome::{CpuTime, Outcome, SimError, Waiting};
pub use pm::PmSide;
pub use setup::{Mechanisms, Setup};

use engine::Sim;
use model::Model;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;

/// Runs to the end of `setup.until`, or until `stop` is set, and tells `sink` what happens.
///
/// # Errors
/// Where the kernel or the machine is not modelled, the workload is at odds with the machine, or it deadlocks.
pub fn run<S: Sink>(setup: &Setup<'_>, sink: &mut S, stop: &AtomicBool) -> Result<Outcome, SimError> {
    let domains = model::domains(setup.machine, setup.kernel)?;
    let model = Model::new(setup, &domains)?;
    Sim::new(&model, setup, sink).run(setup.until, stop)
}
