//! Tasks that are on too small a CPU, and CPUs that have too much to do, on machines of unequal CPUs.

use super::env::LbEnv;
use super::find_group::SdLbStats;
use super::imbalance::MigrationType;
use super::setup::Balance;
use super::view::BalanceView;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedDomain;
use crate::energy::cpu_overutilized;
use crate::runqueue::TaskId;
use crate::select::{CpuCapacity, Fit, View, util_fits};

impl Balance<'_> {
    /// `task_fits_cpu()`.
    pub(super) fn task_fits_cpu<V: BalanceView>(&self, view: &V, task: TaskId, cpu: Cpu) -> bool {
        let capacity = CpuCapacity::of(cpu, view);
        util_fits(self.rules.util_fits, view.task_util_est(task), view.task_uclamp(task), &capacity) == Fit::Fits
    }

    /// `update_misfit_status()`: what `rq->misfit_task_load` of `cpu` becomes, in the units of load, when `task` is given the
    /// CPU (`pick_next_task_fair()`), at its tick (`task_tick_fair()`), and with `None` when balancing for a CPU that goes idle
    /// begins. 0 says that there is no misfit task.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn update_misfit_status<V: BalanceView>(&self, view: &V, task: Option<TaskId>, cpu: Cpu) -> u64 {
        let Some(task) = task.filter(|_| self.domains.asym_cpucap_active) else { return 0 };
        let allowed = view.cpus_ptr(task);
        let stays = allowed.weight() == 1 || (self.rules.misfit_by_allowed && is_largest_allowed(view, allowed, cpu));
        if stays || self.task_fits_cpu(view, task, cpu) { 0 } else { view.task_h_load(task).max(1) }
    }

    /// `check_misfit_status()`: whether a busy CPU has an idle one balance for its misfit task.
    pub(super) fn check_misfit_status<V: BalanceView>(&self, view: &V, sd: &SchedDomain, cpu: Cpu) -> bool {
        view.misfit_task_load(cpu) != 0
            && (self.rules.misfit_by_allowed
                || self.is_below_largest(view, cpu)
                || super::cpu::check_cpu_capacity(view, sd, cpu))
    }

    /// Whether there is a larger CPU (`rd->max_cpu_capacity`).
    fn is_below_largest<V: View>(&self, view: &V, cpu: Cpu) -> bool {
        let own = view.arch_scale_cpu_capacity(cpu);
        (0..self.domains.nr_cpus).any(|other| view.arch_scale_cpu_capacity(other) > own)
    }

    /// `cpu_overutilized()`, asked with an energy model.
    pub fn cpu_overutilized<V: View>(&self, view: &V, cpu: Cpu) -> bool {
        cpu_overutilized(self.rules.util_fits, view, cpu, self.uclamp_used, self.rules.overutilized_by_min)
    }

    /// `check_update_overutilized_status()` (`update_overutilized_status()` before 6.10): whether the root domain's flag is to
    /// be set, when a task that is not new has been enqueued, and at the tick of a fair task. Never without an energy model.
    pub fn becomes_overutilized<V: View>(&self, view: &V, cpu: Cpu) -> bool {
        self.energy && !view.overutilized() && self.cpu_overutilized(view, cpu)
    }
}

/// `p->max_allowed_capacity`: there is no larger CPU that the task may use.
fn is_largest_allowed<V: View>(view: &V, allowed: &CpuMask, cpu: Cpu) -> bool {
    let largest = allowed.iter().map(|cpu| view.arch_scale_cpu_capacity(cpu)).max();
    largest == Some(view.arch_scale_cpu_capacity(cpu))
}

impl<V: BalanceView> LbEnv<'_, V> {
    /// The pass is for misfit tasks, and says nothing of load that cannot be evened out.
    pub(super) fn is_no_failure(&self) -> bool {
        self.balance.rules.misfit_is_no_failure && self.migration_type == MigrationType::Misfit
    }

    /// What a pass writes to `rd->overutilized` (`update_sd_lb_stats()`).
    pub(super) fn overutilized_flag(&self, sds: &SdLbStats<'_>) -> Option<bool> {
        let writes = self.balance.energy && (self.parent.is_none() || sds.overutilized);
        writes.then_some(sds.overutilized)
    }

    /// `rd->overutilized` once the pass has written it.
    pub(super) fn overutilized_after(&self, sds: &SdLbStats<'_>) -> bool {
        self.overutilized_flag(sds).unwrap_or_else(|| self.view.overutilized())
    }
}
