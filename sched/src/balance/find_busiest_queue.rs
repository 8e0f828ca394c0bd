//! `find_busiest_queue()` (`kernel/sched/fair.c`; `sched_balance_find_src_rq()` since 6.10): the CPU of the busiest
//! group to take tasks from.
//!
//! ```text
//! migrate_load    the largest load / capacity       not a queue whose only task is more than the imbalance
//! migrate_util    the largest utilisation           of queues with several tasks; boosted since 6.5
//! migrate_task    the most fair tasks
//! migrate_misfit  the largest misfit_task_load
//! unequal CPUs: a CPU with one task is skipped if its capacity is not smaller than the destination's
//! ```

use super::calculate_imbalance::MigrationType;
use super::lb_env::LbEnv;
use super::update_sd_pick_busiest::capacity_greater;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::domain::SchedGroup;
use crate::select::CpuCapacity;

/// `find_busiest_queue()`: returns the CPU of `group` with the most of what is to be moved, the first of equals; `None`
/// if no CPU has any.
///
/// With NUMA balancing, the kernel would skip run queues whose tasks are on their preferred nodes.
pub fn find_busiest_queue<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup) -> Option<Cpu> {
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
