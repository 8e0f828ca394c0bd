//! `resched_curr()` and what comes of it: the request for a reschedule, the tick and the hrtick that make one, and the
//! switch of tasks that answers it (`kernel/sched/core.c`).
//!
//! ```text
//! resched_curr()       TIF_NEED_RESCHED        reschedule as soon as the kernel may preempt
//! resched_curr_lazy()  TIF_NEED_RESCHED_LAZY   ... on return to user space; the next tick makes it urgent
//! ```

use super::TaskId;
use smallvec::SmallVec;
use std::ops::{BitOr, BitOrAssign};

/// Whether an operation requests a reschedule of the running task, and how urgently. `|` takes the more urgent of two.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resched {
    /// It requests none.
    #[default]
    No,
    /// `TIF_NEED_RESCHED_LAZY` (`resched_curr_lazy()`, 7.2): when the task returns to user space, or at the next tick.
    /// Another CPU that sets it sends no interrupt (`__resched_curr()`). A wake-up checks for preemption even if it is
    /// set.
    Lazy,
    /// `TIF_NEED_RESCHED` (`resched_curr()`): as soon as the kernel may preempt. Another CPU that sets it sends an
    /// interrupt.
    Now,
}

impl Resched {
    /// Whether a reschedule is requested, lazily or not.
    #[inline]
    pub fn asked(self) -> bool {
        self != Resched::No
    }

    /// Whether this sets `TIF_NEED_RESCHED`, which is the `need_resched` argument of the run queues' operations.
    #[inline]
    pub fn is_now(self) -> bool {
        self == Resched::Now
    }

    /// This request if `condition` holds, else none.
    #[inline]
    pub(super) fn when(self, condition: bool) -> Resched {
        if condition { self } else { Resched::No }
    }
}

impl BitOr for Resched {
    type Output = Resched;

    #[inline]
    fn bitor(self, other: Resched) -> Resched {
        self.max(other)
    }
}

impl BitOrAssign for Resched {
    #[inline]
    fn bitor_assign(&mut self, other: Resched) {
        *self = *self | other;
    }
}

/// The result of `wakeup_preempt()`.
#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preempted {
    /// Whether to reschedule.
    pub resched: Resched,
    /// The delayed tasks that the check picked and that, being asleep, left the queue, in this order (EEVDF since 7.2,
    /// whose `wakeup_preempt_fair()` calls `pick_next_entity()`).
    pub reaped: SmallVec<[TaskId; 4]>,
}

impl From<Resched> for Preempted {
    fn from(resched: Resched) -> Self {
        Preempted { resched, ..Preempted::default() }
    }
}

/// The state of the running task when `__schedule()` is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prev {
    /// It is still runnable, or the CPU is idle.
    Runs,
    /// It blocks.
    Sleeps,
    /// It exits.
    Exits,
}

/// The result of `__schedule()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The task that runs now; `None` if the CPU goes idle.
    pub next: Option<TaskId>,
    /// The delayed tasks that were picked and, being asleep, left the queue, in this order (EEVDF).
    pub reaped: SmallVec<[TaskId; 4]>,
}

/// The time for which the hrtick is to be started (`hrtick_start_fair()`), if the feature `HRTICK` is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hrtick {
    /// It is not started: the feature is off, or the task is alone.
    Off,
    /// It is not started because the slice is over already. If the task runs, this requests [`Resched::Now`].
    Over,
    /// It expires after this many ns of run time; 10 us at least (`hrtick_start()`).
    In(u64),
}

impl Hrtick {
    /// `hrtick_start()`: raises `delta` ns to 10 us, because shorter slices make no sense.
    pub(super) fn start(delta: u64) -> Hrtick {
        Hrtick::In(delta.max(10_000))
    }
}

/// The CPU's pending requests when its periodic tick comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// `TIF_NEED_RESCHED_LAZY` is set: the tick makes it urgent (`sched_tick()`, 7.2).
    pub lazy: bool,
    /// `hrtimer_active(&rq->hrtick_timer)`: up to 6.12 the periodic tick does not check for preemption then, unless
    /// `DOUBLE_TICK` is on.
    pub hrtick_active: bool,
}
