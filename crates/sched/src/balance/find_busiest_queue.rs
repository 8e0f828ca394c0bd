//! `find_busiest_queue()` (`kernel/sched/fair.c`; `sched_balance_find_src_rq()` since 6.10): the CPU of the busiest
//! group to take tasks from.
//!
//! ```text
//! migrate_load    the largest load / capacity       not a queue whose only task is more than the imbalance
//! migrate_util    the largest utilisation           of queues with several tasks; boosted since 6.5
//! migrate_task    the most fair tasks
//! migrate_misfit  the largest misfit_task_load
//! migrate_llc_task  the most tasks that prefer the destination's LLC
//! unequal CPUs: a CPU with one task is skipped if its capacity is not smaller than the destination's
//! ```

use super::calculate_imbalance::MigrationType;
use super::lb_env::LbEnv;
use super::update_sd_pick_busiest::capacity_greater;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::domain::SchedGroup;
use crate::group_sums::{DomainSums, GroupSums, MOST_TASKS};
use crate::select::CpuCapacity;

/// `find_busiest_queue()`: returns the CPU of `group` with the most of what is to be moved, the first of equals; `None`
/// if no CPU has any.
///
/// With NUMA balancing, the kernel would skip run queues whose tasks are on their preferred nodes.
pub fn find_busiest_queue<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup) -> Option<Cpu> {
    match (env.group_sums(), env.migration_type) {
        (Some(sums), MigrationType::Load) => most_load(env, group, sums),
        (Some(sums), MigrationType::Util) => most_util(env, group, sums),
        (Some(sums), MigrationType::Task) => most_tasks(group, sums),
        _ => by_cpus(env, group),
    }
}

/// Reads every CPU of the group.
fn by_cpus<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup) -> Option<Cpu> {
    let view = env.view;
    let mut busiest = None;
    let (mut most, mut capacity_of_most) = (0, 1);
    for cpu in env.cpus_of(&group.span) {
        let nr_running = env.h_nr_running(cpu);
        if nr_running == 0 && env.balance.rules.idle_queues_skipped {
            continue;
        }
        if env.params.asym_capacity() && nr_running == 1 && loses_capacity(env, cpu) {
            continue;
        }
        match env.migration_type {
            MigrationType::Load => {
                let by_load = env.balance.rules.by_load;
                let load = if by_load { view.cpu_runnable_load(cpu) } else { view.cpu_load(cpu) };
                let nr_running = if by_load { view.nr_running(cpu) } else { nr_running };
                // The only task is more than is to be moved.
                if nr_running == 1 && load > env.imbalance as u64 && !env.check_cpu_capacity(cpu) {
                    continue;
                }
                // Compares load per capacity without a division.
                let capacity = view.capacity_of(cpu);
                if load * capacity_of_most > most * capacity {
                    (busiest, most, capacity_of_most) = (Some(cpu), load, capacity);
                }
            }
            MigrationType::Util => {
                let util = if env.balance.util_boost { env.cpu_util_cfs_boost(cpu) } else { env.cpu_util_cfs(cpu) };
                if nr_running > 1 && util > most {
                    (busiest, most) = (Some(cpu), util);
                }
            }
            MigrationType::Task => {
                if u64::from(nr_running) > most {
                    (busiest, most) = (Some(cpu), u64::from(nr_running));
                }
            }
            MigrationType::LlcTask => {
                let prefer = u64::from(view.llc_counts(cpu, env.dst_llc()));
                if prefer > most {
                    (busiest, most) = (Some(cpu), prefer);
                }
            }
            MigrationType::Misfit => {
                let misfit = view.misfit_task_load(cpu);
                if misfit > most {
                    (busiest, most) = (Some(cpu), misfit);
                }
            }
        }
    }
    busiest
}

/// `migrate_load`, with the sums that the view keeps: no CPU has a reduced capacity.
fn most_load<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup, sums: DomainSums<'_>) -> Option<Cpu> {
    let rules = &env.balance.rules;
    let (mut busiest, mut most, mut capacity_of_most) = (None, 0, 1);
    let mut compare = |cpu| {
        let has: &GroupSums = sums.cpu(cpu);
        let (load, nr_running) =
            if rules.by_load { (has.runnable_load, has.nr_running) } else { (has.load, has.h_nr_running) };
        if nr_running == 1 && load > env.imbalance as u64 {
            return;
        }
        let capacity = env.view.capacity_of(cpu);
        if load * capacity_of_most > most * capacity {
            (busiest, most, capacity_of_most) = (Some(cpu), load, capacity);
        }
    };
    if rules.idle_queues_skipped {
        group.span.iter_and(sums.with_tasks(1)).for_each(&mut compare);
    } else {
        group.span.iter().for_each(&mut compare);
    }
    busiest
}

/// `migrate_util`, with the sums that the view keeps.
fn most_util<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup, sums: DomainSums<'_>) -> Option<Cpu> {
    let (mut busiest, mut most) = (None, 0);
    for cpu in group.span.iter_and(sums.with_tasks(2)) {
        let mut util = sums.cpu(cpu).util;
        if env.balance.util_boost {
            util = util.max(sums.cpu(cpu).runnable).min(env.view.arch_scale_cpu_capacity(cpu));
        }
        if util > most {
            (busiest, most) = (Some(cpu), util);
        }
    }
    busiest
}

/// `migrate_task`, with the sums that the view keeps: the first CPU of those with the most tasks.
fn most_tasks(group: &SchedGroup, sums: DomainSums<'_>) -> Option<Cpu> {
    let (mut busiest, mut most) = (None, 0);
    for cpu in group.span.iter_and(sums.with_tasks(MOST_TASKS)) {
        let tasks = sums.cpu(cpu).h_nr_running;
        if tasks > most {
            (busiest, most) = (Some(cpu), tasks);
        }
    }
    busiest.or_else(|| (1..MOST_TASKS).rev().find_map(|tasks| group.span.next_from_and(sums.with_tasks(tasks), 0)))
}

/// Whether the CPU's only task would move to a CPU that is no larger.
fn loses_capacity<V: BalanceView>(env: &LbEnv<'_, V>, cpu: Cpu) -> bool {
    let (dst, src) = (env.view.capacity_of(env.dst_cpu), env.view.capacity_of(cpu));
    let loses = if env.balance.rules.asym_by_dst { !capacity_greater(dst, src) } else { dst < src };
    loses && !(env.balance.rules.equal_capacity_pulls && smt_or_cluster_gains(env, cpu))
}

/// Whether such a move helps nevertheless (`smt_degraded_cap` and `cluster_equal_cap`, 7.3): the CPU has a busy
/// sibling, or there are clusters and both CPUs have the same capacity left by pressure.
fn smt_or_cluster_gains<V: BalanceView>(env: &LbEnv<'_, V>, cpu: Cpu) -> bool {
    let domains = env.balance.domains;
    let actual = |cpu| CpuCapacity::of(cpu, env.view).actual();
    (domains.smt_active && !env.is_core_idle(cpu)) || (domains.cluster_active && actual(env.dst_cpu) == actual(cpu))
}
