//! Whether a task may be moved (`can_migrate_task()`).

use super::env::{CpuIdleType, LbEnv, Lbf};
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
    if view.kthread_is_per_cpu(task) {
        return false;
    }
    let cpus_ptr = view.cpus_ptr(task);
    if !cpus_ptr.test(env.dst_cpu) {
        env.flags |= Lbf::SOME_PINNED;
        if env.idle == CpuIdleType::NewlyIdle || env.flags.contains(Lbf::DST_PINNED) {
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
    if view.task_on_cpu(task) {
        return false;
    }
    // With NUMA balancing, migrate_degrades_locality() would come first.
    !task_hot(env, task) || env.nr_balance_failed > cache_nice_tries(env.sd)
}

/// `task_hot()`: the task ran a short while ago, or is to run next; its cache lines may still be there.
fn task_hot<V: BalanceView>(env: &LbEnv<'_, V>, task: TaskId) -> bool {
    let view = env.view;
    if view.task_has_idle_policy(task) || env.sd.flags.contains(SdFlags::SHARE_CPUCAPACITY) {
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
