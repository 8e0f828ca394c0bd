//! `update_sd_lb_stats()` (`kernel/sched/fair.c`): sums up all groups of a domain and finds the busiest.
//!
//! ```text
//! for each group of the domain, own group first {
//!     update_sg_lb_stats()
//!     if it is the local group: local_stat = it
//!     else if update_sd_pick_busiest(): busiest, busiest_stat = it
//!     total_load, total_capacity, sum_util += its
//! }
//! prefer_sibling = SD_PREFER_SIBLING of the child domain           since 6.12 of the busiest group's
//! highest domain: write rd->overload and rd->overutilized; lower ones: set rd->overutilized if a CPU is
//! ```

use super::lb_env::LbEnv;
use super::update_sd_pick_busiest::update_sd_pick_busiest;
use super::update_sg_lb_stats::{SgLbStats, update_sg_lb_stats};
use super::view::BalanceView;
use super::{PreferSibling, SiblingImbalance};
use crate::domain::{SchedDomains, SchedGroup, SdFlags};

/// `struct sd_lb_stats`: a domain summed up.
#[derive(Clone, Copy, Debug, Default)]
pub struct SdLbStats<'a> {
    /// The busiest of the other groups; `None` if none has a task to take.
    pub busiest: Option<&'a SchedGroup>,
    /// The sums of the busiest group; without one, the stats with which the first candidate was compared.
    pub busiest_stat: SgLbStats,
    /// The sums of the group that pulls.
    pub local_stat: SgLbStats,
    /// Sum of the loads of all groups.
    pub total_load: u64,
    /// Sum of the capacities of all groups.
    pub total_capacity: u64,
    /// Sum of the utilisation of all groups, the argument of `update_idle_cpu_scan()`.
    pub sum_util: u64,
    /// A run queue has more than one task (`SG_OVERLOAD`).
    pub overload: bool,
    /// With an energy model: a CPU is overutilized (`SG_OVERUTILIZED`).
    pub overutilized: bool,
    /// Tasks go to sibling groups first.
    pub prefer_sibling: bool,
    /// Load per capacity of the domain × 1024, if it was needed.
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
    let rules = &env.balance.rules;
    let mut sds = SdLbStats { busiest_stat: SgLbStats::none(), ..SdLbStats::default() };
    let mut local_group = None;
    for group in env.sd.groups() {
        let local = group.span.test(env.dst_cpu);
        let (sgs, nr_rqs, overload) = update_sg_lb_stats(env, group, local);
        env.nr_rqs += nr_rqs;
        sds.overload |= overload;
        sds.overutilized |= sgs.group_overutilized;
        if local {
            sds.local_stat = sgs;
            local_group = Some(group);
        } else if update_sd_pick_busiest(&env.params, &sds.local_stat, &sds.busiest_stat, &sgs) {
            sds.busiest = Some(group);
            sds.busiest_stat = sgs;
        }
        sds.total_load += sgs.group_load;
        sds.total_capacity += sgs.group_capacity;
        sds.sum_util += sgs.group_util;
    }
    sds.prefer_sibling = match rules.prefer_sibling {
        PreferSibling::ChildDomain => env.child.is_some_and(|child| child.flags.contains(SdFlags::PREFER_SIBLING)),
        PreferSibling::BusiestGroup => sds.busiest.is_some_and(|group| group.flags.contains(SdFlags::PREFER_SIBLING)),
    };
    if let (SiblingImbalance::TasksPerCore, Some(busiest), Some(local)) =
        (rules.sibling_imbalance, sds.busiest, local_group)
    {
        sds.busiest_stat.cores = group_cores(env.balance.domains, busiest);
        sds.local_stat.cores = group_cores(env.balance.domains, local);
    }
    sds
}

/// `group->cores` (`init_sched_groups_capacity()`): returns the number of cores of which the group has CPUs.
fn group_cores(domains: &SchedDomains, group: &SchedGroup) -> u32 {
    if !domains.smt_active {
        return group.weight;
    }
    // A core is counted with its first CPU in the group.
    let first_of_core = |cpu| domains.smt_mask[cpu as usize].iter().find(|&other| group.span.test(other)) == Some(cpu);
    group.span.iter().filter(|&cpu| first_of_core(cpu)).count() as u32
}

impl<V: BalanceView> LbEnv<'_, V> {
    /// Returns what the pass writes to `rd->overutilized`; `None` if it leaves the flag alone.
    pub(super) fn overutilized_write(&self, sds: &SdLbStats<'_>) -> Option<bool> {
        let writes = self.balance.energy && (self.parent.is_none() || sds.overutilized);
        writes.then_some(sds.overutilized)
    }

    /// Returns `rd->overutilized` as it is after that write.
    pub(super) fn overutilized_after(&self, sds: &SdLbStats<'_>) -> bool {
        self.overutilized_write(sds).unwrap_or_else(|| self.view.overutilized())
    }
}
