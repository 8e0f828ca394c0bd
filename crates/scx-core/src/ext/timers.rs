//! The timers that a scheduler starts, until the caller takes them.

use super::Ext;
use wakelab_sched::cpumask::Cpu;

/// When a timer that never expires would, ns (`KTIME_MAX`).
pub const KTIME_MAX: u64 = i64::MAX as u64;

/// A timer of the scheduler that is to expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedTimer {
    /// When, ns.
    pub at: u64,
    /// Its number, which [`Ops::timer`](crate::ops::Ops::timer) gets back.
    pub number: u32,
    /// On which CPU.
    pub cpu: Cpu,
}

impl Ext {
    /// Starts a timer on this CPU that expires at a time, ns; one of [`KTIME_MAX`] never does. Numbers ascend.
    pub fn start_timer(&mut self, at: u64, number: u32) {
        self.started_timers.insert(number, (at, self.this_cpu));
    }

    /// A timer that has not expired is started anew under another number, or cancelled.
    pub fn cancel_timer(&mut self, number: u32) {
        if self.started_timers.remove(&number).is_none() {
            self.stale_timers += 1;
        }
    }

    /// The timers that were started and not cancelled since the caller last asked, in the order of their numbers.
    pub fn take_started_timers(&mut self) -> impl Iterator<Item = StartedTimer> + use<> {
        let started = std::mem::take(&mut self.started_timers).into_iter();
        started.filter(|(_, (at, _))| *at < KTIME_MAX).map(|(number, (at, cpu))| StartedTimer { at, number, cpu })
    }

    /// How many of the timers that the caller was told of will not expire
    /// ([`Ops::timer_is_set`](crate::ops::Ops::timer_is_set)), until it has forgotten them.
    pub fn stale_timers(&mut self) -> &mut usize {
        &mut self.stale_timers
    }
}
