//! The policies of the realtime and the deadline class.

use serde::Serialize;

/// A policy of the realtime class, with its `sched_priority`, 1 to 99; 99 is the most urgent. Or that of the deadline
/// class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Realtime {
    /// SCHED_FIFO: runs until it sleeps, yields or is preempted.
    Fifo(u8),
    /// SCHED_RR: the same, and takes turns with tasks of its priority.
    Rr(u8),
    /// SCHED_DEADLINE.
    Deadline(Deadline),
}

/// The reservation of a task of SCHED_DEADLINE (`sched_runtime`, `sched_deadline`, `sched_period` of
/// `sched_setattr()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Deadline {
    /// How long it runs in each period, ns at full speed.
    pub runtime_ns: u64,
    /// The time from the period's start within which it has to run, ns.
    pub deadline_ns: u64,
    /// The period, ns.
    pub period_ns: u64,
}

impl Deadline {
    /// The shortest runtime, ns (`DL_SCALE`).
    pub const RUNTIME_MIN: u64 = 1 << 10;

    /// The periods that the kernel takes, ns (`sysctl_sched_dl_period_min` and `_max`, since 5.4).
    pub const PERIODS: std::ops::RangeInclusive<u64> = 100_000..=4_194_304_000;

    /// `__checkparam_dl()`.
    ///
    /// # Errors
    /// With what `sched_setattr()` refuses (EINVAL), and what was expected.
    pub fn check(&self) -> Result<(), String> {
        let Deadline { runtime_ns, deadline_ns, period_ns } = *self;
        if runtime_ns < Self::RUNTIME_MIN {
            return Err(format!("a runtime of {runtime_ns} ns; expected {} ns or more", Self::RUNTIME_MIN));
        }
        if deadline_ns < runtime_ns {
            let what = format!("the deadline of {deadline_ns} ns is shorter than the runtime of {runtime_ns} ns");
            return Err(what + "; expected at least the runtime");
        }
        if period_ns < deadline_ns {
            let what = format!("the period of {period_ns} ns is shorter than the deadline of {deadline_ns} ns");
            return Err(what + "; expected at least the deadline");
        }
        if !Self::PERIODS.contains(&period_ns) {
            return Err(format!("a period of {period_ns} ns; expected 100 us to 4194304 us"));
        }
        Ok(())
    }
}
