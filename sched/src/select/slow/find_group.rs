//! Which group is the idlest, and whether it is worth leaving the local one
//! (`sched_balance_find_dst_group()`, `find_idlest_group()` before 6.10).

use super::group::{GroupStats, GroupType};
use crate::domain::{SchedDomain, SchedGroup, SdFlags};
use crate::select::{Rules, Wakeup};
use wakelab_kernel::NumaFork;

/// `NUMA_IMBALANCE_MIN`: a pair of tasks that talk to each other may stay together.
const NUMA_IMBALANCE_MIN: i64 = 2;

/// What the idlest group is compared with at first: worse than anything.
pub(super) const WORST: GroupStats = GroupStats {
    group_load: 0,
    group_util: 0,
    group_runnable: 0,
    sum_nr_running: 0,
    idle_cpus: 0,
    group_capacity: 0,
    group_weight: 0,
    group_type: GroupType::Overloaded,
    avg_load: u32::MAX as u64,
    group_misfit_task_load: false,
    group_max_capacity: 0,
};

/// `update_pick_idlest()`: whether `candidate` is idler than the idlest group so far.
#[inline]
pub(super) fn update_pick_idlest(idlest: &GroupStats, candidate: &GroupStats) -> bool {
    if candidate.group_type != idlest.group_type {
        return candidate.group_type < idlest.group_type;
    }
    match candidate.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => candidate.avg_load < idlest.avg_load,
        GroupType::Imbalanced => false,
        GroupType::MisfitTask => candidate.group_max_capacity > idlest.group_max_capacity,
        GroupType::HasSpare => {
            candidate.idle_cpus > idlest.idle_cpus
                || (candidate.idle_cpus == idlest.idle_cpus && candidate.group_util < idlest.group_util)
        }
    }
}

/// Whether the task leaves its local group for the idlest one. `local` is `None` where affinity rules it out.
pub(super) fn leaves_local(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    sd: &SchedDomain,
    local: Option<(&SchedGroup, &GroupStats)>,
    idlest: (&SchedGroup, &GroupStats),
) -> bool {
    let Some((local_group, local)) = local else { return true };
    let (idlest_group, idlest) = idlest;
    if local.group_type != idlest.group_type {
        return local.group_type > idlest.group_type;
    }
    let numa = sd.flags.contains(SdFlags::NUMA);
    match local.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => {
            let pct = u64::from(sd.imbalance_pct);
            // The load of a nice-0 task, scaled by the domain's tolerance.
            let imbalance = 1024 * (pct - 100) / 100;
            // Across nodes the local group gets the benefit of the doubt twice.
            !(numa && idlest.avg_load + imbalance >= local.avg_load
                || idlest.avg_load >= local.avg_load + imbalance
                || 100 * local.avg_load <= pct * idlest.avg_load)
        }
        GroupType::Imbalanced => false,
        GroupType::MisfitTask => local.group_max_capacity < idlest.group_max_capacity,
        GroupType::HasSpare => {
            if numa && let Some(leaves) = across_nodes(rules, wakeup, sd, (local_group, local), (idlest_group, idlest))
            {
                return leaves;
            }
            local.idle_cpus < idlest.idle_cpus
        }
    }
}

/// The NUMA rules of two groups with capacity left; `None` where they leave it to the number of idle CPUs.
fn across_nodes(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    sd: &SchedDomain,
    (local_group, local): (&SchedGroup, &GroupStats),
    (idlest_group, idlest): (&SchedGroup, &GroupStats),
) -> Option<bool> {
    let node_of = |cpu| Some(rules.domains.node[cpu as usize]);
    let preferred = wakeup.wakee.numa_preferred_nid;
    if node_of(wakeup.waker.cpu) == preferred {
        return Some(false);
    }
    if idlest_group.span.first().and_then(node_of) == preferred {
        return Some(true);
    }
    // A task that may use few CPUs of the node fills it sooner.
    let imb_numa_nr = || wakeup.wakee.cpus_ptr.weight_and(&local_group.span).min(sd.imb_numa_nr);
    match rules.code.numa_fork {
        // Kernels that compare groups by their loads do not come here (`loads.rs`).
        NumaFork::ByLoad => None,
        NumaFork::AnyLocalIdle => (local.idle_cpus > 0).then_some(false),
        NumaFork::ImbNumaNrRunning => (local.sum_nr_running < sd.imb_numa_nr).then_some(false),
        NumaFork::ImbNumaNr => {
            let imbalance = i64::from(local.idle_cpus.abs_diff(idlest.idle_cpus));
            (adjust_numa_imbalance(imbalance, local.sum_nr_running + 1, imb_numa_nr()) == 0).then_some(false)
        }
    }
}

/// `adjust_numa_imbalance()`: a small imbalance is none while few tasks run.
fn adjust_numa_imbalance(imbalance: i64, dst_running: u32, imb_numa_nr: u32) -> i64 {
    if dst_running <= imb_numa_nr && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}
