//! The busiest group of a domain, and whether it is worth pulling from (`find_busiest_group()`).

use super::env::{CpuIdleType, LbEnv};
use super::imbalance::{Imbalance, calculate_imbalance};
use super::stats::SgLbStats;
use super::view::BalanceView;
use crate::domain::{SchedGroup, SdFlags};
use crate::select::slow::GroupType;

/// `struct sd_lb_stats`: a domain summed up.
#[derive(Clone, Copy, Debug)]
pub struct SdLbStats<'a> {
    /// The busiest of the other groups; `None` if none has a task to take.
    pub busiest: Option<&'a SchedGroup>,
    /// Its sums; without a busiest group what candidates are compared with at first.
    pub busiest_stat: SgLbStats,
    /// Those of the group that pulls.
    pub local_stat: SgLbStats,
    /// Summed load of all groups.
    pub total_load: u64,
    /// Summed capacity of all groups.
    pub total_capacity: u64,
    /// Summed utilisation of all groups: what `update_idle_cpu_scan()` is given.
    pub sum_util: u64,
    /// Some run queue has more than one task (`SG_OVERLOAD`).
    pub overload: bool,
    /// Tasks go to sibling groups first: the domain below says so.
    pub prefer_sibling: bool,
    /// The domain's load per capacity × 1024, where it was needed.
    pub avg_load: u64,
}

impl SdLbStats<'_> {
    /// `total_load * SCHED_CAPACITY_SCALE / total_capacity`.
    pub(super) fn load_per_capacity(&self) -> u64 {
        self.total_load * 1024 / self.total_capacity
    }
}

/// `update_sd_lb_stats()`: sums up all groups and finds the busiest.
pub fn update_sd_lb_stats<'a, V: BalanceView>(env: &mut LbEnv<'a, V>) -> SdLbStats<'a> {
    let sd = env.sd;
    let mut sds = SdLbStats {
        busiest: None,
        busiest_stat: SgLbStats { idle_cpus: u32::MAX, ..SgLbStats::default() },
        local_stat: SgLbStats::default(),
        total_load: 0,
        total_capacity: 0,
        sum_util: 0,
        overload: false,
        prefer_sibling: env.child.is_some_and(|child| child.flags.contains(SdFlags::PREFER_SIBLING)),
        avg_load: 0,
    };
    for group in sd.groups() {
        let local = group.span.test(env.dst_cpu);
        let (sgs, looked_at, overload) = SgLbStats::of(env, group, local);
        env.looked_at += looked_at;
        sds.overload |= overload;
        if local {
            sds.local_stat = sgs;
        } else if update_sd_pick_busiest(&sds.busiest_stat, &sgs) {
            sds.busiest = Some(group);
            sds.busiest_stat = sgs;
        }
        sds.total_load += sgs.group_load;
        sds.total_capacity += sgs.group_capacity;
        sds.sum_util += sgs.group_util;
    }
    sds
}

/// `update_sd_pick_busiest()`: whether `sgs` is busier than the busiest group so far. On unequal CPUs it would also leave
/// alone misfit tasks that the destination does not help, and groups of larger CPUs.
#[inline]
fn update_sd_pick_busiest(busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    if sgs.sum_h_nr_running == 0 {
        return false;
    }
    if sgs.group_type != busiest.group_type {
        return sgs.group_type > busiest.group_type;
    }
    match sgs.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => sgs.avg_load > busiest.avg_load,
        GroupType::Imbalanced => false,
        GroupType::MisfitTask => sgs.group_misfit_task_load >= busiest.group_misfit_task_load,
        GroupType::HasSpare => {
            sgs.idle_cpus < busiest.idle_cpus
                || (sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running > busiest.sum_nr_running)
        }
    }
}

/// `find_busiest_group()`: the group to pull from and how much of it; `None` if the domain is in balance. The sums are
/// returned either way.
pub fn find_busiest_group<'a, V: BalanceView>(
    env: &mut LbEnv<'a, V>,
) -> (SdLbStats<'a>, Option<(&'a SchedGroup, Imbalance)>) {
    let mut sds = update_sd_lb_stats(env);
    let Some(group) = sds.busiest else { return (sds, None) };
    if is_balanced(env, &mut sds) {
        return (sds, None);
    }
    let imbalance = calculate_imbalance(env, &mut sds);
    (sds, (imbalance.amount != 0).then_some((group, imbalance)))
}

/// The checks of `find_busiest_group()`. With an energy model and nothing overutilised, the kernel would stop here.
fn is_balanced<V: BalanceView>(env: &LbEnv<'_, V>, sds: &mut SdLbStats<'_>) -> bool {
    let SdLbStats { busiest_stat: busiest, local_stat: local, .. } = *sds;
    // Their tasks are moved whatever the averages say.
    if matches!(busiest.group_type, GroupType::MisfitTask | GroupType::Imbalanced) {
        return false;
    }
    if local.group_type > busiest.group_type {
        return true;
    }
    if local.group_type == GroupType::Overloaded {
        if local.avg_load >= busiest.avg_load {
            return true;
        }
        sds.avg_load = sds.load_per_capacity();
        if local.avg_load >= sds.avg_load || 100 * busiest.avg_load <= u64::from(env.sd.imbalance_pct) * local.avg_load
        {
            return true;
        }
    }
    if sds.prefer_sibling
        && local.group_type == GroupType::HasSpare
        && busiest.sum_nr_running > local.sum_nr_running + 1
    {
        return false;
    }
    busiest.group_type != GroupType::Overloaded
        && (env.idle == CpuIdleType::NotIdle
            // One idle CPU more than the other group has is no imbalance: moving a task would turn it around.
            || (busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus.wrapping_add(1))
            || busiest.sum_h_nr_running == 1)
}
