//! What schedutil keeps of a policy.

use super::SugovRules;
use super::next_freq::{CapacityRef, raw_freq};
use crate::Khz;

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
            self.need_freq_update = true;
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
        if self.need_freq_update && !rules.need_update_ends_early {
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
