//! From utilisation to a frequency.

use super::Headroom;
use crate::Khz;
use wakelab_sched::energy::map_util_perf;

/// The frequency, in kHz, at which `freq`'s capacity of `cap` is `util` (`map_util_freq()`, since 5.12). `cap` is not 0.
pub fn map_util_freq(util: u64, freq: u64, cap: u64) -> u64 {
    freq * util / cap
}

/// What the capacity of a CPU refers to.
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
