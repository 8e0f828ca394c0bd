//! When frequency governors are notified (`cpufreq_update_util()`), and when their requests take effect.

use super::clocks::FULL;
use super::model::PmModel;
use super::state::{PmCpu, PolicyState};
use crate::cpu::CpuState;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::numbered::{PerCpu, PerTask};
use crate::rt::RtState;
use crate::system::{BOOT_NS, System};
use crate::task::Task;
use crate::uclamp::UclampState;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::FeatureSet;
use wakelab_pm::Cpu;
use wakelab_pm::governor::{CounterValues, Update, View};
use wakelab_pm::schedutil::CpuUtil;
use wakelab_sched::pelt::{SCHED_CAPACITY_SCALE, Scale};
use wakelab_sched::runqueue::Entities;
use wakelab_sched::select::Uclamp;
use wakelab_sched::util::{CpuView, cpu_util_cfs, cpu_util_cfs_boost};
use wakelab_sched::util_est_faster::{FasterSite, util_est_faster};
use wakelab_scx_core::ext::Ext;

/// The system as governors see it.
struct Seen<'a> {
    model: &'a PmModel,
    capacity: &'a PerCpu<u64>,
    util_est: bool,
    now: u64,
    cpus: &'a PerCpu<CpuState>,
    pm: &'a PerCpu<PmCpu>,
    /// With UTIL_EST_FASTER at this site: the features, entities and tasks.
    faster: Option<(FeatureSet, &'a Entities, &'a PerTask<Task>)>,
    /// Where clamps are used.
    uclamp: Option<&'a UclampState>,
    /// The realtime class, if there is one.
    rt: Option<&'a RtState>,
    /// sched_ext, if it has all tasks (`scx_switched_all()`).
    ext: Option<&'a Ext>,
}

impl Seen<'_> {
    /// UTIL_EST_FASTER; 0 where it is off.
    fn faster(&self, cpu: Cpu) -> u64 {
        let Some((features, es, tasks)) = self.faster else { return 0 };
        let Some(task) = self.cpus[cpu].curr else { return 0 };
        let ran = es[task].sum_exec_runtime.saturating_sub(tasks[task].dur.prev_sum_exec_runtime_vol);
        let scale = Scale { cpu: self.capacity[cpu], freq: self.pm[cpu].freq_scale };
        util_est_faster(features, ran, scale)
    }
}

impl View for Seen<'_> {
    fn util(&self, cpu: Cpu) -> CpuUtil {
        let capacity = self.capacity[cpu];
        let view = CpuView { cpu, avg: &self.cpus[cpu].pelt.avg, capacity };
        let util_cfs = match self.model.runnable_boost {
            true => cpu_util_cfs_boost(&view, self.util_est),
            false => cpu_util_cfs(&view, self.util_est),
        };
        // The estimate and the limit are those of the sum: the largest of three, at most the capacity.
        let util_cfs = match self.ext {
            // scx_cpuperf_target() instead of the fair class's; a scheduler comes without clamps.
            Some(ext) => u64::from(ext.rqs[cpu as usize].cpuperf_target),
            None => util_cfs.max(self.faster(cpu).min(capacity)),
        };
        let uclamp = self.uclamp.map_or(Uclamp::UNUSED, |uclamp| uclamp.rq_uclamp(cpu));
        let fair = CpuUtil { capacity, util_cfs, uclamp, ..CpuUtil::default() };
        let Some(of) = self.rt.map(|rt| &rt.cpus[cpu]) else { return fair };
        CpuUtil {
            rt: of.rq.avg.util_avg,
            rt_runnable: of.rq.nr_running() != 0 && !of.rq.throttled(),
            dl: of.dl.avg.util_avg,
            dl_running_bw: of.dl.running_bw,
            irq: of.irq.avg.util_avg,
            ..fair
        }
    }

    fn capped(&self, cpu: Cpu) -> bool {
        if self.ext.is_some() {
            // sugov_hold_freq() does not hold what a scheduler asks for.
            return true;
        }
        let Some(uclamp) = self.uclamp else { return false };
        let max = uclamp.rq_uclamp(cpu).max;
        let view = CpuView { cpu, avg: &self.cpus[cpu].pelt.avg, capacity: self.capacity[cpu] };
        max != SCHED_CAPACITY_SCALE && cpu_util_cfs(&view, self.util_est) >= max
    }

    fn idle_calls(&self, cpu: Cpu) -> u64 {
        self.pm[cpu].idle_calls
    }

    fn idle_time_us(&self, cpu: Cpu, io_is_busy: bool) -> u64 {
        self.pm[cpu].idle_time(self.now, &self.cpus[cpu], io_is_busy) / 1000
    }

    fn counters(&self, cpu: Cpu) -> CounterValues {
        self.pm[cpu].counters_at(self.model.kind(cpu), self.now).values()
    }
}

