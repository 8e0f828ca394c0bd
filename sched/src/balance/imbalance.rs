//! How much is to be moved (`calculate_imbalance()`).

use super::env::{CpuIdleType, LbEnv};
use super::find_group::SdLbStats;
use super::view::BalanceView;
use crate::domain::SdFlags;
use crate::select::slow::GroupType;

/// `enum migration_type`: what is evened out. On unequal CPUs there would be misfit tasks too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MigrationType {
    /// Load.
    Load,
    /// Utilisation.
    Util,
    /// Tasks.
    Task,
}

/// What is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// Of what.
    pub migration_type: MigrationType,
    /// How much (`env->imbalance`): load (1024 is a nice-0 task), utilisation (1024 is a CPU), or tasks.
    pub amount: i64,
}

/// `NUMA_IMBALANCE_MIN`: a pair of tasks that talk to each other may stay together.
const NUMA_IMBALANCE_MIN: i32 = 2;

/// `adjust_numa_imbalance()`: a lightly loaded node need not take over a pair of tasks. The kernel's arguments are ints.
fn adjust_numa_imbalance(imbalance: i32, dst_running: i32, imb_numa_nr: i32) -> i64 {
    let tolerated = dst_running <= imb_numa_nr && imbalance <= NUMA_IMBALANCE_MIN;
    if tolerated { 0 } else { i64::from(imbalance) }
}

/// `calculate_imbalance()`. An amount of 0 means balance.
pub(super) fn calculate_imbalance<V: BalanceView>(env: &LbEnv<'_, V>, sds: &mut SdLbStats<'_>) -> Imbalance {
    use MigrationType::{Load, Task};
    let tasks = |amount| Imbalance { migration_type: Task, amount };
    let load = |amount| Imbalance { migration_type: Load, amount };
    let busiest = sds.busiest_stat;
    match busiest.group_type {
        // On unequal CPUs: migrate_misfit, and the asym_packing type.
        GroupType::MisfitTask => return load(busiest.group_misfit_task_load as i64),
        GroupType::Imbalanced => return tasks(1),
        _ => {}
    }
    if sds.local_stat.group_type == GroupType::HasSpare {
        return fill_spare(env, sds);
    }
    if sds.local_stat.group_type < GroupType::Overloaded {
        // It will be overloaded, so loads matter after all.
        sds.local_stat.avg_load = sds.local_stat.load_per_capacity();
        if sds.local_stat.avg_load >= busiest.avg_load {
            return load(0);
        }
        sds.avg_load = sds.load_per_capacity();
        if env.balance.rules.local_above_average && sds.local_stat.avg_load >= sds.avg_load {
            return load(0);
        }
    }
    // Neither below the average there nor above it here; unsigned in the kernel, and wrapping.
    let local = &sds.local_stat;
    let surplus = busiest.avg_load.wrapping_sub(sds.avg_load).wrapping_mul(busiest.group_capacity);
    let room = sds.avg_load.wrapping_sub(local.avg_load).wrapping_mul(local.group_capacity);
    load((surplus.min(room) / 1024) as i64)
}

/// The local group has spare capacity.
fn fill_spare<V: BalanceView>(env: &LbEnv<'_, V>, sds: &SdLbStats<'_>) -> Imbalance {
    let SdLbStats { busiest_stat: busiest, local_stat: local, .. } = sds;
    let flags = env.sd.flags;
    if busiest.group_type > GroupType::FullyBusy && !flags.contains(SdFlags::SHARE_LLC) {
        let spare = local.group_capacity.saturating_sub(local.group_util) as i64;
        return match spare {
            // Utilisation may lag behind: something waits there, and this CPU is idle.
            0 if env.idle != CpuIdleType::NotIdle => Imbalance { migration_type: MigrationType::Task, amount: 1 },
            _ => Imbalance { migration_type: MigrationType::Util, amount: spare },
        };
    }
    let halved_after_numa = env.balance.rules.halved_after_numa;
    let halve_first = u32::from(!halved_after_numa);
    // Unsigned ints in the kernel: fewer idle CPUs here than there is a very large number, not a negative one.
    let difference = if busiest.group_weight == 1 || sds.prefer_sibling {
        busiest.sum_nr_running.saturating_sub(local.sum_nr_running)
    } else {
        local.idle_cpus.wrapping_sub(busiest.idle_cpus)
    };
    let mut amount = i64::from(difference >> halve_first);
    if flags.contains(SdFlags::NUMA) {
        let dst_running = local.sum_nr_running.wrapping_add(1) as i32;
        amount = adjust_numa_imbalance(amount as i32, dst_running, env.sd.imb_numa_nr as i32);
    }
    if halved_after_numa {
        amount >>= 1;
    }
    Imbalance { migration_type: MigrationType::Task, amount }
}
