//! Asking for a reschedule.

use super::TaskId;
use smallvec::SmallVec;
use std::ops::{BitOr, BitOrAssign};

/// Whether an operation asks for a reschedule of the running task, and how urgently. Of two, the more urgent counts: `|`.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resched {
    /// It does not.
    #[default]
    No,
    /// `TIF_NEED_RESCHED_LAZY` (`resched_curr_lazy()`, 7.2): when the task returns to user space, or at the next tick.
    /// Another CPU that asks so sends no interrupt (`__resched_curr()`). A wake-up does not count it as asked already.
    Lazy,
    /// `TIF_NEED_RESCHED` (`resched_curr()`): as soon as the kernel may preempt. Another CPU that asks so sends an
    /// interrupt.
    Now,
}

impl Resched {
    /// Whether it asks at all.
    #[inline]
    pub fn asked(self) -> bool {
        self != Resched::No
    }

    /// Whether it sets `TIF_NEED_RESCHED`: what an operation's argument `need_resched` means.
    #[inline]
    pub fn is_now(self) -> bool {
        self == Resched::Now
    }

    /// This, if a condition holds.
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

/// What a check for preemption did.
#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preempted {
    /// Whether to reschedule.
    pub resched: Resched,
    /// Delayed tasks that the check picked and that, being asleep, left the queue, in this order (EEVDF since 7.2, whose
    /// `wakeup_preempt_fair()` calls `pick_next_entity()`).
    pub reaped: SmallVec<[TaskId; 4]>,
}

impl From<Resched> for Preempted {
    fn from(resched: Resched) -> Self {
        Preempted { resched, ..Preempted::default() }
    }
}

/// What an hrtick is to be started for (`hrtick_start_fair()`), with the feature HRTICK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hrtick {
    /// None: the feature is off, or the task is alone.
    Off,
    /// None: the time is over already. [`Resched::Now`] if the task runs.
    Over,
    /// In this many ns of run time; 10 us at least (`hrtick_start()`).
    In(u64),
}

impl Hrtick {
    /// `hrtick_start()`: shorter slices make no sense.
    pub(super) fn start(delta: u64) -> Hrtick {
        Hrtick::In(delta.max(10_000))
    }
}

/// What is pending on the CPU when its periodic tick comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// `TIF_NEED_RESCHED_LAZY` is set: the tick makes it urgent (`sched_tick()`, 7.2).
    pub lazy: bool,
    /// `hrtimer_active(&rq->hrtick_timer)`: up to 6.12 the periodic tick does not interfere then, unless DOUBLE_TICK.
    pub hrtick_active: bool,
}
