//! `BalanceView`: the view of the system that load balancing reads.

use super::sched_cache::{CacheGroup, LlcStats};
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedGroup;
use crate::runqueue::TaskId;
use crate::select::{AsymView, EnergyView, GroupView, IdleView, RqView, Uclamp, UtilView};

/// The system as balancing reads it: what placement reads, and the tasks of run queues.
///
/// Of placement's traits balancing reads [`IdleView::idle_cpu`], the run queues ([`RqView`], [`UtilView`]) and the
/// groups ([`GroupView`]), if CPUs differ in capacity what `util_fits_cpu()` reads ([`AsymView`]), and with an energy
/// model [`EnergyView`]. The kernel refreshes the local group's capacity during a pass (`update_group_capacity()`); a
/// view returns the refreshed one.
pub trait BalanceView: IdleView + RqView + AsymView + UtilView + GroupView + EnergyView {
    /// `rq->cfs.h_nr_queued` (`h_nr_running` before 6.12): the number of fair tasks, including those that sleep and are
    /// still queued.
    fn h_nr_running(&self, cpu: Cpu) -> u32;

    /// `rq->cfs_tasks` from the tail, where tasks are taken, to the head, where the running task is. A caller can keep
    /// it as [`CfsTasks`](super::CfsTasks).
    fn cfs_tasks(&self, cpu: Cpu) -> impl Iterator<Item = TaskId>;

    /// `rq_clock_task()` of a CPU, ns, up to date.
    fn rq_clock_task(&self, cpu: Cpu) -> u64;

    /// `rq->active_balance`: its stopper is already about to push the running task.
    fn active_balance(&self, cpu: Cpu) -> bool;

    /// Whether `rq->curr` of `cpu`, of whatever class, may run on `dst`. The idle task may not.
    fn curr_may_run_on(&self, cpu: Cpu, dst: Cpu) -> bool;

    /// `p->cpus_ptr`.
    fn cpus_ptr(&self, task: TaskId) -> &CpuMask;

    /// `task_on_cpu()` (`task_running()` before 6.1): `p->on_cpu`.
    fn task_on_cpu(&self, task: TaskId) -> bool;

    /// `kthread_is_per_cpu()`.
    fn kthread_is_per_cpu(&self, task: TaskId) -> bool;

    /// `task_has_idle_policy()`.
    fn task_has_idle_policy(&self, task: TaskId) -> bool;

    /// Whether the task is the next or the last buddy of its run queue. Called only with CACHE_HOT_BUDDY.
    fn is_buddy(&self, cpu: Cpu, task: TaskId) -> bool;

    /// `p->se.exec_start`, ns.
    fn exec_start(&self, task: TaskId) -> u64;

    /// `task_h_load()`.
    fn task_h_load(&self, task: TaskId) -> u64;

    /// `task_util_est()`: the larger of utilisation and its estimate. With UTIL_EST off the estimate is 0.
    fn task_util_est(&self, task: TaskId) -> u64;

    /// On unequal CPUs: `rq->misfit_task_load`, which
    /// [`update_misfit_status`](super::Balance::update_misfit_status) computes; 0 if there is no misfit task.
    fn misfit_task_load(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// On unequal CPUs: `group->sgc->min_capacity`.
    fn group_min_capacity(&self, _level: usize, group: &SchedGroup) -> u64 {
        group.span.iter().map(|cpu| self.capacity_of(cpu)).min().unwrap_or(0)
    }

    /// On unequal CPUs: the task's utilisation clamps.
    fn task_uclamp(&self, _task: TaskId) -> Uclamp {
        Uclamp::UNUSED
    }

    /// With an energy model: `uclamp_is_used()`. A utilisation clamp has been set since boot, so run queues have clamps
    /// ([`EnergyView::rq_util`]).
    fn uclamp_is_used(&self) -> bool {
        false
    }

    /// `p->se.sched_delayed`, read since 7.2: the task sleeps and is still queued.
    fn sched_delayed(&self, _task: TaskId) -> bool {
        false
    }

    /// The entities on the run queue of the task's group on a CPU (`task_group(p)->cfs_rq[cpu]->nr_queued`); without
    /// groups, the tasks there.
    fn group_nr_queued(&self, cpu: Cpu, task: TaskId) -> u32 {
        let _ = task;
        self.h_nr_running(cpu)
    }

    /// Whether the task's group is throttled, so that the task stays: on either CPU (`throttled_lb_pair()`), since 6.18
    /// on that to which it would move (`lb_throttled_hierarchy()`).
    fn throttled_lb_pair(&self, _src_cpu: Cpu, _dst_cpu: Cpu, _task: TaskId) -> bool {
        false
    }

    /// `entity_eligible()` of a task on the run queue of `cpu`, read since 7.2 with PLACE_LAG.
    fn entity_eligible(&self, _cpu: Cpu, _task: TaskId) -> bool {
        true
    }

    /// `sched_balance_running`, read since 7.2: another CPU makes a pass over a domain with SD_SERIALIZE.
    fn balance_running(&self) -> bool {
        false
    }

    /// `rq->curr->on_rq`, read in 7.3: the running task is not about to sleep.
    fn curr_on_rq(&self, _cpu: Cpu) -> bool {
        true
    }

    /// `rq->curr`, if it is a fair task. Read with cache-aware balancing.
    fn fair_curr(&self, cpu: Cpu) -> Option<TaskId> {
        self.cfs_tasks(cpu).find(|&task| self.task_on_cpu(task))
    }

    /// `task_util()`: the task's utilisation, without the estimate. Read with cache-aware balancing, as what follows.
    fn task_util(&self, task: TaskId) -> u64 {
        self.task_util_est(task)
    }

    /// `p->preferred_llc`, as the `sd_llc_id` of its CPUs.
    fn preferred_llc(&self, _task: TaskId) -> Option<Cpu> {
        None
    }

    /// `p->sched_cache_grp`: the task's process; `None` for a kernel thread.
    fn cache_group(&self, _task: TaskId) -> Option<CacheGroup> {
        None
    }

    /// `sd->llc_counts[llc]` of a CPU: the number of its queued tasks that prefer the LLC of this `sd_llc_id`.
    fn llc_counts(&self, _cpu: Cpu, _llc: Cpu) -> u32 {
        0
    }

    /// Whether some CPU of another LLC may have such a task, so that they are worth counting.
    fn llc_is_preferred(&self, _llc: Cpu) -> bool {
        true
    }

    /// Returns the load of a CPU's LLC in `sd_llc_shared`; `None` if the CPU has no such domain.
    fn llc_stats(&self, _cpu: Cpu) -> Option<LlcStats> {
        None
    }

    /// `sd->llc_bytes` of a CPU's lowest domain; `None` if it has none.
    fn llc_bytes(&self, _cpu: Cpu) -> Option<u64> {
        None
    }

    /// `need_resched()` of a CPU that balances for others: it has a task to switch to.
    fn need_resched(&self, cpu: Cpu) -> bool {
        self.nr_running(cpu) > 0
    }
}
