//! `calculate_imbalance()`, `sibling_imbalance()` and `adjust_numa_imbalance()` (`kernel/sched/fair.c`): how much load,
//! utilisation, or how many tasks are to be moved.
//!
//! ```text
//! misfit_task:              migrate_misfit 1; on equal CPUs migrate_load of the CPU with reduced capacity
//! llc_balance:              migrate_llc_task 1
//! asym_packing:             migrate_task, all;   smt_balance, imbalanced: migrate_task, 1
//! local has_spare:
//!     busiest overloaded, no shared LLC:                migrate_util  local capacity - local util
//!     busiest has one CPU, or prefer_sibling:           migrate_task  sibling_imbalance() / 2
//!     else:                                             migrate_task  (local idle_cpus - busiest idle_cpus) / 2
//!     between nodes:                                    adjust_numa_imbalance()
//! else:                     migrate_load
//!     min((busiest avg_load - avg_load) * busiest capacity, (avg_load - local avg_load) * local capacity) / 1024
//!
//! sibling_imbalance (6.12) = (2 * (local cores * busiest tasks - busiest cores * local tasks) + cores) / cores
//!                            cores = local cores + busiest cores
//! ```

use super::lb_env::LbParams;
use super::update_sd_lb_stats::SdLbStats;
use super::update_sg_lb_stats::{GroupType, SgLbStats};
use super::{NumaImbalance, SiblingImbalance};
use crate::domain::SdFlags;

/// `enum migration_type`: the quantity that a pass evens out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MigrationType {
    /// Load (`migrate_load`).
    Load,
    /// Utilisation (`migrate_util`).
    Util,
    /// The number of tasks (`migrate_task`).
    Task,
    /// A task on a CPU that is too small for it, on machines of unequal CPUs (`migrate_misfit`).
    Misfit,
    /// A task that prefers the destination's LLC (`migrate_llc_task`, 7.2).
    LlcTask,
}

/// How much is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// The quantity.
    pub migration_type: MigrationType,
    /// The amount (`env->imbalance`): load (1024 is a nice-0 task), utilisation (1024 is a CPU), or a number of tasks.
    pub amount: i64,
}

/// `calculate_imbalance()`: returns how much is to be moved in a domain that is summed up and has a busiest group. An
/// amount of 0 means balance. It fills in the averages of `sds` that it needs.
pub fn calculate_imbalance(params: &LbParams<'_>, sds: &mut SdLbStats<'_>) -> Imbalance {
    use MigrationType::{LlcTask, Load, Misfit, Task};
    let tasks = |amount| Imbalance { migration_type: Task, amount };
    let load = |amount| Imbalance { migration_type: Load, amount };
    let busiest = sds.busiest_stat;
    match busiest.group_type {
        GroupType::MisfitTask if params.asym_capacity() => return Imbalance { migration_type: Misfit, amount: 1 },
        GroupType::MisfitTask => return load(busiest.group_misfit_task_load as i64),
        // All tasks go to the preferred CPU.
        GroupType::AsymPacking => return tasks(i64::from(busiest.sum_h_nr_running)),
        GroupType::SmtBalance => return tasks(1),
        _ if busiest.is_llc_balance() => return Imbalance { migration_type: LlcTask, amount: 1 },
        GroupType::Imbalanced => return tasks(1),
        _ => {}
    }
    if sds.local_stat.group_type == GroupType::HasSpare {
        return imbalance_to_spare_capacity(params, sds);
    }
    if sds.local_stat.group_type < GroupType::Overloaded {
        // The local group will become overloaded, so its load matters from here on.
        sds.local_stat.avg_load = sds.local_stat.load_per_capacity();
        if sds.local_stat.avg_load >= busiest.avg_load {
            return load(0);
        }
        sds.avg_load = sds.load_per_capacity();
        if params.rules.local_above_average && sds.local_stat.avg_load >= sds.avg_load {
            return load(0);
        }
    }
    // The busiest group must not fall below the average, nor the local one rise above it. The kernel's differences are
    // unsigned and wrap.
    let local = &sds.local_stat;
    let surplus = busiest.avg_load.wrapping_sub(sds.avg_load).wrapping_mul(busiest.group_capacity);
    let room = sds.avg_load.wrapping_sub(local.avg_load).wrapping_mul(local.group_capacity);
    load((surplus.min(room) / 1024) as i64)
}

