//! intel_pstate's arithmetic, in its own fixed point (`drivers/cpufreq/intel_pstate.c`, 5.10 to 7.3; without HWP).

use super::view::CounterValues;
use crate::Khz;

/// Bits behind the point of fractions (`FRAC_BITS`).
pub(super) const FRAC_BITS: u32 = 8;
/// ... of `core_avg_perf` (`EXT_FRAC_BITS`).
const EXT_FRAC_BITS: u32 = 14;

/// The P-states of a CPU (`struct pstate_data`), each a multiple of `scaling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pstates {
    /// The lowest.
    pub min: u32,
    /// The highest without turbo, which is the base frequency here (`max_pstate`, `max_pstate_physical`).
    pub max: u32,
    /// The highest with one core active.
    pub turbo: u32,
    /// kHz of one step: 100000.
    pub scaling: Khz,
}

impl Pstates {
    /// The highest that may be asked for.
    pub fn highest(&self, no_turbo: bool) -> u32 {
        if no_turbo { self.max } else { self.turbo }
    }
}

/// What the policy's limits leave (`min_perf_ratio`, `max_perf_ratio`), P-states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PerfLimits {
    /// The lowest.
    pub min: u32,
    /// The highest.
    pub max: u32,
}

impl PerfLimits {
    /// Of a policy's limits in kHz (`intel_pstate_update_perf_limits()` with `per_cpu_perf_limits`).
    pub fn of(pstates: &Pstates, no_turbo: bool, policy_min: Khz, policy_max: Khz) -> PerfLimits {
        let state = u64::from(pstates.highest(no_turbo));
        let freq = state * u64::from(pstates.scaling);
        let of = |khz: Khz| (state * u64::from(khz) / freq) as u32;
        let max = of(policy_max);
        PerfLimits { min: if policy_min == policy_max { max } else { of(policy_min).min(max) }, max }
    }

    /// `intel_pstate_prepare_request()`.
    pub fn clamp(&self, pstates: &Pstates, pstate: u32) -> u32 {
        let min = pstates.min.max(self.min);
        pstate.clamp(min, min.max(self.max))
    }
}

/// What the counters moved by between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PstateSample {
    /// The differences.
    pub delta: CounterValues,
}

impl PstateSample {
    /// APERF over MPERF, 14 bits behind the point (`intel_pstate_calc_avg_perf()`).
    fn core_avg_perf(&self) -> u64 {
        (self.delta.aperf << EXT_FRAC_BITS) / self.delta.mperf
    }

    /// The share of time in C0, 8 bits behind the point.
    fn busy_frac(&self) -> u64 {
        (self.delta.mperf << FRAC_BITS) / self.delta.tsc
    }
}

/// The P-state for the next period, before limits (`get_target_pstate()`, the same in 5.3, where it was not read): a
/// quarter above the busy share of the highest, and half-way towards the last period's average if that was higher.
/// `iowait_boost` is a share with 8 bits behind the point. MPERF and TSC must have moved.
pub fn get_target_pstate(pstates: &Pstates, no_turbo: bool, sample: &PstateSample, iowait_boost: u32) -> u32 {
    let busy = sample.busy_frac().max(u64::from(iowait_boost));
    let highest = u64::from(pstates.highest(no_turbo));
    let mut target = ((highest + (highest >> 2)) * busy) >> FRAC_BITS;
    target = target.max(u64::from(pstates.min));
    let average = (u64::from(pstates.max) * sample.core_avg_perf()) >> EXT_FRAC_BITS;
    if average > target {
        target += (average - target) >> 1;
    }
    target as u32
}
