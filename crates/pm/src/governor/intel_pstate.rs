//! intel_pstate in active mode, without HWP (`drivers/cpufreq/intel_pstate.c`, 5.10 to 7.3), with its arithmetic in its
//! own fixed point. In passive mode any other governor runs on a policy whose driver is
//! [`Driver::Continuous`](crate::policy::Driver::Continuous).

use super::fixed::Fixed;
use super::{About, CounterValues, Governor, Setup, Update, View};
use crate::Khz;
use crate::policy::Policy;

/// The least time between two samples, ns.
pub const INTEL_PSTATE_SAMPLING_INTERVAL: u64 = 10_000_000;

const ONE_EIGHTH: u32 = 1 << (FRAC_BITS - 3);

/// powersave.
pub(super) const ACTIVE_POWERSAVE: About = About {
    name: "intel_pstate:powersave",
    what: "intel_pstate in active mode: a quarter above the busy share of the highest P-state, sampled every 10 ms",
    make: |setup, policy| Box::new(IntelPstate::new(setup, policy)),
};

/// performance.
pub(super) const ACTIVE_PERFORMANCE: About = About {
    name: "intel_pstate:performance",
    what: "intel_pstate in active mode: the highest P-state that the limits allow",
    make: |_, _| Box::new(Fixed::Performance),
};

/// The powersave algorithm on a CPU: its policies have one each (`struct cpudata`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntelPstate {
    pstates: Pstates,
    no_turbo: bool,
    limits: PerfLimits,
    tick_ns: u64,
    current: u32,
    iowait_boost: u32,
    last_update: u64,
    sample_time: u64,
    prev: CounterValues,
}

impl IntelPstate {
    /// For a policy of one CPU.
    pub fn new(setup: &Setup, policy: &Policy) -> IntelPstate {
        let (min, max) = policy.cpuinfo();
        let of_range = || Pstates { min: min / 100_000, max: max / 100_000, turbo: max / 100_000, scaling: 100_000 };
        let pstates = setup.pstates.unwrap_or_else(of_range);
        IntelPstate {
            limits: PerfLimits::of(&pstates, setup.no_turbo, policy.min(), policy.max()),
            pstates,
            no_turbo: setup.no_turbo,
            tick_ns: setup.tick_ns,
            current: pstates.min,
            iowait_boost: 0,
            last_update: 0,
            sample_time: 0,
            prev: CounterValues::default(),
        }
    }

    /// `intel_pstate_update_util()`, its boost.
    fn boost(&mut self, at: &Update) {
        let idle = at.now.wrapping_sub(self.last_update) > self.tick_ns;
        self.iowait_boost = match (at.iowait, idle) {
            (true, false) if self.iowait_boost >= ONE_EIGHTH => (self.iowait_boost << 1).min(1 << FRAC_BITS),
            (true, _) => ONE_EIGHTH,
            (false, true) => 0,
            (false, false) => self.iowait_boost >> 1,
        };
        self.last_update = at.now;
    }

    /// `intel_pstate_sample()`: the first after the start only takes note of the counters.
    fn sample(&mut self, now: u64, counters: CounterValues) -> Option<PstateSample> {
        let prev = self.prev;
        if prev.mperf == counters.mperf || prev.tsc == counters.tsc {
            return None;
        }
        let last = std::mem::replace(&mut self.sample_time, now);
        self.prev = counters;
        let delta = CounterValues {
            aperf: counters.aperf.wrapping_sub(prev.aperf),
            mperf: counters.mperf.wrapping_sub(prev.mperf),
            tsc: counters.tsc.wrapping_sub(prev.tsc),
        };
        (last != 0).then_some(PstateSample { delta })
    }

    fn request(&mut self, pstate: u32) -> Option<Khz> {
        let pstate = self.limits.clamp(&self.pstates, pstate);
        if pstate == self.current {
            return None;
        }
        self.current = pstate;
        Some(pstate * self.pstates.scaling)
    }
}

impl Governor for IntelPstate {
    fn start(&mut self, _now: u64, policy: &Policy, _view: &dyn View) -> Option<Khz> {
        self.sample_time = 0;
        self.limits(policy)
    }

    fn update(&mut self, at: &Update, _policy: &Policy, view: &dyn View) -> Option<Khz> {
        if at.from != at.cpu {
            return None;
        }
        self.boost(at);
        if (at.now.wrapping_sub(self.sample_time) as i64) < INTEL_PSTATE_SAMPLING_INTERVAL as i64 {
            return None;
        }
        let sample = self.sample(at.now, view.counters(at.cpu))?;
        let target = get_target_pstate(&self.pstates, self.no_turbo, &sample, self.iowait_boost);
        self.request(target)
    }

    /// Keeps the requested frequency until the next sample.
    fn limits(&mut self, policy: &Policy) -> Option<Khz> {
        self.limits = PerfLimits::of(&self.pstates, self.no_turbo, policy.min(), policy.max());
        None
    }
}

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

/// The range that the policy's limits leave (`min_perf_ratio`, `max_perf_ratio`), P-states.
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

/// The change of the counters between two samples.
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
