//! How much is to be moved (`calculate_imbalance()`).

use super::facts::LbFacts;
use super::find_group::SdLbStats;
use super::group_type::GroupType;
use super::spread::{adjust_numa_imbalance, sibling_imbalance};
use crate::domain::SdFlags;

/// `enum migration_type`: what is evened out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MigrationType {
    /// Load.
    Load,
    /// Utilisation.
    Util,
    /// Tasks.
    Task,
    /// A task that is on too small a CPU, on machines of unequal CPUs.
    Misfit,
}

impl MigrationType {
    /// The kernel's name, without `migrate_`.
    pub fn name(self) -> &'static str {
        match self {
            MigrationType::Load => "load",
            MigrationType::Util => "util",
            MigrationType::Task => "task",
            MigrationType::Misfit => "misfit",
        }
    }
}

/// What is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// Of what.
    pub migration_type: MigrationType,
    /// How much (`env->imbalance`): load (1024 is a nice-0 task), utilisation (1024 is a CPU), or tasks.
    pub amount: i64,
}

/// `calculate_imbalance()` on a domain that is summed up and has a busiest group. An amount of 0 means balance. It fills in
/// the averages of `sds` that it needs.
pub fn calculate_imbalance(facts: &LbFacts<'_>, sds: &mut SdLbStats<'_>) -> Imbalance {
    use MigrationType::{Load, Misfit, Task};
    let tasks = |amount| Imbalance { migration_type: Task, amount };
    let load = |amount| Imbalance { migration_type: Load, amount };
    let busiest = sds.busiest_stat;
    match busiest.group_type {
        GroupType::MisfitTask if facts.asym_capacity() => return Imbalance { migration_type: Misfit, amount: 1 },
        GroupType::MisfitTask => return load(busiest.group_misfit_task_load as i64),
        // All of it, to the preferred CPU.
        GroupType::AsymPacking => return tasks(i64::from(busiest.sum_h_nr_running)),
        GroupType::SmtBalance | GroupType::Imbalanced => return tasks(1),
        _ => {}
    }
    if sds.local_stat.group_type == GroupType::HasSpare {
        return fill_spare(facts, sds);
    }
    if sds.local_stat.group_type < GroupType::Overloaded {
        // It will be overloaded, so loads matter after all.
        sds.local_stat.avg_load = sds.local_stat.load_per_capacity();
        if sds.local_stat.avg_load >= busiest.avg_load {
            return load(0);
        }
        sds.avg_load = sds.load_per_capacity();
        if facts.rules.local_above_average && sds.local_stat.avg_load >= sds.avg_load {
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
fn fill_spare(facts: &LbFacts<'_>, sds: &SdLbStats<'_>) -> Imbalance {
    let SdLbStats { busiest_stat: busiest, local_stat: local, .. } = sds;
    if busiest.group_type > GroupType::FullyBusy && !facts.flags.contains(SdFlags::SHARE_LLC) {
        let spare = local.group_capacity.saturating_sub(local.group_util) as i64;
        return match spare {
            // Utilisation may lag behind: something waits there, and this CPU is idle.
            0 if facts.idles() => Imbalance { migration_type: MigrationType::Task, amount: 1 },
            _ => Imbalance { migration_type: MigrationType::Util, amount: spare },
        };
    }
    let halved_after_numa = facts.rules.halved_after_numa;
    let difference = if busiest.group_weight == 1 || sds.prefer_sibling {
        sibling_imbalance(facts, busiest, local)
    } else {
        // Unsigned ints in the kernel: fewer idle CPUs here than there is a very large number, not a negative one.
        i64::from(local.idle_cpus.wrapping_sub(busiest.idle_cpus))
    };
    let mut amount = if halved_after_numa { difference } else { difference >> 1 };
    if facts.flags.contains(SdFlags::NUMA) {
        amount = adjust_numa_imbalance(facts, amount, local, busiest);
    }
    if halved_after_numa {
        amount >>= 1;
    }
    Imbalance { migration_type: MigrationType::Task, amount }
}