impl<'m> System<'m> {
    /// The constant part of power management; `None` without governors.
    #[inline]
    pub fn pm_model(&self) -> Option<&'m PmModel> {
        self.model.pm.as_ref()
    }

    /// `cfs_rq_util_change()`: notifies cpufreq if the averages of a CPU's run queue have `changed`.
    #[inline]
    pub fn util_change(&mut self, cpu: Cpu, changed: bool) {
        if changed {
            self.touch(cpu);
            if self.pm.is_some() {
                self.cpufreq_update_util(cpu, false);
            }
        }
    }

    /// `cpufreq_update_util()`: the governor of the CPU's policy is notified; with `iowait` of a task that has waited
    /// for I/O (SCHED_CPUFREQ_IOWAIT).
    #[inline(never)]
    pub fn cpufreq_update_util(&mut self, cpu: Cpu, iowait: bool) {
        let at = Update { now: BOOT_NS + self.now, cpu, from: self.this_cpu, iowait };
        let policy = self.model.pm.as_ref().expect("as `pm`").policy_of[cpu];
        self.call_governor(policy, |state, seen| state.governor.update(&at, &state.policy, seen));
    }

    /// Calls the governor of a policy, and notes the frequency that it asks for.
    fn call_governor(&mut self, n: usize, ask: impl FnOnce(&mut PolicyState, &Seen<'_>) -> Option<u32>) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        let seen = Seen {
            model,
            capacity: &self.model.capacity,
            util_est: self.model.util_est.is_some(),
            now: self.now,
            cpus: &self.cpus,
            pm: &pm.cpus,
            faster: FasterSite::Freq.is_on(self.model.features).then_some((self.model.features, &self.es, &self.tasks)),
            uclamp: self.uclamp.as_deref().filter(|uclamp| uclamp.is_used()),
            rt: self.rt.as_deref(),
            ext: self.ext.as_ref().map(|state| &state.ext),
        };
        let state = &mut pm.policies[n];
        let Some(khz) = ask(state, &seen) else { return };
        if state.target.replace(khz).is_none() {
            pm.requests.push(n);
            self.requests = true;
        }
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Starts the governors. The frequencies that they ask for at once hold from the start.
    pub fn pm_start(&mut self) {
        let Some(model) = self.sys.pm_model() else { return };
        for n in 0..model.policies.len() {
            self.sys.call_governor(n, |state, seen| {
                let wants = state.governor.start(BOOT_NS, &state.policy, seen);
                let limited = state.governor.limits(&state.policy);
                wants.or(limited)
            });
            self.freq_changes(n);
        }
        self.pm_take_requests();
        for cpu in 0..self.sys.model.nr_cpus() {
            let capacity = self.sys.model.capacity[cpu];
            let dilation = self.sys.pm.as_ref().map(|pm| pm.dilation(model, cpu, capacity));
            self.sys.cpus[cpu].dilation = dilation.unwrap_or(FULL);
            self.cpuidle_selects(cpu);
            if let Some(khz) = self.sys.pm.as_ref().map(|pm| pm.cpus[cpu].khz) {
                self.emit_detail(|_| Event::Frequency { cpu, khz });
            }
        }
        let from = model.side.measured_from;
        if from != 0 {
            self.at(from, TimedEvent::Measure);
        }
    }

    /// Sets the events that have been asked for: frequencies by governors, and timers by groups' bandwidth.
    #[inline]
    pub fn take_requests(&mut self) {
        if self.sys.requests {
            self.take_all_requests();
        }
    }

    fn take_all_requests(&mut self) {
        self.sys.requests = false;
        self.pm_take_requests();
        self.start_cfs_bandwidth_timers();
    }

    fn pm_take_requests(&mut self) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        let requests = std::mem::take(&mut pm.requests);
        for n in requests {
            // A request that has taken effect meanwhile has no target any more.
            if self.sys.pm.as_ref().is_some_and(|pm| pm.policies[n].target.is_some()) {
                self.at(self.sys.now + model.policies[n].latency_ns, TimedEvent::Freq(n as u32));
            }
        }
    }

    /// A policy's frequency has changed to the one that its governor last asked for.
    pub fn freq_changes(&mut self, n: usize) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        let state = &mut pm.policies[n];
        let Some(khz) = state.target.take() else { return };
        if khz != state.policy.cur() {
            pm.transitions += 1;
            state.policy.changed_to(khz);
            self.sys.scale_by_policy(n);
        }
        let cpus = model.policies[n].policy.cpus();
        for (i, &cpu) in cpus.iter().enumerate() {
            let clock = model.clock_of[cpu];
            if !cpus[..i].iter().any(|&before| model.clock_of[before] == clock) {
                self.clock_changes(clock);
            }
        }
    }
}
