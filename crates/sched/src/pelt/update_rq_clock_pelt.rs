//! `update_rq_clock_pelt()`: the clock of the averages, which is time scaled by the CPU's speed
//! (`kernel/sched/pelt.h`).
//!
//! ```text
//! while the CPU runs                            clock_pelt += delta * capacity / 1024 * frequency / 1024
//! while it idles                                clock_pelt = clock_task_mult
//! when it goes idle with util_sum at its
//!     maximum, so it had no idle time before    lost_idle_time += clock_task_mult - clock_pelt
//!
//! rq_clock_pelt() = clock_pelt - lost_idle_time
//! ```
//!
//! `clock_task_mult` is `clock_task`, unless a multiplier makes PELT's clock run faster: then its delta is a multiple.

use super::{LOAD_AVG_MAX, PELT_MIN_DIVIDER, SCHED_CAPACITY_SHIFT};

/// A CPU's speed at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scale {
    /// `arch_scale_cpu_capacity()`: 1024 is the machine's fastest CPU.
    pub cpu: u64,
    /// `arch_scale_freq_capacity()`: 1024 is this CPU's highest frequency.
    pub freq: u64,
}

/// Returns `v` · `s` / 1024, truncated (`cap_scale()`, 7.3).
#[inline]
pub fn cap_scale(v: u64, s: u64) -> u64 {
    v.wrapping_mul(s) >> SCHED_CAPACITY_SHIFT
}

/// A run queue's clocks, all in ns (the clock fields of `struct rq`, 7.3).
///
/// ```text
/// clock_pelt ≤ clock_task ≤ clock        (at scales of at most 1024)
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RqClock {
    /// Time as it passes (`rq_clock()`).
    pub clock: u64,
    /// `clock` without the time of interrupts and of other guests (`rq_clock_task()`).
    pub clock_task: u64,
    /// `clock_task`, faster by the multiplier (`clock_task_mult`). The same without one.
    pub clock_task_mult: u64,
    /// By how many bits PELT's clock runs faster: the multiplier 1, 2 or 4 as 0, 1 or 2
    /// (`sched_pelt_multiplier()`, "[RFC PATCH 0/1] sched/pelt: Change PELT halflife at runtime", Dietmar Eggemann,
    /// August 2022).
    pub lshift: u32,
    /// `clock_task_mult` slowed down while the CPU runs below full speed; catches up while it idles.
    pub clock_pelt: u64,
    /// Idle time that a full-speed CPU would not have had, so the averages do not count it as idle.
    pub lost_idle_time: u64,
    /// `clock` when the CPU was last known idle.
    pub clock_idle: u64,
    /// [`rq_clock_pelt`](Self::rq_clock_pelt) when the CPU was last known idle.
    pub clock_pelt_idle: u64,
}

impl RqClock {
    /// The clock of the averages, in ns (`rq_clock_pelt()`, 7.3).
    #[inline]
    pub fn rq_clock_pelt(&self) -> u64 {
        self.clock_pelt.wrapping_sub(self.lost_idle_time)
    }

    /// Advances the clocks by `delta` ns, of which interrupts and other guests took `stolen` (`update_rq_clock()` and
    /// `update_rq_clock_task()`, 7.3).
    ///
    /// `stolen` is at most `delta`; `curr_is_idle` and `scale` are those of that time.
    pub fn update_rq_clock(&mut self, delta: u64, stolen: u64, curr_is_idle: bool, scale: Scale) {
        self.clock = self.clock.wrapping_add(delta);
        let delta = delta.saturating_sub(stolen);
        self.clock_task = self.clock_task.wrapping_add(delta);
        let delta = delta << self.lshift;
        self.clock_task_mult = self.clock_task_mult.wrapping_add(delta);
        self.update_rq_clock_pelt(delta, curr_is_idle, scale);
    }

    /// Advances the PELT clock after `clock_task_mult` advanced by `delta` ns (`update_rq_clock_pelt()`, 7.3).
    pub fn update_rq_clock_pelt(&mut self, delta: u64, curr_is_idle: bool, scale: Scale) {
        if curr_is_idle {
            self._update_idle_rq_clock_pelt();
            return;
        }
        let delta = cap_scale(delta, scale.cpu);
        self.clock_pelt = self.clock_pelt.wrapping_add(cap_scale(delta, scale.freq));
    }

    /// Synchronises the PELT clock when the CPU goes idle (`update_idle_rq_clock_pelt()`, 7.3).
    ///
    /// `util_sum` is the sum over the fair, realtime and deadline run queues. A CPU whose sum is at its maximum has
    /// been busy all the time. It would have been so at full speed too, so the time by which `clock_pelt` lags is not
    /// idle time. 5.10 leaves the rest of the synchronisation to the next clock update, and nothing reads the clock
    /// before.
    pub fn update_idle_rq_clock_pelt(&mut self, util_sum: u32) {
        const DIVIDER: u32 = (PELT_MIN_DIVIDER << SCHED_CAPACITY_SHIFT) - LOAD_AVG_MAX;
        if util_sum >= DIVIDER {
            let lag = self.clock_task_mult.wrapping_sub(self.clock_pelt);
            self.lost_idle_time = self.lost_idle_time.wrapping_add(lag);
        }
        self._update_idle_rq_clock_pelt();
    }

    /// Sets the clocks of an idle CPU (`_update_idle_rq_clock_pelt()`, 7.3).
    fn _update_idle_rq_clock_pelt(&mut self) {
        self.clock_pelt = self.clock_task_mult;
        self.clock_idle = self.clock;
        self.clock_pelt_idle = self.rq_clock_pelt();
    }
}
