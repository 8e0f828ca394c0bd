//! How a task comes and goes, and what a schedule did.

use super::{Resched, TaskId};
use smallvec::SmallVec;

bitflags::bitflags! {
    /// How a task is enqueued (`ENQUEUE_*`). None of them: it comes back from a change (`ENQUEUE_RESTORE`), or the load
    /// balancer moved it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EnqueueFlags: u8 {
        /// `ENQUEUE_WAKEUP`: it slept.
        const WAKEUP = 1;
        /// `ENQUEUE_INITIAL`: it is new. (6.1 has no such flag: its new tasks are placed by `task_fork_fair()`.)
        const INITIAL = 2;
        /// `ENQUEUE_MIGRATED`: its wake-up moved it to this queue from another.
        const MIGRATED = 4;
    }

    /// Why a task is dequeued (`DEQUEUE_*`). None of them: the load balancer takes it away.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DequeueFlags: u8 {
        /// `DEQUEUE_SLEEP`: it blocks.
        const SLEEP = 1;
        /// `DEQUEUE_SAVE`: it will be back at once with another weight or slice.
        const SAVE = 2;
        /// `DEQUEUE_SPECIAL`: its state does not bear a delayed dequeue (it exits, is stopped, or is frozen).
        const SPECIAL = 4;
        /// `DEQUEUE_DELAYED`: ends a delayed dequeue.
        const DELAYED = 8;
    }
}

/// What a dequeue did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequeued {
    /// False if the dequeue was delayed: the task sleeps but stays queued (EEVDF).
    pub off_rq: bool,
    /// The charge before it asks for a reschedule of the running task.
    pub resched: Resched,
}

/// What becomes of the task that runs, at a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prev {
    /// It is still runnable (or the CPU is idle).
    Runs,
    /// It blocks.
    Sleeps,
    /// It exits.
    Exits,
}

/// What a schedule did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Who runs now; `None` is idle.
    pub next: Option<TaskId>,
    /// Delayed tasks that were picked and, being asleep, left the queue, in this order (EEVDF).
    pub reaped: SmallVec<[TaskId; 4]>,
}
