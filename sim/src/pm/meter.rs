//! What is counted: cycles in C0, time by state, and with it energy.

use super::model::{KindModel, PmModel};
use super::state::{Pm, PmCpu};
use crate::cpu::{CpuState, Doing};
use crate::system::System;
use wakelab_pm::invariance::Counters;
use wakelab_sched::cpumask::Cpu;

impl PmCpu {
    /// APERF and MPERF count: it runs something, or polls.
    fn in_c0(&self, kind: &KindModel) -> bool {
        let polls = || kind.idle.as_ref().is_some_and(|idle| idle[self.idle_state].polling);
        self.runs || (self.active && polls())
    }

    /// Its counters at a moment.
    pub fn counters_at(&self, kind: &KindModel, now: u64) -> Counters {
        let mut counters = self.counters;
        counters.count(now - self.counted, self.in_c0(kind).then_some(self.khz));
        counters
    }

    /// Time in idle states, ns (`get_cpu_idle_time()`): that in which tasks wait for I/O is none of it if `io_is_busy`.
    pub fn idle_time(&self, now: u64, cpu: &CpuState, io_is_busy: bool) -> u64 {
        let slept = if cpu.doing == Doing::Idle { now - self.idle_since } else { 0 };
        let waits = self.iowait_ns + if cpu.nr_iowait != 0 { slept } else { 0 };
        self.idle_ns + slept - if io_is_busy { waits } else { 0 }
    }

    /// The state that it is in: busy at an operating point, or idle.
    fn state(&self, kind: &KindModel) -> usize {
        if self.runs { kind.busy(self.khz) } else { kind.nr_opps() + self.idle_state }
    }
}

impl Pm {
    /// A core's state, by those of its CPUs.
    fn core_state(&self, model: &PmModel, core: usize) -> usize {
        let of = &model.cores[core];
        let kind = model.kind(of.cpus[0]);
        let cpus = of.cpus.iter().map(|&cpu| &self.cpus[cpu as usize]);
        let busy = cpus.clone().filter(|cpu| cpu.runs).count();
        match busy {
            0 => {
                let asked = cpus.map(|cpu| cpu.idle_state).min().unwrap_or(0);
                of.cpus.len() * kind.nr_opps() + self.resolved(model, core, asked)
            }
            busy => (busy - 1) * kind.nr_opps() + kind.busy(self.cpus[of.cpus[0] as usize].khz),
        }
    }
}

impl System<'_> {
    /// Lets a CPU's counters count up to now, before what they count changes.
    pub fn settle_counters(&mut self, cpu: Cpu) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        let of = &mut pm.cpus[cpu as usize];
        (of.counters, of.counted) = (of.counters_at(model.kind(cpu), self.now), self.now);
    }

    /// A CPU has come to another state, or another frequency.
    pub fn power_state_changes(&mut self, cpu: Cpu) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        let kind = model.kind(cpu);
        let of = &mut pm.cpus[cpu as usize];
        let (before, state) = (of.residency.current(), of.state(kind));
        of.residency.enter(self.now, state);
        let deepest = kind.nr_opps() + kind.deepest();
        let awake = |state: usize| state != deepest;
        if awake(before) != awake(state) {
            for &n in &model.shared_of[cpu as usize] {
                let (account, up) = &mut pm.shared[n];
                if awake(state) {
                    *up += 1
                } else {
                    *up -= 1
                }
                account.enter(self.now, usize::from(*up == 0));
            }
        }
        self.core_state_changes(model.core_of[cpu as usize]);
    }

    /// A core has come to another state.
    pub fn core_state_changes(&mut self, core: usize) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        if !pm.cores.is_empty() {
            let state = pm.core_state(model, core);
            pm.cores[core].enter(self.now, state);
        }
    }

    /// What was spent up to now does not count: measuring begins.
    pub fn measure_power(&mut self) {
        for cpu in 0..self.model.nr_cpus() {
            self.settle_counters(cpu);
        }
        let now = self.now;
        let Some(pm) = &mut self.pm else { return };
        for of in &mut pm.cpus {
            of.residency.restart(now);
            of.start = of.counters.values();
            (of.idle_wakeups, of.interrupts) = (0, 0);
        }
        pm.cores.iter_mut().for_each(|account| account.restart(now));
        pm.shared.iter_mut().for_each(|(account, _)| account.restart(now));
        (pm.transitions, pm.measured_from) = (0, now);
        pm.told.restart();
    }

    /// A CPU takes an interrupt.
    #[inline]
    pub fn count_interrupt(&mut self, cpu: Cpu) {
        if let Some(pm) = &mut self.pm {
            pm.cpus[cpu as usize].interrupts += 1;
        }
    }
}
