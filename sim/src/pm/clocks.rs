//! What the hardware gives of what is asked for: shared clocks, and turbo by the number of active cores.
//!
//! A change acts at once on the work of tasks, which is spread anew. What the kernel does on its own account is short and
//! keeps the speed it began with.

use crate::cpu::Doing;
use crate::engine::Sim;
use wakelab_events::sim::{Event, Sink};
use wakelab_pm::Khz;
use wakelab_sched::cpumask::Cpu;

impl<S: Sink> Sim<'_, '_, S> {
    /// A CPU begins or ceases to be active: to take part in turbo and in the choice of a shared clock.
    pub fn active_changes(&mut self, cpu: Cpu, active: bool) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        if std::mem::replace(&mut pm.cpus[cpu as usize].active, active) == active {
            return;
        }
        let core = model.core_of[cpu as usize];
        let cpus = &mut pm.active_cpus[core];
        let counts = if active {
            *cpus += 1;
            *cpus == 1 && pm.core_wakes(model, core, self.sys.now)
        } else {
            *cpus -= 1;
            *cpus == 0 && self.core_sleeps(core)
        };
        if !(counts && self.active_cores_change(core, active)) {
            self.clock_changes(model.clock_of[cpu as usize]);
        }
    }

    /// A core begins or ceases to count as active. Returns whether turbo's limit changes, and with it the clocks of the package.
    pub fn active_cores_change(&mut self, core: usize, active: bool) -> bool {
        let Some(model) = self.sys.pm_model() else { return false };
        let Some(pm) = &mut self.sys.pm else { return false };
        let package = model.package_of[model.cores[core].cpus[0] as usize];
        let cores = &mut pm.active_cores[package];
        let before = *cores;
        *cores = if active { before + 1 } else { before - 1 };
        let limit = |cores| model.turbo.as_ref().map(|turbo| turbo.limit(cores, false, Khz::MAX));
        if limit(before) == limit(*cores) {
            return false;
        }
        for (clock, of) in model.clocks.iter().enumerate() {
            if of.package == package {
                self.clock_changes(clock);
            }
        }
        true
    }

    /// Gives the CPUs of a clock what it runs at now.
    pub fn clock_changes(&mut self, clock: usize) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &self.sys.pm else { return };
        let of = &model.clocks[clock];
        let asked = |&cpu: &Cpu| pm.policies[model.policy_of[cpu as usize]].policy.cur();
        let active = of.cpus.iter().filter(|&&cpu| pm.cpus[cpu as usize].active);
        // With all idle the clock stands where it is.
        let Some(wanted) = active.map(asked).max() else { return };
        let first = of.cpus[0] as usize;
        let turbo =
            model.turbo.as_ref().map_or(Khz::MAX, |turbo| turbo.limit(pm.active_cores[of.package], false, Khz::MAX));
        let base = if model.side.no_turbo { model.base[first] } else { Khz::MAX };
        let thermal = model.side.thermal_cap.unwrap_or(Khz::MAX);
        let khz = wanted.min(turbo).min(base).min(thermal);
        if khz == pm.cpus[first].khz {
            return;
        }
        for &cpu in &of.cpus {
            self.khz_changes(cpu, khz);
        }
    }

    fn khz_changes(&mut self, cpu: Cpu, khz: Khz) {
        self.sys.settle_counters(cpu);
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        pm.cpus[cpu as usize].khz = khz;
        let dilation = pm.dilation(model, cpu, self.sys.model.capacity[cpu as usize]);
        let c = &self.sys.cpus[cpu as usize];
        if c.doing == Doing::Run && c.curr.is_some() {
            self.account(cpu);
            self.sys.cpus[cpu as usize].dilation = dilation;
            self.spread(cpu);
        } else {
            self.sys.cpus[cpu as usize].dilation = dilation;
        }
        self.sys.power_state_changes(cpu);
        self.tell_all(|_| Event::Frequency { cpu, khz });
    }
}
