//! `ENQUEUE_*` and `DEQUEUE_*` (`kernel/sched/sched.h`): why a task joins or leaves a run queue.

use super::Resched;

bitflags::bitflags! {
    /// Why a task is enqueued (`ENQUEUE_*`). Empty: it comes back from a change of its weight or slice
    /// (`ENQUEUE_RESTORE`), or the load balancer moved it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EnqueueFlags: u8 {
        /// `ENQUEUE_WAKEUP`: it slept.
        const WAKEUP = 1;
        /// `ENQUEUE_INITIAL`: it is new. (6.1 has no such flag: `task_fork_fair()` places its new tasks.)
        const INITIAL = 2;
        /// `ENQUEUE_MIGRATED`: its wake-up moved it to this queue from another.
        const MIGRATED = 4;
    }

    /// Why a task is dequeued (`DEQUEUE_*`). Empty: the load balancer takes it away.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DequeueFlags: u8 {
        /// `DEQUEUE_SLEEP`: it blocks.
        const SLEEP = 1;
        /// `DEQUEUE_SAVE`: it is enqueued again at once with another weight or slice.
        const SAVE = 2;
        /// `DEQUEUE_SPECIAL`: its state does not allow a delayed dequeue (it exits, is stopped, or is frozen).
        const SPECIAL = 4;
        /// `DEQUEUE_DELAYED`: completes a delayed dequeue.
        const DELAYED = 8;
        /// `DEQUEUE_THROTTLE`: its group has used up its quota (6.18).
        const THROTTLE = 16;
    }
}

/// The result of a dequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequeued {
    /// False if the dequeue was delayed: the task sleeps but stays queued (EEVDF).
    pub off_rq: bool,
    /// Whether `update_curr()`, which runs first, requests a reschedule of the running task.
    pub resched: Resched,
}
