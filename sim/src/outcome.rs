//! How a run ended.

use std::fmt;
use wakelab_pm::power::PowerStats;

/// Where one CPU's time went, ns. The three add up to the time that was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the steps of task programs, softirqs included.
    pub work: u64,
    /// In the kernel's own doing: wake-ups, switches, idle entry and exit, balancing, ticks, cold caches.
    pub overhead: u64,
    /// Idle.
    pub idle: u64,
}

/// A run that came to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When it ended, ns. Earlier than asked for where all tasks have exited or the run was stopped.
    pub ended: u64,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Whether all tasks of the workload had exited.
    pub exited: bool,
    /// By CPU.
    pub cpus: Vec<CpuTime>,
    /// Wake-ups of all kinds.
    pub wakeups: u64,
    /// Events taken from the queue: the simulator's own measure of its work.
    pub events: u64,
    /// Frequencies, idle states and energy from [`PmSide::measured_from`](crate::PmSide::measured_from) on; `None` where
    /// nothing governed them.
    pub power: Option<PowerStats>,
}

/// A task of a deadlock, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub task: String,
    /// The step of its program that it is in, from 0.
    pub step: usize,
    /// What it waits for: `a message in request`, `room in reply`, `its children`.
    pub what: String,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The kernel is not modelled, or not all of it.
    #[error("kernel {0}")]
    Kernel(String),
    /// The machine is of a kind that is not modelled.
    #[error("machine {0}")]
    Machine(String),
    /// The workload and the machine do not fit.
    #[error("{0}")]
    Workload(String),
    /// No task can ever run again.
    #[error("deadlock at {at} ns: {}", Deadlock(waiting))]
    Deadlock {
        /// When the last task went to sleep, ns.
        at: u64,
        /// All tasks that are left.
        waiting: Vec<Waiting>,
    },
}

struct Deadlock<'a>(&'a [Waiting]);

impl fmt::Display for Deadlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, Waiting { task, step, what }) in self.0.iter().take(8).enumerate() {
            let sep = if n == 0 { "" } else { "; " };
            write!(f, "{sep}{task} waits for {what} (step {step})")?;
        }
        if self.0.len() > 8 {
            write!(f, "; and {} more", self.0.len() - 8)?;
        }
        Ok(())
    }
}
