//! `detach_tasks()` (`kernel/sched/fair.c`): which tasks are taken off the busiest run queue.
//!
//! ```text
//! while cfs_tasks is not empty {
//!     if idle and src_rq->nr_running <= 1: break
//!     if ++loop > loop_max: break                     every 32nd: drop the lock, then go on (6.8: not beyond loop_max
//!                                                     while all tasks are pinned; then until each was considered)
//!     p = the task at the tail
//!     if can_migrate_task(p) and
//!         migrate_load:   load = max(task_h_load(p), 1);  load >> nr_balance_failed <= imbalance;   imbalance -= load
//!         migrate_util:   util = task_util_est(p);        util >> nr_balance_failed <= imbalance;   imbalance -= util
//!         migrate_task, migrate_llc_task: imbalance--
//!         migrate_misfit: p does not fit its CPU;         imbalance = 0
//!     then move p, and break if imbalance <= 0 or newly idle with CONFIG_PREEMPTION
//!     else p goes to the head
//! }
//! ```

use super::calculate_imbalance::MigrationType;
use super::can_migrate_task::can_migrate_task;
use super::lb_env::{CpuIdleType, LbEnv, Lbf, SCHED_NR_MIGRATE_BREAK};
use super::view::BalanceView;
use crate::runqueue::TaskId;
use smallvec::SmallVec;
use wakelab_kernel::Feature;

/// `rq->cfs_tasks` of the source during a pass, which takes tasks from the tail and puts those that it skips at the
/// head.
pub(super) struct Tail<I> {
    /// The tasks that have not been considered yet, from the tail.
    fresh: I,
    /// The tasks that were skipped, in that order: the last one is at the head.
    pub(super) skipped: SmallVec<[TaskId; 8]>,
}

impl<I: Iterator<Item = TaskId>> Tail<I> {
    pub(super) fn new(fresh: I) -> Self {
        Tail { fresh, skipped: SmallVec::new() }
    }

    /// Takes the task at the tail. After the last fresh task, the skipped ones come again.
    fn pop(&mut self) -> Option<TaskId> {
        self.fresh.next().or_else(|| (!self.skipped.is_empty()).then(|| self.skipped.remove(0)))
    }
}

/// How a call of `detach_tasks()` ended.
pub(super) enum Detached {
    /// The pass is done with this source.
    Done,
    /// The kernel drops the lock for a moment and calls again (`LBF_NEED_BREAK`).
    Break,
}

/// `detach_tasks()`: passes each task that moves to `take`, until the imbalance is gone or `loop_max` tasks were
/// considered.
pub(super) fn detach_tasks<V: BalanceView>(
    env: &mut LbEnv<'_, V>,
    tail: &mut Tail<impl Iterator<Item = TaskId>>,
    mut take: impl FnMut(TaskId),
) -> Detached {
    if env.imbalance <= 0 || (env.src_nr_running <= 1 && env.balance.rules.last_task_stays) {
        return Detached::Done;
    }
    loop {
        // The last task stays: if the destination took it, the source would pull it back.
        if env.idle != CpuIdleType::NotIdle && env.src_nr_running <= 1 {
            return Detached::Done;
        }
        env.loops += 1;
        if env.loops > env.loop_max && !(env.balance.rules.pinned_extend && env.flags.contains(Lbf::ALL_PINNED)) {
            return Detached::Done;
        }
        if env.loops > env.loop_break {
            env.loop_break += SCHED_NR_MIGRATE_BREAK;
            return Detached::Break;
        }
        let Some(task) = tail.pop() else { return Detached::Done };
        if !can_migrate_task(env, task) || !reduces_imbalance(env, task) {
            tail.skipped.push(task);
            continue;
        }
        env.src_nr_running -= 1;
        take(task);
        let only_one = env.balance.tunables.preemption && env.idle == CpuIdleType::NewlyIdle;
        if only_one || env.imbalance <= 0 {
            return Detached::Done;
        }
    }
}

/// Whether the task is not too large for the imbalance. If so, subtracts its share. Each failed pass doubles the size
/// that may move.
fn reduces_imbalance<V: BalanceView>(env: &mut LbEnv<'_, V>, task: TaskId) -> bool {
    let share = match env.migration_type {
        MigrationType::Load => {
            let h_load = env.view.task_h_load(task);
            let too_small = env.balance.features.has(Feature::LB_MIN) && h_load < 16 && env.nr_balance_failed == 0;
            // A load of 0 would never end the loop. Up to 5.4 the number of tasks ended it.
            let (load, shift) =
                if env.balance.rules.by_load { (h_load, 1) } else { (h_load.max(1), env.nr_balance_failed) };
            if too_small || shr_bound(load, shift) > env.imbalance as u64 {
                return false;
            }
            load
        }
        MigrationType::Util => {
            let util = env.view.task_util_est(task);
            let shift = if env.balance.rules.util_relaxed { env.nr_balance_failed } else { 0 };
            if shr_bound(util, shift) > env.imbalance as u64 {
                return false;
            }
            util
        }
        MigrationType::Task | MigrationType::LlcTask => 1,
        MigrationType::Misfit => {
            let fits = env.balance.task_fits_cpu(env.view, task, env.src_cpu);
            if !fits {
                env.imbalance = 0;
            }
            return !fits;
        }
    };
    env.imbalance -= share as i64;
    true
}

/// `shr_bound()`: shifts by at most 63.
fn shr_bound(value: u64, shift: u32) -> u64 {
    value >> shift.min(u64::BITS - 1)
}
