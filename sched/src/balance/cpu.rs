//! What a pass reads of a CPU.

use super::env::LbEnv;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::domain::SchedDomain;

impl<V: BalanceView> LbEnv<'_, V> {
    /// `cpu_util_cfs()`: utilisation with its estimate, at most the CPU's capacity.
    #[inline]
    pub(super) fn cpu_util_cfs(&self, cpu: Cpu) -> u64 {
        let util = self.view.cpu_util_avg(cpu);
        let util = self.view.cpu_util_est(cpu).map_or(util, |est| util.max(est));
        util.min(self.view.arch_scale_cpu_capacity(cpu))
    }

    /// `cpu_util_cfs_boost()`: the same, raised to what is runnable.
    pub(super) fn cpu_util_cfs_boost(&self, cpu: Cpu) -> u64 {
        let util = self.cpu_util_cfs(cpu).max(self.view.cpu_runnable(cpu));
        util.min(self.view.arch_scale_cpu_capacity(cpu))
    }

    /// Tasks of the fair class, as the version counts them.
    #[inline]
    pub(super) fn h_nr_running(&self, cpu: Cpu) -> u32 {
        self.balance.h_nr_running(self.view, cpu)
    }

    /// Whether all other CPUs of the CPU's core are idle (`is_core_idle()`).
    pub(super) fn is_core_idle(&self, cpu: Cpu) -> bool {
        self.balance.is_core_idle(self.view, cpu)
    }

    /// `check_cpu_capacity()`: other classes and interrupts leave noticeably less of the CPU than it has.
    #[inline]
    pub(super) fn check_cpu_capacity(&self, cpu: Cpu) -> bool {
        check_cpu_capacity(self.view, self.sd, cpu)
    }
}

/// `check_cpu_capacity()`.
#[inline]
pub(super) fn check_cpu_capacity<V: BalanceView>(view: &V, sd: &SchedDomain, cpu: Cpu) -> bool {
    view.capacity_of(cpu) * u64::from(sd.imbalance_pct) < view.arch_scale_cpu_capacity(cpu) * 100
}
