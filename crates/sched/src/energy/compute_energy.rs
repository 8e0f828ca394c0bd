//! `compute_energy()` (`kernel/sched/fair.c`): the energy that a performance domain would spend with the wakee on one
//! of its CPUs, or on none of them.
//!
//! Since 6.1 the busy time of the domain is computed once (`struct energy_env`):
//!
//! ```text
//! pd_busy_time   = min(sum over the domain's CPUs of effective_cpu_util(util without the task), pd_cap)
//! task_busy_time = task_util_est * (max_cap - irq) / max_cap         both of the previous CPU
//! compute_energy(dst_cpu):
//!     max_util  = min(max over the CPUs of sugov_effective_cpu_perf(util with the task on dst_cpu), cpu_cap)
//!     busy_time = min(pd_busy_time + task_busy_time, pd_cap)         pd_busy_time if dst_cpu is none
//!     return em_cpu_energy(pd, max_util, busy_time, cpu_cap)
//! ```
//!
//! 5.10 and 5.18 add up the busy times of all CPUs with the task on `dst_cpu` in each call.

use super::effective_cpu_util::{
    CpuUtilType, EffectiveUtil, RqUtil, effective_cpu_util, effective_cpu_util_of_type, scale_irq_capacity,
    sugov_effective_cpu_perf,
};
use super::em_perf_domain::EmPerfDomain;
use crate::boost::{BoostForm, BoostSite};
use crate::cpumask::Cpu;
use crate::select::{CpuCapacity, Rules, Uclamp, View, Wakeup};
use crate::util::{CpuSums, Placed, TaskSums};
use wakelab_kernel::Eas;

/// `compute_energy()`: returns what the CPUs of `pd` would spend with the wakee on `dst_cpu`, or on none of them if
/// `dst_cpu` is `None` or outside the domain. The unit is that of [`EmPerfDomain::em_cpu_energy`].
///
/// The kernel passes a CPU of the domain or none. In versions with `struct energy_env` any CPU adds the task's busy
/// time.
pub fn compute_energy<V: View>(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    view: &V,
    pd: &EmPerfDomain,
    dst_cpu: Option<Cpu>,
) -> u64 {
    let feec = Feec::new(rules, wakeup, view);
    let env = feec.energy_env(pd, feec.task_busy_time());
    feec.compute_energy(&env, pd, dst_cpu)
}

/// A call of `find_energy_efficient_cpu()`: one wake-up on one system.
pub(super) struct Feec<'a, V> {
    pub(super) rules: &'a Rules<'a>,
    pub(super) wakeup: &'a Wakeup<'a>,
    pub(super) view: &'a V,
    task: TaskSums,
    boost: Option<BoostForm>,
}

/// `struct energy_env` for one domain, on the capacity scale.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EnergyEnv {
    /// Busy time of the task, scaled by the interrupts of its previous CPU.
    pub(super) task_busy_time: u64,
    /// Busy time of the domain without the task.
    pub(super) pd_busy_time: u64,
    /// Capacity that pressure leaves of one CPU of the domain.
    pub(super) cpu_cap: u64,
    /// Capacity that pressure leaves of all its CPUs.
    pub(super) pd_cap: u64,
}

impl<'a, V: View> Feec<'a, V> {
    pub(super) fn new(rules: &'a Rules<'a>, wakeup: &'a Wakeup<'a>, view: &'a V) -> Self {
        let wakee = &wakeup.wakee;
        let task = TaskSums {
            util_avg: wakee.util_avg,
            runnable_avg: wakee.runnable_avg,
            util_est: wakee.util_est,
            enqueued: wakee.on_rq || wakee.is_current,
        };
        Feec { rules, wakeup, view, task, boost: BoostSite::Eas.form(rules.code, rules.features) }
    }

    /// Fills in the environment of a domain, in versions with `struct energy_env` including its busy time
    /// (`eenv_pd_busy_time()`).
    pub(super) fn energy_env(&self, pd: &EmPerfDomain, task_busy_time: u64) -> EnergyEnv {
        let cpu_cap = pd.cpus.first().map_or(0, |cpu| self.cpu_cap(cpu));
        let pd_cap = cpu_cap.wrapping_mul(u64::from(pd.cpus.weight()));
        let mut env = EnergyEnv { task_busy_time, pd_busy_time: 0, cpu_cap, pd_cap };
        if !matches!(self.rules.code.eas, Eas::Margin | Eas::MarginOthers) {
            let busy = pd.cpus.iter().map(|cpu| self.busy_time(cpu, pd.scale_cpu, self.cpu_util(cpu, None)));
            env.pd_busy_time = busy.sum::<u64>().min(pd_cap);
        }
        env
    }

    /// `eenv_task_busy_time()`.
    pub(super) fn task_busy_time(&self) -> u64 {
        let prev_cpu = self.wakeup.wakee.prev_cpu;
        let (max_cap, irq) = (self.view.arch_scale_cpu_capacity(prev_cpu), self.rq(prev_cpu).irq);
        if irq >= max_cap { max_cap } else { scale_irq_capacity(self.wakeup.wakee.task_util_est(), irq, max_cap) }
    }

    pub(super) fn compute_energy(&self, env: &EnergyEnv, pd: &EmPerfDomain, dst_cpu: Option<Cpu>) -> u64 {
        let max_util = self.max_util(env, pd, dst_cpu);
        let busy_time = match self.rules.code.eas {
            Eas::Margin | Eas::MarginOthers => self.busy_time_with(env, pd, dst_cpu),
            Eas::EnergyEnv | Eas::EnergyEnvPerfThermal | Eas::EnergyEnvPerf if dst_cpu.is_some() => {
                env.pd_cap.min(env.pd_busy_time + env.task_busy_time)
            }
            Eas::EnergyEnv | Eas::EnergyEnvPerfThermal | Eas::EnergyEnvPerf => env.pd_busy_time,
        };
        pd.em_cpu_energy(max_util, busy_time, env.cpu_cap)
    }

