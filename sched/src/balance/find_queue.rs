//! The CPU of a group that tasks are taken from.

use super::env::LbEnv;
use super::imbalance::MigrationType;
use super::pick_busiest::capacity_greater;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::domain::SchedGroup;
use crate::select::CpuCapacity;

/// `find_busiest_queue()` (`sched_balance_find_src_rq()` since 6.10): the group's CPU with most of what is to be moved; the first of equals.
///
/// With NUMA balancing the kernel would skip run queues whose tasks are where they want to be.
pub fn find_busiest_queue<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup) -> Option<Cpu> {
    let view = env.view;
    let mut busiest = None;
    let (mut most, mut capacity_of_most) = (0, 1);
    for cpu in env.cpus_of(&group.span) {
        let nr_running = env.h_nr_running(cpu);
        if nr_running == 0 && env.balance.rules.idle_queues_skipped {
            continue;
        }
        if env.facts.asym_capacity() && nr_running == 1 && loses_capacity(env, cpu) {
            continue;
        }
        match env.migration_type {
            MigrationType::Load => {
                let by_load = env.balance.rules.by_load;
                let load = if by_load { view.cpu_runnable_load(cpu) } else { view.cpu_load(cpu) };
                let nr_running = if by_load { view.nr_running(cpu) } else { nr_running };
                // Its only task is more than is to be moved.
                if nr_running == 1 && load > env.imbalance as u64 && !env.check_cpu_capacity(cpu) {
                    continue;
                }
                // Load per capacity, without the division.
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

/// The only task would go to a CPU that is no larger: an idle one does not push it there.
fn loses_capacity<V: BalanceView>(env: &LbEnv<'_, V>, cpu: Cpu) -> bool {
    let (dst, src) = (env.view.capacity_of(env.dst_cpu), env.view.capacity_of(cpu));
    let loses = if env.balance.rules.asym_by_dst { !capacity_greater(dst, src) } else { dst < src };
    loses && !(env.balance.rules.equal_capacity_pulls && gains_nevertheless(env, cpu))
}

/// Its core has a busy sibling, or there are clusters and the two are as large by what pressure leaves.
fn gains_nevertheless<V: BalanceView>(env: &LbEnv<'_, V>, cpu: Cpu) -> bool {
    let domains = env.balance.domains;
    let actual = |cpu| CpuCapacity::of(cpu, env.view).actual();
    (domains.smt_active && !env.is_core_idle(cpu)) || (domains.cluster_active && actual(env.dst_cpu) == actual(cpu))
}
