//! `get_next_freq()`: from utilisation to a frequency, and what schedutil keeps of a policy.

use super::{Headroom, SugovRules};
use crate::Khz;
use wakelab_sched::energy::map_util_perf;

/// A policy (`struct sugov_policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SugovPolicy {
    /// When a frequency was last committed, ns.
    pub last_freq_update_time: u64,
    /// `rate_limit_us` in ns: how long a committed frequency stays.
    pub freq_update_delay_ns: u64,
    /// The committed frequency, kHz.
    pub next_freq: Khz,
    /// The last computed one before limits and the driver's table, kHz.
    pub cached_raw_freq: Khz,
    /// The policy's limits have changed, or deadline tasks want more (up to 6.12).
    pub limits_changed: bool,
    /// The next frequency is computed whatever the last was.
    pub need_freq_update: bool,
    /// The driver wants to hear of changed limits even if the frequency is the same (CPUFREQ_NEED_UPDATE_LIMITS).
    pub driver_needs_limits: bool,
}

impl SugovPolicy {
    /// Whether it is time (`sugov_should_update_freq()`).
    pub fn should_update_freq(&mut self, rules: &SugovRules, time: u64) -> bool {
        if self.limits_changed {
            self.limits_changed = false;
            self.need_freq_update = self.driver_needs_limits || !rules.limits_if_asked;
            return true;
        }
        if rules.dl_needs_update && self.need_freq_update {
            return true;
        }
        let delta = time.wrapping_sub(self.last_freq_update_time) as i64;
        delta >= self.freq_update_delay_ns as i64
    }

    /// The frequency for `util` of `max`, resolved by the driver (`get_next_freq()`), kHz. One that comes out as last
    /// time is not resolved again: the committed one stands for it.
    pub fn get_next_freq(
        &mut self,
        rules: &SugovRules,
        reference: &CapacityRef,
        util: u64,
        max: u64,
        resolve: impl FnOnce(Khz) -> Khz,
    ) -> Khz {
        let freq = raw_freq(rules.headroom, reference, util, max);
        if freq == self.cached_raw_freq && !self.need_freq_update {
            return self.next_freq;
        }
        if rules.need_update_ends_early {
            self.need_freq_update = false;
        }
        self.cached_raw_freq = freq;
        resolve(freq)
    }

    /// Commits the frequency. Returns whether the driver is to be told (`sugov_update_next_freq()`).
    pub fn update_next_freq(&mut self, rules: &SugovRules, time: u64, next_freq: Khz) -> bool {
        let same = self.next_freq == next_freq;
        if self.need_freq_update && rules.need_update_stays {
            self.need_freq_update = self.driver_needs_limits;
        } else if self.need_freq_update && !rules.need_update_ends_early {
            self.need_freq_update = false;
            if same && !self.driver_needs_limits {
                return false;
            }
        } else if same {
            return false;
        }
        self.next_freq = next_freq;
        self.last_freq_update_time = time;
        true
    }
}

/// The frequency, in kHz, at which `freq`'s capacity of `cap` is `util` (`map_util_freq()`, since 5.12). `cap` is not
/// 0.
pub fn map_util_freq(util: u64, freq: u64, cap: u64) -> u64 {
    freq * util / cap
}

/// The reference of a CPU's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CapacityRef {
    /// `arch_scale_freq_invariant()`: the utilisation does not depend on the frequency.
    pub invariant: bool,
    /// `arch_scale_freq_ref()`, kHz, since 6.8; 0 where the architecture has none (x86).
    pub freq_ref: Khz,
    /// `cpuinfo.max_freq`, kHz.
    pub cpuinfo_max: Khz,
    /// `policy->cur`, kHz.
    pub cur: Khz,
}

impl CapacityRef {
    /// `get_capacity_ref_freq()`, 6.12 to 7.3, in kHz.
    fn get_capacity_ref_freq(&self) -> u64 {
        if self.freq_ref != 0 {
            return u64::from(self.freq_ref);
        }
        if self.invariant {
            return u64::from(self.cpuinfo_max);
        }
        // Without invariance the utilisation says nothing of a higher frequency: the margin is what gets there.
        map_util_perf(u64::from(self.cur))
    }

    fn by_invariance(&self) -> u64 {
        u64::from(if self.invariant { self.cpuinfo_max } else { self.cur })
    }
}

/// The frequency that the utilisation asks for, in kHz, before limits and the driver's table (the arithmetic of
/// `get_next_freq()`). Where `headroom` says so, `util` has it already. `max` is the capacity, not 0.
pub fn raw_freq(headroom: Headroom, reference: &CapacityRef, util: u64, max: u64) -> Khz {
    let freq = match headroom {
        Headroom::InFreq => map_util_freq(util, map_util_perf(reference.by_invariance()), max),
        Headroom::InUtil => map_util_freq(map_util_perf(util), reference.by_invariance(), max),
        Headroom::InPerf => map_util_freq(util, reference.get_capacity_ref_freq(), max),
    };
    // An unsigned int in the kernel, which cuts it.
    freq as Khz
}
