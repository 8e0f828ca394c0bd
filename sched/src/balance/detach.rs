//! Which tasks are taken off the busiest run queue (`detach_tasks()`).

use super::env::{CpuIdleType, LbEnv, SCHED_NR_MIGRATE_BREAK};
use super::imbalance::MigrationType;
use super::migrate::can_migrate_task;
use super::view::BalanceView;
use crate::runqueue::TaskId;
use smallvec::SmallVec;
use wakelab_kernel::Feature;

/// `rq->cfs_tasks` of the source while a pass takes tasks from its tail and puts those it leaves at its head.
pub(super) struct Tail<I> {
    /// Those not looked at yet, from the tail.
    fresh: I,
    /// Those put back, in that order: the last one is at the head.
    pub(super) skipped: SmallVec<[TaskId; 8]>,
}

impl<I: Iterator<Item = TaskId>> Tail<I> {
    pub(super) fn new(fresh: I) -> Self {
        Tail { fresh, skipped: SmallVec::new() }
    }

    /// Takes the task at the tail. Once round, those put back come again.
    fn pop(&mut self) -> Option<TaskId> {
        self.fresh.next().or_else(|| (!self.skipped.is_empty()).then(|| self.skipped.remove(0)))
    }
}

/// How a call of `detach_tasks()` ended.
pub(super) enum Detached {
    /// It is done.
    Done,
    /// It has let go of the lock for a moment and goes on (`LBF_NEED_BREAK`).
    Break,
}

/// `detach_tasks()`: gives each task to `take` until the imbalance is gone, or enough tasks were looked at.
pub(super) fn detach_tasks<V: BalanceView>(
    env: &mut LbEnv<'_, V>,
    tail: &mut Tail<impl Iterator<Item = TaskId>>,
    mut take: impl FnMut(TaskId),
) -> Detached {
    if env.imbalance <= 0 || (env.src_nr_running <= 1 && env.balance.rules.last_task_stays) {
        return Detached::Done;
    }
    loop {
        // Taking all would have the other CPU pull it back.
        if env.idle != CpuIdleType::NotIdle && env.src_nr_running <= 1 {
            return Detached::Done;
        }
        env.loops += 1;
        if env.loops > env.loop_max {
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

/// Whether the task is not too much; if so, its share is taken off the imbalance. Failed passes let more be moved.
fn reduces_imbalance<V: BalanceView>(env: &mut LbEnv<'_, V>, task: TaskId) -> bool {
    let share = match env.migration_type {
        MigrationType::Load => {
            let h_load = env.view.task_h_load(task);
            let too_small = env.balance.features.has(Feature::LB_MIN) && h_load < 16 && env.nr_balance_failed == 0;
            // 0 would never bring the loop to an end. Before, the number of tasks did.
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
        MigrationType::Task => 1,
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

/// `shr_bound()`.
fn shr_bound(value: u64, shift: u32) -> u64 {
    value >> shift.min(u64::BITS - 1)
}
