//! cpufreq policies: CPUs that share a frequency, its limits, and what the driver makes of a request
//! (`drivers/cpufreq/cpufreq.c`, `include/linux/cpufreq.h`).

mod driver;

pub use driver::{Driver, PolicyError, Relation};

pub(crate) use driver::check_opps;

use crate::schedutil::CapacityRef;
use crate::{Cpu, Khz};
use wakelab_kernel::TransitionDelay;

/// CPUs that run at one frequency (`struct cpufreq_policy`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    cpus: Vec<Cpu>,
    driver: Driver,
    min: Khz,
    max: Khz,
    cur: Khz,
    /// The CPUs' utilisation does not depend on the frequency (`arch_scale_freq_invariant()`).
    pub invariant: bool,
    /// `arch_scale_freq_ref()`, kHz; 0 where the architecture has none (x86), or the kernel is older than 6.8.
    pub freq_ref: Khz,
    /// `cpuinfo.max_freq`, kHz, as the kernel knows it: the highest of the driver's, unless it knows of less.
    pub cpuinfo_max: Khz,
    /// A CPU outside the policy may change its frequency (`dvfs_possible_from_any_cpu`: SCMI and device-tree drivers;
    /// not acpi-cpufreq and intel_pstate).
    pub dvfs_possible_from_any_cpu: bool,
}

impl Policy {
    /// A policy without limits, at its lowest frequency.
    pub fn new(cpus: Vec<Cpu>, driver: Driver) -> Result<Policy, PolicyError> {
        if cpus.is_empty() {
            return Err(PolicyError::NoCpu);
        }
        let (min, max) = driver.range();
        Ok(Policy {
            cpus,
            driver,
            min,
            max,
            cur: min,
            invariant: false,
            freq_ref: 0,
            cpuinfo_max: max,
            dvfs_possible_from_any_cpu: false,
        })
    }

    /// The CPUs.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// `cpuinfo.min_freq` and `cpuinfo.max_freq`, kHz: what the hardware has, whatever the limits.
    pub fn cpuinfo(&self) -> (Khz, Khz) {
        (self.driver.range().0, self.cpuinfo_max)
    }

    /// The lowest frequency allowed, kHz.
    pub fn min(&self) -> Khz {
        self.min
    }

    /// The highest frequency allowed, kHz.
    pub fn max(&self) -> Khz {
        self.max
    }

    /// The frequency that was last set, kHz.
    pub fn cur(&self) -> Khz {
        self.cur
    }

    /// The driver has set `freq` (kHz): from now on it is [`cur`](Self::cur).
    pub fn changed_to(&mut self, freq: Khz) {
        self.cur = freq;
    }

    /// Takes over limits, each resolved to a frequency that there is (`cpufreq_set_policy()`, 5.10 to 7.3). Where they
    /// contradict, the maximum holds. The governor is to be told
    /// ([`Governor::limits`](crate::governor::Governor::limits)).
    pub fn set_limits(&mut self, limits: &Limits) {
        let (lowest, highest) = self.driver.range();
        let max = limits.max().clamp(lowest, highest);
        let min = limits.user_min.clamp(lowest, max);
        self.max = self.driver.find(max, Relation::High);
        self.min = self.driver.find(min, Relation::Low).min(self.max);
    }

    /// The lowest frequency there is at or above `freq`, within the limits, kHz (`cpufreq_driver_resolve_freq()`).
    pub fn resolve_freq(&self, freq: Khz) -> Khz {
        self.driver.find(freq.clamp(self.min, self.max), Relation::Low)
    }

    /// Returns the result of a request: the frequency that the driver sets, kHz (`__cpufreq_driver_target()`,
    /// `cpufreq_driver_fast_switch()`).
    pub fn target(&self, freq: Khz, relation: Relation) -> Khz {
        let found = self.driver.find(freq.clamp(self.min, self.max), relation);
        self.driver.set(found, relation).clamp(self.min, self.max)
    }

    /// The same, if it is not the present frequency.
    pub fn new_target(&self, freq: Khz, relation: Relation) -> Option<Khz> {
        Some(self.target(freq, relation)).filter(|&target| target != self.cur)
    }

    /// Returns the frequency that brings the present one within the limits, if it is outside
    /// (`cpufreq_policy_apply_limits()`), kHz.
    pub fn apply_limits(&self) -> Option<Khz> {
        if self.max < self.cur {
            self.new_target(self.max, Relation::High)
        } else if self.min > self.cur {
            self.new_target(self.min, Relation::Low)
        } else {
            None
        }
    }

    /// Whether an update that `from` runs may change the frequency (`cpufreq_this_cpu_can_update()`).
    pub fn can_update(&self, from: Cpu) -> bool {
        self.dvfs_possible_from_any_cpu || self.cpus.contains(&from)
    }

    /// Returns the reference of schedutil's arithmetic.
    pub fn reference(&self) -> CapacityRef {
        let Policy { invariant, freq_ref, cpuinfo_max, cur, .. } = *self;
        CapacityRef { invariant, freq_ref, cpuinfo_max, cur }
    }
}

/// Constraints on a policy (`freq_qos`): each is what it is without the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// `scaling_min_freq`, kHz.
    pub user_min: Khz,
    /// `scaling_max_freq`, kHz.
    pub user_max: Khz,
    /// The highest frequency that a cooling device allows, kHz.
    pub thermal_max: Khz,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits { user_min: 0, user_max: Khz::MAX, thermal_max: Khz::MAX };

    /// The lower of the maxima, kHz.
    pub fn max(&self) -> Khz {
        self.user_max.min(self.thermal_max)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::NONE
    }
}

/// The default of schedutil's `rate_limit_us`, and the least sampling rate of ondemand, us.
///
/// `latency_ns` is `cpuinfo.transition_latency`; `of_driver_us` is what the driver itself asks for
/// (`transition_delay_us`: 500 for intel_pstate in passive mode without HWP, 5000 with it), 0 if nothing.
pub fn cpufreq_policy_transition_delay_us(form: TransitionDelay, latency_ns: u32, of_driver_us: u32) -> u32 {
    let latency = latency_ns / 1000;
    match form {
        _ if of_driver_us != 0 => of_driver_us,
        _ if latency == 0 => 1000,
        TransitionDelay::Times1000 => latency.saturating_mul(1000).min(10_000),
        TransitionDelay::Times1_5 => latency + (latency >> 1),
    }
}