/// The branch of `calculate_imbalance()` for a local group with spare capacity.
fn imbalance_to_spare_capacity(params: &LbParams<'_>, sds: &SdLbStats<'_>) -> Imbalance {
    let SdLbStats { busiest_stat: busiest, local_stat: local, .. } = sds;
    if busiest.group_type > GroupType::FullyBusy && !params.flags.contains(SdFlags::SHARE_LLC) {
        let spare = local.group_capacity.saturating_sub(local.group_util) as i64;
        return match spare {
            // Utilisation can lag: a task waits there while this CPU is idle.
            0 if params.dst_idle() => Imbalance { migration_type: MigrationType::Task, amount: 1 },
            _ => Imbalance { migration_type: MigrationType::Util, amount: spare },
        };
    }
    let halved_after_numa = params.rules.halved_after_numa;
    let difference = if busiest.group_weight == 1 || sds.prefer_sibling {
        sibling_imbalance(params, busiest, local)
    } else {
        // Unsigned ints in the kernel: with fewer idle CPUs here than there, the difference is very large, not
        // negative.
        i64::from(local.idle_cpus.wrapping_sub(busiest.idle_cpus))
    };
    let mut amount = if halved_after_numa { difference } else { difference >> 1 };
    if params.flags.contains(SdFlags::NUMA) {
        amount = adjust_numa_imbalance(params, amount, local, busiest);
    }
    if halved_after_numa {
        amount >>= 1;
    }
    Imbalance { migration_type: MigrationType::Task, amount }
}

/// `NUMA_IMBALANCE_MIN`: a pair of communicating tasks may stay together.
const NUMA_IMBALANCE_MIN: i32 = 2;

/// `adjust_numa_imbalance()`: returns 0 instead of `imbalance`, in tasks, if the nodes are so lightly loaded that a
/// pair of tasks may stay together. The kernel's arguments are ints.
fn adjust_numa_imbalance(params: &LbParams<'_>, imbalance: i64, local: &SgLbStats, busiest: &SgLbStats) -> i64 {
    let imbalance = imbalance as i32;
    let tolerated = match params.rules.numa_imbalance {
        NumaImbalance::BusiestPair => busiest.sum_nr_running as i32 <= NUMA_IMBALANCE_MIN,
        NumaImbalance::QuarterOfNode => {
            let dst_running = local.sum_nr_running.wrapping_add(1);
            dst_running < local.group_weight >> 2 && imbalance <= NUMA_IMBALANCE_MIN
        }
        NumaImbalance::ImbNumaNr => {
            let dst_running = local.sum_nr_running.wrapping_add(1) as i32;
            dst_running <= params.imb_numa_nr as i32 && imbalance <= NUMA_IMBALANCE_MIN
        }
    };
    if tolerated { 0 } else { i64::from(imbalance) }
}

/// `sibling_imbalance()`: returns how many more tasks the busiest group has; up to 6.1 the plain difference, since 6.12
/// per core.
pub(super) fn sibling_imbalance(params: &LbParams<'_>, busiest: &SgLbStats, local: &SgLbStats) -> i64 {
    let (theirs, ours) = (i64::from(busiest.sum_nr_running), i64::from(local.sum_nr_running));
    if params.rules.sibling_imbalance == SiblingImbalance::Tasks {
        return (theirs - ours).max(0);
    }
    if !params.dst_idle() || theirs == 0 {
        return 0;
    }
    let (their_cores, our_cores) = (i64::from(busiest.cores), i64::from(local.cores));
    if their_cores == our_cores {
        return (theirs - ours).max(0);
    }
    // The number of tasks to move for equal tasks per core on both sides, rounded.
    let uneven = (our_cores * theirs - their_cores * ours).max(0);
    let cores = our_cores + their_cores;
    let tasks = (2 * uneven + cores) / cores;
    // An empty group takes one of two tasks in any case.
    if tasks <= 1 && ours == 0 && theirs > 1 { 2 } else { tasks }
}
