//! Pushing a running task off its CPU, where waiting ones are not enough.

use super::env::{CpuIdleType, LbEnv};
use super::imbalance::MigrationType;
use super::migrate::cache_nice_tries;
use super::rules::Balance;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::runqueue::TaskId;

/// `need_active_balance()`, for a pass that moved nothing.
pub(super) fn need_active_balance<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    // On unequal CPUs: asym_active_balance() before these, and misfit tasks after them.
    let imbalanced = env.migration_type == MigrationType::Task && env.nr_balance_failed > cache_nice_tries(env.sd) + 2;
    imbalanced || runs_on_reduced_capacity(env)
}

/// The source's only task would have noticeably more of the destination.
fn runs_on_reduced_capacity<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    let view = env.view;
    env.idle != CpuIdleType::NotIdle
        && view.h_nr_running(env.src_cpu) == 1
        && env.check_cpu_capacity(env.src_cpu)
        && view.capacity_of(env.src_cpu) * u64::from(env.sd.imbalance_pct) < view.capacity_of(env.dst_cpu) * 100
}

/// What the stopper of the busiest CPU pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveBalance {
    /// The task.
    pub task: TaskId,
    /// Whose counter of failures starts again: that of the destination's domain at this level.
    pub level: usize,
}

/// `active_load_balance_cpu_stop()`: which task goes from `busiest` to `target`. The caller then clears
/// `active_balance` of `busiest`, whether one is found or not.
///
/// It stands for the moment at which the CPU's stopper has taken the CPU from its task: nothing counts as running, and a
/// view need not have the stopper in its `nr_running`.
pub fn active_load_balance<V: BalanceView>(
    view: &V,
    balance: &Balance<'_>,
    busiest: Cpu,
    target: Cpu,
) -> Option<ActiveBalance> {
    let level = (0..balance.nr_levels(target)).find(|&level| balance.sd(target, level).span.test(busiest))?;
    // detach_one_task(), with LBF_ACTIVE_LB: neither running nor cache-hot tasks are left.
    let task =
        view.cfs_tasks(busiest).find(|&task| !view.kthread_is_per_cpu(task) && view.cpus_ptr(task).test(target))?;
    Some(ActiveBalance { task, level })
}
