//! The landscape that a wake-up's energies are worked out on.

use crate::boost::{BoostForm, BoostSite};
use crate::cpumask::Cpu;
use crate::energy::effective::{RqUtil, scale_irq_capacity};
use crate::select::{CpuCapacity, Rules, Uclamp, View, Wakeup};
use crate::util::{CpuSums, Placed, TaskSums};
use wakelab_kernel::Eas;

/// A wake-up on a system.
pub(super) struct Landscape<'a, V> {
    pub(super) rules: &'a Rules<'a>,
    pub(super) wakeup: &'a Wakeup<'a>,
    pub(super) view: &'a V,
    task: TaskSums,
    boost: Option<BoostForm>,
}

/// `struct energy_env`, for one domain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EnergyEnv {
    /// The task's, as of its previous CPU.
    pub(super) task_busy_time: u64,
    /// The domain's without the task.
    pub(super) pd_busy_time: u64,
    /// What pressure leaves of a CPU of the domain.
    pub(super) cpu_cap: u64,
    /// That of all its CPUs.
    pub(super) pd_cap: u64,
}

impl<'a, V: View> Landscape<'a, V> {
    pub(super) fn new(rules: &'a Rules<'a>, wakeup: &'a Wakeup<'a>, view: &'a V) -> Self {
        let wakee = &wakeup.wakee;
        let task = TaskSums {
            util_avg: wakee.util_avg,
            runnable_avg: wakee.runnable_avg,
            util_est: wakee.util_est,
            enqueued: wakee.on_rq || wakee.is_current,
        };
        Landscape { rules, wakeup, view, task, boost: BoostSite::Eas.form(rules.code, rules.features) }
    }

    /// `cpu_util(cpu, p, dst_cpu, 0)`, `cpu_util_next()` before 6.5.
    pub(super) fn cpu_util(&self, cpu: Cpu, dst_cpu: Option<Cpu>) -> u64 {
        self.placed(cpu, dst_cpu, None)
    }

    /// `cpu_util(cpu, p, dst_cpu, 1)`: as the frequency goes by it.
    pub(super) fn cpu_util_boost(&self, cpu: Cpu, dst_cpu: Option<Cpu>) -> u64 {
        self.placed(cpu, dst_cpu, self.boost)
    }

    fn placed(&self, cpu: Cpu, dst_cpu: Option<Cpu>, boost: Option<BoostForm>) -> u64 {
        let view = self.view;
        let sums = CpuSums {
            util_avg: view.cpu_util_avg(cpu),
            runnable_avg: if boost.is_some() { view.cpu_runnable(cpu) } else { 0 },
            util_est: view.cpu_util_est(cpu),
            capacity: view.arch_scale_cpu_capacity(cpu),
        };
        sums.cpu_util(Some((&self.task, Placed::on(cpu, self.wakeup.wakee.prev_cpu, dst_cpu))), boost)
    }

    pub(super) fn uclamp(&self) -> Uclamp {
        self.wakeup.wakee.uclamp
    }

    /// The task's clamps, for the CPU that it would join.
    pub(super) fn joins(&self, cpu: Cpu, dst_cpu: Option<Cpu>) -> Option<Uclamp> {
        (dst_cpu == Some(cpu)).then_some(self.uclamp())
    }

    pub(super) fn rq(&self, cpu: Cpu) -> RqUtil {
        self.view.rq_util(cpu)
    }

    /// What pressure leaves of a CPU: that of the moment, since 6.10 also on average (`get_actual_cpu_capacity()`).
    pub(super) fn cpu_cap(&self, cpu: Cpu) -> u64 {
        let of_cpu = CpuCapacity::of(cpu, self.view);
        match self.rules.code.eas {
            Eas::Margin => of_cpu.capacity_orig,
            Eas::MarginOthers | Eas::EnergyEnv => of_cpu.capacity_orig.wrapping_sub(of_cpu.thermal_pressure),
            Eas::EnergyEnvPerf => of_cpu.actual(),
        }
    }

    /// `eenv_task_busy_time()`.
    pub(super) fn task_busy_time(&self) -> u64 {
        let prev_cpu = self.wakeup.wakee.prev_cpu;
        let (max_cap, irq) = (self.view.arch_scale_cpu_capacity(prev_cpu), self.rq(prev_cpu).irq);
        if irq >= max_cap { max_cap } else { scale_irq_capacity(self.wakeup.wakee.task_util_est(), irq, max_cap) }
    }
}
