//! `sugov_update_single_freq()` and `sugov_update_shared()`: updates of policies of one CPU and of several.

use super::get_next_freq::SugovPolicy;
use super::sugov_get_util::SugovCpu;
use super::{BusyHold, SugovRules};
use crate::governor::{Update, View};
use crate::policy::Policy;
use crate::{Cpu, Khz};

/// schedutil on one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sugov {
    /// The version's rules.
    pub rules: SugovRules,
    /// A tick, ns.
    pub tick_ns: u64,
    /// The policy's state.
    pub policy: SugovPolicy,
    pub(super) cpus: Vec<(Cpu, SugovCpu)>,
}

/// The request that `cpufreq_driver_adjust_perf()` passes to a driver, on the capacity scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Perf {
    /// The least to be given.
    pub min: u64,
    /// The wanted performance.
    pub target: u64,
    /// The most to be given (told since 7.3; before, the capacity).
    pub max: u64,
    /// The CPU's capacity.
    pub capacity: u64,
}

impl Sugov {
    /// The governor at its start (`sugov_start()`). `rate_limit_us` is the tunable of that name;
    /// [`cpufreq_policy_transition_delay_us`](crate::policy::cpufreq_policy_transition_delay_us) is its default.
    pub fn new(rules: SugovRules, cpus: &[Cpu], rate_limit_us: u32, tick_ns: u64, driver_needs_limits: bool) -> Sugov {
        let policy = SugovPolicy {
            freq_update_delay_ns: u64::from(rate_limit_us) * 1000,
            need_freq_update: driver_needs_limits,
            driver_needs_limits,
            ..SugovPolicy::default()
        };
        let cpus = cpus.iter().map(|&cpu| (cpu, SugovCpu::default())).collect();
        Sugov { rules, tick_ns, policy, cpus }
    }

    /// The state of a CPU; `None` if the policy does not have it.
    pub fn cpu(&self, cpu: Cpu) -> Option<&SugovCpu> {
        self.cpus.iter().find(|(id, _)| *id == cpu).map(|(_, state)| state)
    }

