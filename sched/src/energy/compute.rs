//! What a domain would spend with the task on one of its CPUs, or on none (`compute_energy()`).

use super::effective::{
    CpuUtilType, EffectiveUtil, effective_cpu_util, effective_cpu_util_of_type, sugov_effective_cpu_perf,
};
use super::env::{EnergyEnv, Landscape};
use super::perf_domain::EmPerfDomain;
use crate::cpumask::Cpu;
use crate::select::{Rules, View, Wakeup};
use wakelab_kernel::Eas;

/// `compute_energy()`: what the CPUs of `pd` would spend with the wakee on `dst_cpu`, or on none of them if that is `None` or
/// elsewhere. The unit is that of [`EmPerfDomain::em_cpu_energy`].
///
/// The kernel's callers give a CPU of the domain or none. In versions with `struct energy_env` any CPU given adds the task's
/// busy time.
pub fn compute_energy<V: View>(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    view: &V,
    pd: &EmPerfDomain,
    dst_cpu: Option<Cpu>,
) -> u64 {
    let land = Landscape::new(rules, wakeup, view);
    let env = land.env(pd, land.task_busy_time());
    land.compute_energy(&env, pd, dst_cpu)
}

impl<V: View> Landscape<'_, V> {
    /// The environment of a domain, with its busy time (`eenv_pd_busy_time()`) where the version takes it once.
    pub(super) fn env(&self, pd: &EmPerfDomain, task_busy_time: u64) -> EnergyEnv {
        let cpu_cap = pd.cpus.first().map_or(0, |cpu| self.cpu_cap(cpu));
        let pd_cap = cpu_cap.wrapping_mul(u64::from(pd.cpus.weight()));
        let mut env = EnergyEnv { task_busy_time, pd_busy_time: 0, cpu_cap, pd_cap };
        if matches!(self.rules.code.eas, Eas::EnergyEnv | Eas::EnergyEnvPerf) {
            let busy = pd.cpus.iter().map(|cpu| self.busy_time(cpu, pd.scale_cpu, self.cpu_util(cpu, None)));
            env.pd_busy_time = busy.sum::<u64>().min(pd_cap);
        }
        env
    }

    pub(super) fn compute_energy(&self, env: &EnergyEnv, pd: &EmPerfDomain, dst_cpu: Option<Cpu>) -> u64 {
        let max_util = self.max_util(env, pd, dst_cpu);
        let busy_time = match self.rules.code.eas {
            Eas::Margin | Eas::MarginOthers => self.busy_time_with(env, pd, dst_cpu),
            Eas::EnergyEnv | Eas::EnergyEnvPerf if dst_cpu.is_some() => {
                env.pd_cap.min(env.pd_busy_time + env.task_busy_time)
            }
            Eas::EnergyEnv | Eas::EnergyEnvPerf => env.pd_busy_time,
        };
        pd.em_cpu_energy(max_util, busy_time, env.cpu_cap)
    }

    /// The time that a CPU is busy, whatever is clamped.
    fn busy_time(&self, cpu: Cpu, scale: u64, util: u64) -> u64 {
        let rq = self.rq(cpu);
        match self.rules.code.eas {
            Eas::EnergyEnvPerf => effective_cpu_util(util, scale, &rq, self.uclamp().used).util,
            _ => effective_cpu_util_of_type(CpuUtilType::Energy, util, scale, &rq, self.uclamp().used, None),
        }
    }

    /// The domain's busy time with the task, up to 5.18.
    fn busy_time_with(&self, env: &EnergyEnv, pd: &EmPerfDomain, dst_cpu: Option<Cpu>) -> u64 {
        let of_cpu = |cpu| match self.rules.code.eas {
            Eas::Margin => self.busy_time(cpu, pd.scale_cpu, self.cpu_util(cpu, dst_cpu)),
            // The larger of two sums is no sum of the larger ones: the task's own share is added by itself.
            _ if dst_cpu == Some(cpu) => {
                let util = self.cpu_util(cpu, None) + self.wakeup.wakee.task_util_est();
                self.busy_time(cpu, pd.scale_cpu, util).min(env.cpu_cap)
            }
            _ => self.busy_time(cpu, pd.scale_cpu, self.cpu_util(cpu, dst_cpu)).min(env.cpu_cap),
        };
        pd.cpus.iter().map(of_cpu).sum()
    }

    /// `eenv_pd_max_util()`: what the domain's frequency has to be enough for.
    fn max_util(&self, env: &EnergyEnv, pd: &EmPerfDomain, dst_cpu: Option<Cpu>) -> u64 {
        let max = pd.cpus.iter().map(|cpu| self.frequency_util(cpu, pd.scale_cpu, dst_cpu)).max().unwrap_or(0);
        if self.rules.code.eas == Eas::Margin { max } else { max.min(env.cpu_cap) }
    }

    fn frequency_util(&self, cpu: Cpu, scale: u64, dst_cpu: Option<Cpu>) -> u64 {
        let (util, rq, used) = (self.cpu_util_boost(cpu, dst_cpu), self.rq(cpu), self.uclamp().used);
        let joins = self.joins(cpu, dst_cpu);
        if self.rules.code.eas != Eas::EnergyEnvPerf {
            return effective_cpu_util_of_type(CpuUtilType::Frequency, util, scale, &rq, used, joins);
        }
        let EffectiveUtil { util, mut min, mut max } = effective_cpu_util(util, scale, &rq, used);
        if let Some(task) = joins.filter(|_| used) {
            min = min.max(task.min);
            max = if rq.uclamp_idle { task.max } else { max.max(task.max) };
        }
        sugov_effective_cpu_perf(util, min, max)
    }
}