    /// The time that the CPU is busy with a utilisation of `util`. Clamps change only the frequency, not this.
    fn busy_time(&self, cpu: Cpu, scale: u64, util: u64) -> u64 {
        let rq = self.rq(cpu);
        match self.rules.code.eas {
            Eas::EnergyEnvPerfThermal | Eas::EnergyEnvPerf => {
                effective_cpu_util(util, scale, &rq, self.uclamp().used).util
            }
            _ => effective_cpu_util_of_type(CpuUtilType::Energy, util, scale, &rq, self.uclamp().used, None),
        }
    }

    /// The domain's busy time with the task on `dst_cpu`, as 5.10 and 5.18 compute it.
    fn busy_time_with(&self, env: &EnergyEnv, pd: &EmPerfDomain, dst_cpu: Option<Cpu>) -> u64 {
        let of_cpu = |cpu| match self.rules.code.eas {
            Eas::Margin => self.busy_time(cpu, pd.scale_cpu, self.cpu_util(cpu, dst_cpu)),
            // cpu_util_next() is a maximum of two sums, so the task's share is added to the CPU's utilisation without
            // it.
            _ if dst_cpu == Some(cpu) => {
                let util = self.cpu_util(cpu, None) + self.wakeup.wakee.task_util_est();
                self.busy_time(cpu, pd.scale_cpu, util).min(env.cpu_cap)
            }
            _ => self.busy_time(cpu, pd.scale_cpu, self.cpu_util(cpu, dst_cpu)).min(env.cpu_cap),
        };
        pd.cpus.iter().map(of_cpu).sum()
    }

    /// `eenv_pd_max_util()`: the utilisation that determines the domain's frequency.
    fn max_util(&self, env: &EnergyEnv, pd: &EmPerfDomain, dst_cpu: Option<Cpu>) -> u64 {
        let max = pd.cpus.iter().map(|cpu| self.frequency_util(cpu, pd.scale_cpu, dst_cpu)).max().unwrap_or(0);
        if self.rules.code.eas == Eas::Margin { max } else { max.min(env.cpu_cap) }
    }

    fn frequency_util(&self, cpu: Cpu, scale: u64, dst_cpu: Option<Cpu>) -> u64 {
        let (util, rq, used) = (self.cpu_util_boost(cpu, dst_cpu), self.rq(cpu), self.uclamp().used);
        let joins = self.joins(cpu, dst_cpu);
        if !matches!(self.rules.code.eas, Eas::EnergyEnvPerfThermal | Eas::EnergyEnvPerf) {
            return effective_cpu_util_of_type(CpuUtilType::Frequency, util, scale, &rq, used, joins);
        }
        let EffectiveUtil { util, mut min, mut max } = effective_cpu_util(util, scale, &rq, used);
        if let Some(task) = joins.filter(|_| used) {
            min = min.max(task.min);
            max = if rq.uclamp_idle { task.max } else { max.max(task.max) };
        }
        sugov_effective_cpu_perf(util, min, max)
    }

    /// `cpu_util(cpu, p, dst_cpu, 0)`, before 6.5 `cpu_util_next()`.
    pub(super) fn cpu_util(&self, cpu: Cpu, dst_cpu: Option<Cpu>) -> u64 {
        self.cpu_util_with(cpu, dst_cpu, None)
    }

    /// `cpu_util(cpu, p, dst_cpu, 1)`: the utilisation that the frequency follows.
    fn cpu_util_boost(&self, cpu: Cpu, dst_cpu: Option<Cpu>) -> u64 {
        self.cpu_util_with(cpu, dst_cpu, self.boost)
    }

    fn cpu_util_with(&self, cpu: Cpu, dst_cpu: Option<Cpu>, boost: Option<BoostForm>) -> u64 {
        let view = self.view;
        let sums = CpuSums {
            util_avg: view.cpu_util_avg(cpu),
            runnable_avg: if boost.is_some() { view.cpu_runnable(cpu) } else { 0 },
            util_est: view.cpu_util_est(cpu),
            capacity: view.arch_scale_cpu_capacity(cpu),
        };
        sums.cpu_util(Some((&self.task, Placed::on(cpu, self.wakeup.wakee.prev_cpu, dst_cpu))), boost)
    }

    /// The task's clamps.
    pub(super) fn uclamp(&self) -> Uclamp {
        self.wakeup.wakee.uclamp
    }

    /// The task's clamps if `cpu` is where it would go.
    fn joins(&self, cpu: Cpu, dst_cpu: Option<Cpu>) -> Option<Uclamp> {
        (dst_cpu == Some(cpu)).then_some(self.uclamp())
    }

    pub(super) fn rq(&self, cpu: Cpu) -> RqUtil {
        self.view.rq_util(cpu)
    }

    /// The capacity that pressure leaves of a CPU: by the present pressure, since 6.10 also by its average
    /// (`get_actual_cpu_capacity()`).
    fn cpu_cap(&self, cpu: Cpu) -> u64 {
        let of_cpu = CpuCapacity::of(cpu, self.view);
        match self.rules.code.eas {
            Eas::Margin => of_cpu.capacity_orig,
            Eas::MarginOthers | Eas::EnergyEnv | Eas::EnergyEnvPerfThermal => {
                of_cpu.capacity_orig.wrapping_sub(of_cpu.thermal_pressure)
            }
            Eas::EnergyEnvPerf => of_cpu.actual(),
        }
    }
}
