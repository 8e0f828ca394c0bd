//! Whether a task may be moved (`can_migrate_task()`).

use super::env::{CpuIdleType, LbEnv, Lbf};
use super::forms::Push;
use super::imbalance::MigrationType;
use super::view::BalanceView;
use crate::domain::{SchedDomain, SdFlags};
use crate::runqueue::TaskId;
use wakelab_kernel::Feature;

/// `sd->cache_nice_tries` (`sd_init()`): how many passes may fail before cache-hot tasks are moved.
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

/// `can_migrate_task()`. It notes pinned tasks in the pass's flags, and where else in the group such a task may run.
pub(super) fn can_migrate_task<V: BalanceView>(env: &mut LbEnv<'_, V>, task: TaskId) -> bool {
    let view = env.view;
    if env.balance.rules.delayed_only_with_load && env.migration_type != MigrationType::Load && view.sched_delayed(task)
    {
        return false;
    }
    // With cgroup bandwidth, throttled hierarchies would come here.
    if env.nr_balance_failed == 0 && waits_for_eligibility(env, task) {
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
        // The stopper has taken the CPU: nothing counts as running. 5.10 has no such flag, and asks.
        return env.balance.rules.push != Push::AnyFailures || !is_kept_by_cache(env, task);
    }
    if view.task_on_cpu(task) {
        return false;
    }
    // With NUMA balancing, migrate_degrades_locality() would come first.
    !is_kept_by_cache(env, task)
}

/// It is cache-hot, and not enough passes have failed to move it nevertheless.
fn is_kept_by_cache<V: BalanceView>(env: &LbEnv<'_, V>, task: TaskId) -> bool {
    env.nr_balance_failed <= cache_nice_tries(env.sd) && task_hot(env, task)
}

/// `task_is_ineligible_on_dst_cpu()`: it would have to wait beside others there, as it does here.
fn waits_for_eligibility<V: BalanceView>(env: &LbEnv<'_, V>, task: TaskId) -> bool {
    env.balance.rules.ineligible_waits
        && env.balance.features.has(Feature::PLACE_LAG)
        && env.view.h_nr_running(env.dst_cpu) + env.dst_attached != 0
        && !env.view.entity_eligible(env.src_cpu, task)
}

/// `task_hot()`: the task ran a short while ago, or is to run next; its cache lines may still be there.
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
