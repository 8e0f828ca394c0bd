//! intel_pstate in active mode, without HWP. In passive mode any other governor runs on a policy whose driver is
//! [`Driver::Continuous`](crate::policy::Driver::Continuous).

use super::about::About;
use super::fixed::Fixed;
use super::pstate_sample::{FRAC_BITS, PerfLimits, PstateSample, Pstates, get_target_pstate};
use super::view::{CounterValues, Update, View};
use super::{Governor, Setup};
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
    fn name(&self) -> &'static str {
        ACTIVE_POWERSAVE.name
    }

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

    /// What is asked for stays until the next sample.
    fn limits(&mut self, policy: &Policy) -> Option<Khz> {
        self.limits = PerfLimits::of(&self.pstates, self.no_turbo, policy.min(), policy.max());
        None
    }

    fn boxed_clone(&self) -> Box<dyn Governor> {
        Box::new(self.clone())
    }
}
