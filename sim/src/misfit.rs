//! The kernel's state of CPUs with unequal capacities: misfit tasks, overutilized CPUs, and the limit of searches by
//! capacity.

use crate::engine::Sim;
use crate::system::System;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{AsymView, UtilView};

impl System<'_> {
    /// `update_misfit_status()`: when a task gets the CPU, at its tick, and with `None` when the CPU is about to go
    /// idle.
    #[inline]
    pub fn update_misfit(&mut self, cpu: Cpu, task: Option<TaskId>) {
        let model = self.model;
        if model.domains.asym_cpucap_active {
            self.cpus[cpu as usize].misfit_task_load = model.balance.update_misfit_status(self, task, cpu);
        }
    }

    /// `check_update_overutilized_status()`.
    #[inline]
    pub fn check_overutilized(&mut self, cpu: Cpu) {
        let model = self.model;
        self.overutilized |= model.balance.becomes_overutilized(self, cpu);
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// `update_idle_cpu_scan()` of the domain with all capacities (7.2), if a pass was over that domain.
    pub fn update_asym_idle_scan(&mut self, cpu: Cpu, level: usize) {
        let model = self.sys.model;
        if model.domains.sd_asym_cpucapacity(cpu) != Some(level as u32) {
            return;
        }
        let Some(rules) = model.idle_scan else { return };
        let sd = model.balance.sd(cpu, level);
        let util_of = |cpu: Cpu| {
            let util = self.sys.cpu_util_avg(cpu).max(self.sys.cpu_util_est(cpu).unwrap_or(0));
            util.min(self.sys.arch_scale_cpu_capacity(cpu))
        };
        let sum_util = sd.span.iter().map(util_of).sum();
        let nr_idle_scan = rules.nr_idle_scan(sum_util, sd.span_weight, sd.imbalance_pct);
        if self.sys.asym_nr_idle_scan != nr_idle_scan {
            self.change_seen_by_searches(
                model.searches_of[cpu as usize],
                |_| true,
                |slot, _, _| slot.select.before_scan(),
                |sys| sys.asym_nr_idle_scan = nr_idle_scan,
            );
        }
    }
}
