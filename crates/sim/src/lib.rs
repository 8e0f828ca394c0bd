//! Simulated time: CPUs that run task programs under the scheduler on a machine.
//!
//! It may use `sched`, `pm` and `scx-core`, which decide; `machine` and `workload`, which say what costs and what is to
//! be done; and `events`, in which it reports. It keeps time, applies what was decided, and draws random numbers in the
//! order of events. It never decides where a task goes, knows no benchmark by name, reads no file, and computes no
//! statistic.

mod asym_capacity;
mod audit;
mod boot;
mod change;
mod channel;
mod cpu;
mod engine;
mod event_queue;
mod ext;
mod fork_exec;
mod futex;
mod load_balance;
mod model;
mod newidle_balance;
mod nohz_idle_balance;
mod numbered;
pub mod observe;
mod pelt;
mod pm;
mod program;
mod rcu_gp_kthread;
mod rt;
mod run;
mod run_dyn;
mod runqueue;
mod sched_cache;
mod schedule;
mod search;
mod semaphore;
pub mod steps;
mod supported;
mod syscalls;
mod system;
mod task;
mod task_group;
mod tick;
mod try_to_wake_up;
mod uclamp;
mod variant;
mod workqueue;

pub use asym_capacity::no_eas;
pub use supported::{cgroup_warn_missing, check, check_power, check_scheduler, check_workloads};

pub use pm::{Caps, PmSide};
pub use run::{CpuTime, Mechanisms, Outcome, Setup, SimError, Waiting, run_seed};
pub use run_dyn::run_dyn;
pub use variant::{FLIPS_GONE_NS, PowerSideError, Variant, VariantError};

use engine::Sim;
use model::Model;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;

/// Runs to the end of `setup.until`, or until `stop` is set, and tells `sink` what happens.
///
/// # Errors
/// Where the kernel or the machine is not modelled, the workload is at odds with the machine, or it deadlocks.
pub fn run<S: Sink>(setup: &Setup<'_>, sink: &mut S, stop: &AtomicBool) -> Result<Outcome, SimError> {
    let with_autogroup = task_group::with_autogroup(setup.kernel, setup.workload);
    let setup = &Setup { workload: with_autogroup.as_ref().unwrap_or(setup.workload), ..*setup };
    let domains = model::domains(setup.machine, setup.kernel, setup.features)?;
    let model = Model::new(setup, &domains)?;
    Sim::new(&model, setup, sink).run(setup.until, stop)
}
