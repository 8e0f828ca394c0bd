//! Frequency invariance: the scale of a CPU's frequency, and PELT's clock, which runs by it.

use super::model::ScaleSource;
use crate::ext::ExtState;
use crate::model::Model;
use crate::numbered::PerCpu;
use crate::system::{BOOT_NS, System};
use wakelab_pm::invariance::arch_set_freq_scale;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::{RqClock, SCHED_CAPACITY_SCALE, Scale};

/// All clocks of a run queue at one time. With a multiplier, PELT's run faster from there on.
fn clock_at(time: u64, lshift: u32) -> RqClock {
    RqClock {
        clock: time,
        clock_task: time,
        clock_task_mult: time,
        lshift,
        clock_pelt: time,
        lost_idle_time: 0,
        clock_idle: time,
        clock_pelt_idle: time,
    }
}

/// The run queues' clocks; `None` if they never differ: without governors, on CPUs of one capacity, with PELT's clock
/// at its usual speed.
#[derive(Debug)]
pub struct RqClocks(Option<PerCpu<RqClock>>);

impl RqClocks {
    /// As they are at the start.
    pub fn new(model: &Model<'_>) -> Self {
        let full = model.capacity.iter().all(|&capacity| capacity == SCHED_CAPACITY_SCALE);
        let clock = clock_at(BOOT_NS, model.pelt_lshift);
        let differ = model.pm.is_some() || !full || clock.lshift != 0 || model.irq_accounting;
        RqClocks(differ.then(|| model.capacity.iter().map(|_| clock).collect()))
    }
}

impl System<'_> {
    /// `rq_clock_pelt()` after `update_rq_clock()`, ns. If all CPUs are equal and frequencies do not change it is
    /// `rq_clock_task()`.
    #[inline]
    pub fn clock_pelt(&mut self, cpu: Cpu) -> u64 {
        if self.clocks.0.is_none() {
            return self.clock_task(cpu);
        }
        self.update_rq_clock(cpu);
        self.clocks.0.as_ref().map_or(0, |clocks| clocks[cpu].rq_clock_pelt())
    }

    /// `update_rq_clock()`.
    pub fn update_rq_clock(&mut self, cpu: Cpu) {
        let stolen = self.new_irq_time(cpu);
        let Some(clocks) = &mut self.clocks.0 else { return };
        let freq = self.pm.as_ref().map_or(SCHED_CAPACITY_SCALE, |pm| pm.cpus[cpu].freq_scale);
        let of = &mut clocks[cpu];
        let delta = BOOT_NS + self.now - of.clock;
        let scale = Scale { cpu: self.model.capacity[cpu], freq };
        of.update_rq_clock(delta, stolen.min(delta), self.cpus[cpu].curr_idle, scale);
        if stolen != 0 {
            self.update_irq_avg(cpu, stolen, scale);
        }
    }

    /// The run queue is about to have no task (`update_idle_rq_clock_pelt()`).
    pub fn rq_goes_idle(&mut self, cpu: Cpu) {
        self.update_rq_clock(cpu);
        let others = |cpu: &crate::rt::RtCpu| cpu.rq.avg.util_sum + cpu.dl.avg.util_sum;
        let rt = self.rt.as_ref().map_or(0, |rt| others(&rt.cpus[cpu]));
        if let Some(clocks) = &mut self.clocks.0 {
            clocks[cpu].update_idle_rq_clock_pelt(self.cpus[cpu].pelt.avg.util_sum + rt);
        }
    }

    /// The run queue's clocks as they were last updated.
    pub fn rq_clock(&self, cpu: Cpu) -> RqClock {
        match &self.clocks.0 {
            Some(clocks) => clocks[cpu],
            // At full speed the clocks do not differ, and it does not matter when they were last updated.
            None => clock_at(self.clock_task(cpu), 0),
        }
    }

    /// `arch_scale_freq_tick()`, on a CPU whose tick is not stopped. Without a cycle in C0 since the last tick the
    /// scale stays; on hardware the tick itself takes some.
    pub fn scale_tick(&mut self, cpu: Cpu) {
        let Some(ScaleSource::Counters(ratio)) = self.model.pm.as_ref().map(|model| model.scale) else { return };
        self.settle_counters(cpu);
        let Some(pm) = &mut self.pm else { return };
        let of = &mut pm.cpus[cpu];
        if let Ok(scale) = of.measured.tick(of.counters.values(), &ratio) {
            of.freq_scale = scale;
            tell_ext(&mut self.ext, cpu, scale);
        }
    }

    /// A policy's frequency has changed (`arch_set_freq_scale()`).
    pub fn scale_by_policy(&mut self, n: usize) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        if !matches!(model.scale, ScaleSource::Policy) {
            return;
        }
        let policy = &pm.policies[n].policy;
        let scale = arch_set_freq_scale(policy.cur(), policy.cpuinfo().1);
        for &cpu in policy.cpus() {
            pm.cpus[cpu].freq_scale = scale;
            tell_ext(&mut self.ext, cpu, scale);
        }
    }
}

/// A scheduler of sched_ext may ask for the scale (`scx_bpf_cpuperf_cur()`).
fn tell_ext(ext: &mut Option<Box<ExtState>>, cpu: Cpu, scale: u64) {
    if let Some(state) = ext {
        state.ext.rqs[cpu as usize].freq_capacity = scale as u32;
    }
}
