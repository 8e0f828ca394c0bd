//! `update_misfit_status()`, `check_misfit_status()` and `check_update_overutilized_status()` (`kernel/sched/fair.c`):
//! tasks that do not fit their CPU, and CPUs with too much utilisation, on machines of unequal CPUs.
//!
//! ```text
//! update_misfit_status(p, rq):
//!     equal CPUs, no p, p may run on one CPU only, or on none larger (6.12): misfit_task_load = 0
//!     task_fits_cpu(p, cpu):                                                 misfit_task_load = 0
//!     else:                                                                  misfit_task_load = max(task_h_load(p), 1)
//! ```

use super::balancer::Balance;
use super::lb_env::check_cpu_capacity;
use super::view::BalanceView;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedDomain;
use crate::energy::cpu_overutilized;
use crate::runqueue::TaskId;
use crate::select::{AsymView, CpuCapacity, Fit, util_fits};

impl Balance<'_> {
    /// `task_fits_cpu()`: whether the estimated utilisation of `task` fits `cpu`.
    pub(super) fn task_fits_cpu<V: BalanceView>(&self, view: &V, task: TaskId, cpu: Cpu) -> bool {
        let capacity = CpuCapacity::of(cpu, view);
        util_fits(self.rules.util_fits, view.task_util_est(task), view.task_uclamp(task), &capacity) == Fit::Fits
    }

    /// `update_misfit_status()`: returns the new `rq->misfit_task_load` of `cpu` (1024 is a nice-0 task), 0 if it has
    /// no misfit task. The kernel calls it when `task` is picked (`pick_next_task_fair()`), at its tick
    /// (`task_tick_fair()`), and with `None` at the start of newly idle balancing.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn update_misfit_status<V: BalanceView>(&self, view: &V, task: Option<TaskId>, cpu: Cpu) -> u64 {
        let Some(task) = task.filter(|_| self.domains.asym_cpucap_active) else { return 0 };
        let allowed = view.cpus_ptr(task);
        let stays = allowed.weight() == 1 || (self.rules.misfit_by_allowed && is_largest_allowed(view, allowed, cpu));
        if stays || self.task_fits_cpu(view, task, cpu) { 0 } else { view.task_h_load(task).max(1) }
    }

    /// `check_misfit_status()`: whether a busy CPU kicks an idle one to balance because of its misfit task.
    pub(super) fn check_misfit_status<V: BalanceView>(&self, view: &V, sd: &SchedDomain, cpu: Cpu) -> bool {
        view.misfit_task_load(cpu) != 0
            && (self.rules.misfit_by_allowed || self.is_below_largest(view, cpu) || check_cpu_capacity(view, sd, cpu))
    }

    /// Whether the machine has a larger CPU (`rd->max_cpu_capacity`).
    fn is_below_largest<V: AsymView>(&self, view: &V, cpu: Cpu) -> bool {
        let own = view.arch_scale_cpu_capacity(cpu);
        (0..self.domains.nr_cpus).any(|other| view.arch_scale_cpu_capacity(other) > own)
    }

    /// `cpu_overutilized()`, which matters with an energy model only.
    pub(super) fn cpu_overutilized<V: BalanceView>(&self, view: &V, cpu: Cpu) -> bool {
        cpu_overutilized(self.rules.util_fits, view, cpu, view.uclamp_is_used(), self.rules.overutilized_by_min)
    }

    /// `check_update_overutilized_status()` (`update_overutilized_status()` before 6.10): whether the root domain's
    /// flag is to be set. The kernel calls it when a task that is not new has been enqueued, and at the tick of a fair
    /// task. It returns false without an energy model.
    pub fn becomes_overutilized<V: BalanceView>(&self, view: &V, cpu: Cpu) -> bool {
        self.energy && !view.overutilized() && self.cpu_overutilized(view, cpu)
    }
}

/// `p->max_allowed_capacity`: whether the task may use no CPU larger than `cpu`.
fn is_largest_allowed<V: AsymView>(view: &V, allowed: &CpuMask, cpu: Cpu) -> bool {
    let largest = allowed.iter().map(|cpu| view.arch_scale_cpu_capacity(cpu)).max();
    largest == Some(view.arch_scale_cpu_capacity(cpu))
}
