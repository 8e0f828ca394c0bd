//! ondemand (`drivers/cpufreq/cpufreq_ondemand.c` and `cpufreq_governor.c`, the same from 5.10 to 7.3 with
//! `powersave_bias` 0).

use super::{About, Governor, Update, View};
use crate::policy::{Policy, Relation};
use crate::{Cpu, Khz};

/// ondemand.
pub(super) const ONDEMAND: About = About {
    name: "ondemand",
    what: "the highest frequency above a load of 95%, else in proportion to the load, sampled",
    make: |setup, policy| Box::new(Ondemand::new(setup.ondemand, policy)),
};

/// Its tunables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OdTunables {
    /// µs between samples.
    pub sampling_rate_us: u32,
    /// The load above which the highest frequency is taken, percent: 95, or 80 where idle time is counted in ticks.
    pub up_threshold: u32,
    /// How many times longer a sample lasts at the highest frequency.
    pub sampling_down_factor: u32,
    /// Waiting for I/O is no idle time: the default on Intel.
    pub io_is_busy: bool,
}

impl OdTunables {
    /// The defaults: two ticks, or the policy's transition delay if that is longer (`cpufreq_dbs_governor_init()`).
    pub fn new(tick_ns: u64, transition_delay_us: u32) -> OdTunables {
        let sampling_rate_us = transition_delay_us.max((2 * tick_ns / 1000) as u32);
        OdTunables { sampling_rate_us, up_threshold: 95, sampling_down_factor: 1, io_is_busy: true }
    }
}

/// ondemand on one policy. Its work runs at once, not on a kworker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ondemand {
    tunables: OdTunables,
    rate_mult: u32,
    last_sample_time: u64,
    sample_delay_ns: u64,
    cpus: Vec<(Cpu, DbsCpu)>,
}

impl Ondemand {
    /// For the policy's CPUs.
    pub fn new(tunables: OdTunables, policy: &Policy) -> Ondemand {
        let cpus = policy.cpus().iter().map(|&cpu| (cpu, DbsCpu::default())).collect();
        Ondemand { tunables, rate_mult: 1, last_sample_time: 0, sample_delay_ns: 0, cpus }
    }

    /// `od_update()`.
    fn od_update(&mut self, now: u64, policy: &Policy, view: &dyn View) -> Option<Khz> {
        let tunables = self.tunables;
        let rate = tunables.sampling_rate_us.saturating_mul(self.rate_mult);
        let load = dbs_update(&mut self.cpus, now / 1000, rate, tunables.io_is_busy, view);
        if load > tunables.up_threshold {
            if policy.cur() < policy.max() {
                self.rate_mult = tunables.sampling_down_factor;
            }
            return policy.new_target(policy.max(), Relation::High);
        }
        self.rate_mult = 1;
        // By what the hardware has, not by the limits.
        let (min, max) = policy.cpuinfo();
        let next = min + (u64::from(load) * u64::from(max - min) / 100) as Khz;
        policy.new_target(next, Relation::Closest)
    }
}

impl Governor for Ondemand {
    fn start(&mut self, now: u64, _policy: &Policy, view: &dyn View) -> Option<Khz> {
        for (cpu, dbs) in &mut self.cpus {
            let prev_cpu_idle = view.idle_time_us(*cpu, self.tunables.io_is_busy);
            *dbs = DbsCpu { prev_cpu_idle, prev_update_time: now / 1000, prev_load: 0 };
        }
        (self.rate_mult, self.last_sample_time) = (1, 0);
        self.sample_delay_ns = u64::from(self.tunables.sampling_rate_us) * 1000;
        None
    }

    /// `dbs_update_util_handler()`: a sample if the last is long enough ago.
    fn update(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz> {
        let delta = at.now.wrapping_sub(self.last_sample_time) as i64;
        if !policy.can_update(at.from) || delta < self.sample_delay_ns as i64 {
            return None;
        }
        self.last_sample_time = at.now;
        let target = self.od_update(at.now, policy, view);
        self.sample_delay_ns = u64::from(self.tunables.sampling_rate_us) * u64::from(self.rate_mult) * 1000;
        target
    }

    /// `cpufreq_dbs_governor_limits()`: the next update takes a sample.
    fn limits(&mut self, policy: &Policy) -> Option<Khz> {
        self.sample_delay_ns = 0;
        policy.apply_limits()
    }
}

/// The state of a CPU between samples (`struct cpu_dbs_info`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DbsCpu {
    /// Its idle time at the last sample, µs.
    pub prev_cpu_idle: u64,
    /// When that was, µs.
    pub prev_update_time: u64,
    /// The load it had then, percent.
    pub prev_load: u32,
}

impl DbsCpu {
    /// The load since the last sample, percent. `sampling_rate` in µs.
    fn load(&mut self, now_us: u64, idle_us: u64, sampling_rate: u32) -> u32 {
        let elapsed = now_us.wrapping_sub(self.prev_update_time) as u32;
        let idle = idle_us.saturating_sub(self.prev_cpu_idle) as u32;
        (self.prev_update_time, self.prev_cpu_idle) = (now_us, idle_us);
        if elapsed == 0 {
            return self.prev_load;
        }
        if idle > sampling_rate.saturating_mul(2) && self.prev_load != 0 {
            // The CPU slept: the task that wakes up now is not to pay for that, once.
            return std::mem::take(&mut self.prev_load);
        }
        let busy = elapsed.saturating_sub(idle);
        // 32 bits in the kernel, where a sample of 43 s would wrap.
        self.prev_load = (u64::from(busy) * 100 / u64::from(elapsed)) as u32;
        self.prev_load
    }
}

/// The highest load of the CPUs since the last sample, percent (`dbs_update()`, 5.10 to 7.3). `sampling_rate` in µs,
/// with the multiplier. Nice tasks count as busy (`ignore_nice_load` 0).
pub fn dbs_update(
    cpus: &mut [(Cpu, DbsCpu)],
    now_us: u64,
    sampling_rate: u32,
    io_is_busy: bool,
    view: &dyn View,
) -> u32 {
    let of = |(cpu, dbs): &mut (Cpu, DbsCpu)| dbs.load(now_us, view.idle_time_us(*cpu, io_is_busy), sampling_rate);
    cpus.iter_mut().map(of).max().unwrap_or(0)
}
