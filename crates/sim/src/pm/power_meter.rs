//! Measurements: cycles in C0, time by state, and energy. At the end of a run they become its [`PowerStats`]; on the
//! way a sink receives the mean power of each package at each jiffy.

use super::model::{KindModel, PmModel};
use super::state::{Pm, PmCpu};
use crate::cpu::{CpuState, Doing};
use crate::engine::Sim;
use crate::system::System;
use wakelab_events::sim::{Event, Sink};
use wakelab_pm::invariance::Counters;
use wakelab_pm::power::{CpuStats, DomainStats, PowerStats};
use wakelab_sched::cpumask::Cpu;

impl PmCpu {
    /// Whether APERF and MPERF count: the CPU runs something, or polls.
    fn in_c0(&self, kind: &KindModel) -> bool {
        let polls = || kind.idle.as_ref().is_some_and(|idle| idle[self.idle_state].polling);
        self.runs || (self.active && polls())
    }

    /// The CPU's counters at `now`, ns.
    pub fn counters_at(&self, kind: &KindModel, now: u64) -> Counters {
        let mut counters = self.counters;
        counters.count(now - self.counted, self.in_c0(kind).then_some(self.khz));
        counters
    }

    /// Time in idle states, ns (`get_cpu_idle_time()`). Time in which tasks wait for I/O does not count if
    /// `io_is_busy`.
    pub fn idle_time(&self, now: u64, cpu: &CpuState, io_is_busy: bool) -> u64 {
        let slept = if cpu.doing == Doing::Idle { now - self.idle_since } else { 0 };
        let waits = self.iowait_ns + if cpu.nr_iowait != 0 { slept } else { 0 };
        self.idle_ns + slept - if io_is_busy { waits } else { 0 }
    }

    /// The CPU's power state: busy at an operating point, or in an idle state.
    fn state(&self, kind: &KindModel) -> usize {
        if self.runs { kind.busy(self.khz) } else { kind.nr_opps() + self.idle_state }
    }
}

impl Pm {
    /// A core's power state, which follows from those of its CPUs.
    fn core_state(&self, model: &PmModel, core: usize) -> usize {
        let of = &model.cores[core];
        let kind = model.kind(of.cpus[0]);
        let cpus = of.cpus.iter().map(|&cpu| &self.cpus[cpu]);
        let busy = cpus.clone().filter(|cpu| cpu.runs).count();
        match busy {
            0 => {
                let asked = cpus.map(|cpu| cpu.idle_state).min().unwrap_or(0);
                of.cpus.len() * kind.nr_opps() + self.resolved(model, core, asked)
            }
            busy => (busy - 1) * kind.nr_opps() + kind.busy(self.cpus[of.cpus[0]].khz),
        }
    }
}

impl System<'_> {
    /// Counts a CPU's cycles up to now. It is called before the frequency or the state changes.
    pub fn settle_counters(&mut self, cpu: Cpu) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        let of = &mut pm.cpus[cpu];
        (of.counters, of.counted) = (of.counters_at(model.kind(cpu), self.now), self.now);
    }

    /// A CPU has changed its state or its frequency.
    pub fn power_state_changes(&mut self, cpu: Cpu) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        let kind = model.kind(cpu);
        let of = &mut pm.cpus[cpu];
        let (before, state) = (of.residency.current(), of.state(kind));
        of.residency.enter(self.now, state);
        let deepest = kind.nr_opps() + kind.deepest();
        let awake = |state: usize| state != deepest;
        if awake(before) != awake(state) {
            for &n in &model.shared_of[cpu] {
                let (account, up) = &mut pm.shared[n];
                if awake(state) {
                    *up += 1
                } else {
                    *up -= 1
                }
                account.enter(self.now, usize::from(*up == 0));
            }
        }
        self.core_state_changes(model.core_of[cpu]);
    }

    /// A core may have changed its state.
    pub fn core_state_changes(&mut self, core: usize) {
        let Some(model) = self.pm_model() else { return };
        let Some(pm) = &mut self.pm else { return };
        if !pm.cores.is_empty() {
            let state = pm.core_state(model, core);
            pm.cores[core].enter(self.now, state);
        }
    }

    /// Begins to measure: forgets what was spent up to now.
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
        pm.last_power_event.restart();
    }

    /// A CPU takes an interrupt.
    #[inline]
    pub fn count_interrupt(&mut self, cpu: Cpu) {
        if let Some(pm) = &mut self.pm {
            pm.cpus[cpu].interrupts += 1;
        }
    }
}

