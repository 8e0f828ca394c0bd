//! Pushing a running task off its CPU, where waiting ones are not enough.

use super::env::{CpuIdleType, LbEnv, Lbf};
use super::forms::Push;
use super::imbalance::MigrationType;
use super::migrate::{cache_nice_tries, can_migrate_task};
use super::setup::Balance;
use super::state::SdBalance;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::runqueue::TaskId;

/// `need_active_balance()`, for a pass that moved nothing.
pub(super) fn need_active_balance<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    // With ITMT: asym_active_balance() before these.
    let counts = env.balance.rules.push == Push::AnyFailures || env.migration_type == MigrationType::Task;
    let imbalanced = counts && env.nr_balance_failed > cache_nice_tries(env.sd) + 2;
    imbalanced || has_other_reason(env)
}

/// A push does not wait for failures: 5.10's `voluntary_active_balance()`.
pub(super) fn has_other_reason<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    env.migration_type == MigrationType::Misfit || runs_on_reduced_capacity(env)
}

/// The source's only task would have noticeably more of the destination.
fn runs_on_reduced_capacity<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    let view = env.view;
    env.facts.idles()
        && env.h_nr_running(env.src_cpu) == 1
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
/// view need not have the stopper in its `nr_running`. It takes the passes before to have failed, as they most often have;
/// [`active_load_balance_after`] asks.
pub fn active_load_balance<V: BalanceView>(
    view: &V,
    balance: &Balance<'_>,
    busiest: Cpu,
    target: Cpu,
) -> Option<ActiveBalance> {
    push(view, balance, busiest, target, |_| u32::MAX)
}

/// The same by the failures that the destination's domains count: `states` are those of `target`, lowest first. In 5.10 and
/// since 7.2 some tasks are not pushed while there are none.
///
/// # Panics
/// If `states` lacks a domain of `target`.
pub fn active_load_balance_after<V: BalanceView>(
    view: &V,
    balance: &Balance<'_>,
    busiest: Cpu,
    target: Cpu,
    states: &[SdBalance],
) -> Option<ActiveBalance> {
    push(view, balance, busiest, target, |level| states[level].nr_balance_failed)
}

fn push<V: BalanceView>(
    view: &V,
    balance: &Balance<'_>,
    busiest: Cpu,
    target: Cpu,
    failed: impl FnOnce(usize) -> u32,
) -> Option<ActiveBalance> {
    let level = (0..balance.nr_levels(target)).find(|&level| balance.sd(target, level).span.test(busiest))?;
    let mut env = LbEnv::after(view, balance, target, level, CpuIdleType::Idle, failed(level));
    env.src_cpu = busiest;
    env.flags = Lbf::ACTIVE_LB;
    // detach_one_task().
    let task = view.cfs_tasks(busiest).find(|&task| can_migrate_task(&mut env, task))?;
    Some(ActiveBalance { task, level })
}
