//! `can_migrate_task()` and `task_hot()` (`kernel/sched/fair.c`): whether a pass may move a task.
//!
//! ```text
//! p is delayed and the pass does not move load                                         -> no   (7.2)
//! p is ineligible, would not be alone there, and no pass has failed                    -> no   (7.2, PLACE_LAG)
//! p is a per-CPU kernel thread                                                         -> no
//! p may not run on dst_cpu: LBF_SOME_PINNED, new_dst_cpu = another CPU of the group    -> no
//! LBF_ACTIVE_LB                                                        -> yes, but see migrate_llc_task_wrong_dst()
//! p is running                                                                         -> no
//! p stays for its LLC: migrate_degrades_llc()                                          -> no   (7.2)
//! nr_balance_failed > cache_nice_tries or not task_hot(p)                              -> yes
//! ```

use super::Push;
use super::calculate_imbalance::MigrationType;
use super::lb_env::{CpuIdleType, LbEnv, Lbf};
use super::view::BalanceView;
use crate::domain::{SchedDomain, SdFlags};
use crate::runqueue::TaskId;
use wakelab_kernel::Feature;

/// `sd->cache_nice_tries` (`sd_init()`): returns the number of passes that may fail before cache-hot tasks are moved.
pub(super) fn cache_nice_tries(sd: &SchedDomain) -> u32 {
    if sd.flags.contains(SdFlags::SHARE_CPUCAPACITY) {
        0
    } else if sd.flags.contains(SdFlags::SHARE_LLC) {
        1
    } else if sd.flags.contains(SdFlags::NUMA) {
        2
    } else {
        1
    }
}

/// `can_migrate_task()`: whether `task` may be moved to `env.dst_cpu`. For a pinned task, it records the pass's flags
/// and another CPU of the group on which the task may run.
pub(super) fn can_migrate_task<V: BalanceView>(env: &mut LbEnv<'_, V>, task: TaskId) -> bool {
    let view = env.view;
    if env.balance.rules.delayed_only_with_load && env.migration_type != MigrationType::Load && view.sched_delayed(task)
    {
        return false;
    }
    if view.throttled_lb_pair(env.src_cpu, env.dst_cpu, task) {
        return false;
    }
    if env.nr_balance_failed == 0 && task_is_ineligible_on_dst_cpu(env, task) {
        return false;
    }
    if env.balance.rules.kthreads_passed_over && view.kthread_is_per_cpu(task) {
        return false;
    }
    let cpus_ptr = view.cpus_ptr(task);
    if !cpus_ptr.test(env.dst_cpu) {
        env.flags |= Lbf::SOME_PINNED;
        if env.idle == CpuIdleType::NewlyIdle || env.flags.intersects(Lbf::DST_PINNED | Lbf::ACTIVE_LB) {
            return false;
        }
        let other = env.cpus_of(env.dst_grpmask).find(|&cpu| cpus_ptr.test(cpu));
        if let Some(cpu) = other {
            env.flags |= Lbf::DST_PINNED;
            env.new_dst_cpu = cpu;
        }
        return false;
    }
    env.flags -= Lbf::ALL_PINNED;
    if env.flags.contains(Lbf::ACTIVE_LB) {
        // The stopper has the CPU, so no task counts as running. 5.10 has no LBF_ACTIVE_LB and checks the cache here,
        // too.
        return (env.balance.rules.push != Push::AnyFailures || !stays_cache_hot(env, task))
            && !env.migrate_llc_task_wrong_dst(task);
    }
    if view.task_on_cpu(task) {
        return false;
    }
    // With NUMA balancing, migrate_degrades_locality() would come first.
    if env.migrate_degrades_llc(task) {
        if env.migration_type != MigrationType::LlcTask {
            env.flags |= Lbf::LLC_PINNED;
        }
        return false;
    }
    !stays_cache_hot(env, task)
}

/// Whether the task stays because it is cache-hot, and too few passes have failed to move it nevertheless.
fn stays_cache_hot<V: BalanceView>(env: &LbEnv<'_, V>, task: TaskId) -> bool {
    env.nr_balance_failed <= cache_nice_tries(env.sd) && task_hot(env, task)
}

/// `task_is_ineligible_on_dst_cpu()`: whether the task, which is not eligible here, would have to wait for other tasks
/// there.
fn task_is_ineligible_on_dst_cpu<V: BalanceView>(env: &LbEnv<'_, V>, task: TaskId) -> bool {
    env.balance.rules.ineligible_waits
        && env.balance.features.has(Feature::PLACE_LAG)
        && env.view.group_nr_queued(env.dst_cpu, task) + env.dst_attached != 0
        && !env.view.entity_eligible(env.src_cpu, task)
}

/// `task_hot()`: whether the task's cache lines may still be on its CPU, because it ran less than `migration_cost` ago
/// or is a buddy.
fn task_hot<V: BalanceView>(env: &LbEnv<'_, V>, task: TaskId) -> bool {
    let view = env.view;
    let siblings = env.balance.rules.siblings_share_cache && env.sd.flags.contains(SdFlags::SHARE_CPUCAPACITY);
    if siblings || view.task_has_idle_policy(task) {
        return false;
    }
    let dst_nr_running = view.nr_running(env.dst_cpu) + env.dst_attached;
    if env.balance.features.has(Feature::CACHE_HOT_BUDDY) && dst_nr_running != 0 && view.is_buddy(env.src_cpu, task) {
        return true;
    }
    match env.balance.tunables.migration_cost {
        u32::MAX => true,
        0 => false,
        cost => (view.rq_clock_task(env.src_cpu).wrapping_sub(view.exec_start(task)) as i64) < i64::from(cost),
    }
}
