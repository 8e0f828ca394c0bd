//! `need_active_balance()` and `active_load_balance_cpu_stop()` (`kernel/sched/fair.c`): pushing a running task off its
//! CPU when moving waiting tasks does not help.
//!
//! ```text
//! need_active_balance():
//!     not if alb_break_llc()                                                    7.2, sched_cache.rs
//!     migrate_task and nr_balance_failed > cache_nice_tries + 2                 imbalanced_active_balance()
//!     migrate_llc_task (7.2)
//!     migrate_misfit, or the source runs one fair task on a reduced capacity    5.10: voluntary_active_balance()
//! active_load_balance_cpu_stop(), run by the stopper of the busiest CPU:
//!     sd = the lowest domain of target_cpu that has busiest_cpu
//!     p  = the first task of busiest for which can_migrate_task() with LBF_ACTIVE_LB    detach_one_task()
//!     sd->nr_balance_failed = 0 if p moves
//! ```

use super::Push;
use super::balancer::Balance;
use super::calculate_imbalance::MigrationType;
use super::can_migrate_task::{cache_nice_tries, can_migrate_task};
use super::lb_env::{CpuIdleType, LbEnv, Lbf};
use super::sd_balance::SdBalance;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::runqueue::TaskId;

/// `need_active_balance()`: whether a pass that moved nothing pushes the running task of the source.
pub(super) fn need_active_balance<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    if env.alb_break_llc() {
        return false;
    }
    // With ITMT, asym_active_balance() would come next.
    let counts = env.balance.rules.push == Push::AnyFailures || env.migration_type == MigrationType::Task;
    let imbalanced = counts && env.nr_balance_failed > cache_nice_tries(env.sd) + 2;
    imbalanced || voluntary_active_balance(env)
}

/// `voluntary_active_balance()` of 5.10, part of `need_active_balance()` since: whether the push does not wait for
/// failures.
pub(super) fn voluntary_active_balance<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    matches!(env.migration_type, MigrationType::Misfit | MigrationType::LlcTask) || src_capacity_is_reduced(env)
}

/// Whether the source's only task would have noticeably more capacity on the idle destination.
fn src_capacity_is_reduced<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    let view = env.view;
    env.params.dst_idle()
        && env.h_nr_running(env.src_cpu) == 1
        && env.check_cpu_capacity(env.src_cpu)
        && view.capacity_of(env.src_cpu) * u64::from(env.sd.imbalance_pct) < view.capacity_of(env.dst_cpu) * 100
}

/// The task that the stopper of the busiest CPU pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveBalance {
    /// The task.
    pub task: TaskId,
    /// The level of the target's domain whose `nr_balance_failed` is reset.
    pub level: usize,
}

/// `active_load_balance_cpu_stop()`: returns the task that moves from `busiest` to `target`, if any. `states` are those
/// of the domains of `target`, lowest first. `for_llc` is [`Plan::active_llc`](super::Plan::active_llc): only a task
/// that prefers the LLC of `target` moves (`active_load_balance_llc_cpu_stop()`, 7.2). In either case the caller then
/// clears `active_balance` of `busiest`.
///
/// It describes the moment at which the stopper has taken the CPU from its task: no task counts as running, and the
/// view need not count the stopper in `nr_running`. In 5.10 and since 7.2, some tasks are not pushed unless passes have
/// failed.
///
/// # Panics
/// If `states` lacks a domain of `target`.
pub fn active_load_balance_cpu_stop<V: BalanceView>(
    view: &V,
    balance: &Balance<'_>,
    busiest: Cpu,
    target: Cpu,
    states: &[SdBalance],
    for_llc: bool,
) -> Option<ActiveBalance> {
    let level = (0..balance.nr_levels(target)).find(|&level| balance.sd(target, level).span.test(busiest))?;
    let env = LbEnv::new(view, balance, target, level, CpuIdleType::Idle, &states[level]);
    let mut env = env.with_source(busiest, MigrationType::Load, for_llc);
    env.flags |= Lbf::ACTIVE_LB;
    // detach_one_task().
    let task = view.cfs_tasks(busiest).find(|&task| can_migrate_task(&mut env, task))?;
    Some(ActiveBalance { task, level })
}