    /// An update of the policy: that of one CPU or of a shared one, by how many it has. Returns the committed
    /// frequency, kHz, if the driver is to be told. A CPU that the policy does not have changes nothing.
    pub fn update(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz> {
        match self.cpus.len() {
            1 => self.update_single_freq(at, policy, view),
            _ => self.update_shared(at, policy, view),
        }
    }

    /// `sugov_update_single_freq()` (`sugov_update_single()` in 5.3 and 5.10). Returns as [`update`](Self::update).
    pub fn update_single_freq(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz> {
        let cached = self.policy.cached_raw_freq;
        let index = self.update_single_common(at, policy, view)?;
        let (rules, cpu) = (&self.rules, &mut self.cpus[index].1);
        // 5.3 asks before it computes, which clears the flag.
        let limits = self.policy.need_freq_update;
        let (util, max) = (cpu.util, cpu.max);
        let mut next =
            self.policy.get_next_freq(rules, &policy.reference(), util, max, |freq| policy.resolve_freq(freq));
        let held = match rules.busy_hold {
            BusyHold::NotAsked => !limits && cpu.is_busy(view.idle_calls(at.cpu)),
            BusyHold::Ignored => hold_freq(rules, cpu, at, view),
            BusyHold::Overridden => hold_freq(rules, cpu, at, view) && !limits,
        };
        if held && next < self.policy.next_freq {
            next = self.policy.next_freq;
            // What was computed did not become the frequency, so the cache must not say so.
            self.policy.cached_raw_freq = if rules.busy_hold == BusyHold::NotAsked { 0 } else { cached };
        }
        self.policy.update_next_freq(rules, at.now, next).then_some(next)
    }

    /// `sugov_update_single_perf()`: for drivers that are told performance. Only for versions with
    /// [`SugovRules::adjust_perf`] and invariant utilisation; others take
    /// [`update_single_freq`](Self::update_single_freq).
    pub fn update_single_perf(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Perf> {
        let before = self.cpu(at.cpu)?.util;
        let index = self.update_single_common(at, policy, view)?;
        let (rules, cpu) = (&self.rules, &mut self.cpus[index].1);
        if hold_freq(rules, cpu, at, view) && cpu.util < before {
            cpu.util = before;
        }
        self.policy.last_freq_update_time = at.now;
        if rules.dl_needs_update {
            self.policy.need_freq_update = false;
        }
        let headroom = |util| match rules.headroom {
            super::Headroom::InPerf => util,
            super::Headroom::InFreq | super::Headroom::InUtil => wakelab_sched::energy::map_util_perf(util),
        };
        Some(Perf { min: headroom(cpu.bw_min), target: headroom(cpu.util), max: cpu.bw_max, capacity: cpu.max })
    }

    /// `sugov_update_single_common()`: the index of the CPU, if it is time for an update.
    fn update_single_common(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<usize> {
        let index = self.begin(at, view)?;
        if !self.is_time(at, policy) {
            return None;
        }
        let asked = view.asked(&self.rules, at.cpu);
        self.cpus[index].1.get_util(&self.rules, &asked, at.now, self.tick_ns);
        Some(index)
    }

    /// Takes note of the update, whether or not it is time for a frequency.
    pub(super) fn begin(&mut self, at: &Update, view: &dyn View) -> Option<usize> {
        let index = self.cpus.iter().position(|(id, _)| *id == at.cpu)?;
        let cpu = &mut self.cpus[index].1;
        cpu.iowait.raise(at.now, self.tick_ns, at.iowait);
        cpu.iowait.last_update = at.now;
        // ignore_dl_rate_limit(): deadline tasks do not wait for the rate limit.
        if view.bw_dl(at.cpu) > cpu.bw_min {
            match self.rules.dl_needs_update {
                true => self.policy.need_freq_update = true,
                false => self.policy.limits_changed = true,
            }
        }
        Some(index)
    }

    pub(super) fn is_time(&mut self, at: &Update, policy: &Policy) -> bool {
        policy.can_update(at.from) && self.policy.should_update_freq(&self.rules, at.now)
    }
}

/// `sugov_hold_freq()`; before 6.8 the condition of the two single updates.
fn hold_freq(rules: &SugovRules, cpu: &mut SugovCpu, at: &Update, view: &dyn View) -> bool {
    let capped = rules.capped_goes_down && view.capped(at.cpu);
    !capped && cpu.is_busy(view.idle_calls(at.cpu))
}

impl Sugov {
    /// `sugov_update_shared()`: the CPU that asks for most decides for all. Nothing is held here while CPUs are busy.
    /// Returns as [`update`](Self::update).
    pub fn update_shared(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz> {
        let asking = self.begin(at, view)?;
        if !self.is_time(at, policy) {
            return None;
        }
        let next = self.next_freq_shared(asking, at.now, policy, view);
        self.policy.update_next_freq(&self.rules, at.now, next).then_some(next)
    }

    /// `sugov_next_freq_shared()`.
    fn next_freq_shared(&mut self, asking: usize, time: u64, policy: &Policy, view: &dyn View) -> Khz {
        let rules = &self.rules;
        let (mut util, mut max) = (0, 1);
        for (id, cpu) in &mut self.cpus {
            cpu.get_util(rules, &view.asked(rules, *id), time, self.tick_ns);
            let more = match rules.shared_by_ratio {
                true => cpu.util * max > cpu.max * util,
                false => cpu.util > util,
            };
            if more {
                (util, max) = (cpu.util, cpu.max);
            }
        }
        if !rules.shared_by_ratio {
            max = self.cpus[asking].1.max;
        }
        self.policy.get_next_freq(rules, &policy.reference(), util, max, |freq| policy.resolve_freq(freq))
    }
}