/// fJ to nJ, rounded.
fn nj(fj: u128) -> u64 {
    ((fj + 500_000) / 1_000_000) as u64
}

impl System<'_> {
    /// The measurements up to now. Returns `None` without governors.
    pub fn power_stats(&mut self) -> Option<PowerStats> {
        for cpu in 0..self.model.nr_cpus() {
            self.settle_counters(cpu);
        }
        let now = self.now;
        let model = self.pm_model()?;
        let pm = self.pm.as_mut()?;
        let mut cpus = Vec::new();
        for (of, &kind) in pm.cpus.iter_mut().zip(&model.kind_of) {
            of.residency.settle(now);
            let (end, start) = (of.counters.values(), of.start);
            cpus.push(CpuStats {
                kind: kind as u32,
                aperf: end.aperf.wrapping_sub(start.aperf),
                mperf: end.mperf.wrapping_sub(start.mperf),
                tsc: end.tsc.wrapping_sub(start.tsc),
                residency_ns: of.residency.residency_ns().to_vec(),
                idle_wakeups: of.idle_wakeups,
                interrupts: of.interrupts,
            });
        }
        let mut domains = Vec::new();
        for (n, account) in pm.cores.iter_mut().enumerate() {
            account.settle(now);
            domains.push(DomainStats { name: format!("core {n}"), energy_nj: nj(account.total_fj()) });
        }
        for ((account, _), of) in pm.shared.iter_mut().zip(&model.shared) {
            account.settle(now);
            domains.push(DomainStats { name: of.name.clone(), energy_nj: nj(account.total_fj()) });
        }
        Some(PowerStats {
            ns: now - pm.measured_from,
            kinds: model.kinds.iter().map(|kind| kind.stats.clone()).collect(),
            cpus,
            domains,
            transitions: pm.transitions,
        })
    }
}

/// The last event that the sink received.
#[derive(Debug, Default)]
pub struct LastPowerEvent {
    at: u64,
    /// By package, the energy since measuring began, fJ.
    fj: Vec<u128>,
}

impl LastPowerEvent {
    /// The accounts begin again at 0.
    pub fn restart(&mut self) {
        self.fj.fill(0);
    }
}

impl Pm {
    /// By package, the energy of its cores, its clusters and itself up to now, fJ.
    fn package_fj(&mut self, model: &PmModel, now: u64) -> Vec<u128> {
        let mut fj = vec![0; model.nr_packages];
        let cores = self.cores.iter_mut().zip(model.cores.iter().map(|core| core.cpus[0]));
        let shared = self.shared.iter_mut().map(|(account, _)| account);
        let shared = shared.zip(model.shared.iter().map(|domain| domain.cpus[0]));
        for (account, cpu) in cores.chain(shared) {
            account.settle(now);
            fj[model.package_of[cpu]] += account.total_fj();
        }
        fj
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Sends the sink the mean power of each package since the last time.
    pub fn emit_power(&mut self) {
        if !S::INPUTS {
            return;
        }
        let (Some(model), now) = (self.sys.pm_model(), self.sys.now) else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        let since = pm.last_power_event.at;
        if pm.cores.is_empty() || now == since {
            return;
        }
        let fj = pm.package_fj(model, now);
        let before = std::mem::replace(&mut pm.last_power_event, LastPowerEvent { at: now, fj: fj.clone() }).fj;
        for (package, all) in fj.into_iter().enumerate() {
            let spent = all - before.get(package).unwrap_or(&0);
            let uw = (spent / u128::from(now - since)) as u64;
            self.emit(|_| Event::Power { package: package as u32, since, uw });
        }
    }
}
