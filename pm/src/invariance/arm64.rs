//! From cpufreq.

use crate::Khz;

/// The scale of a policy's CPUs after its frequency changed to `cur`, kHz (`arch_set_freq_scale()` in 5.3,
/// `topology_set_freq_scale()` since 5.15). `max` is `cpuinfo.max_freq`, not 0; a cap does not change it. 1024 is full
/// speed.
pub fn arch_set_freq_scale(cur: Khz, max: Khz) -> u64 {
    (u64::from(cur) << 10) / u64::from(max)
}
