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
use super::update_sg_lb_stats::{GroupType, SgLbStats, sg_lb_stats_of, update_sg_lb_stats};
use super::view::BalanceView;
use super::{PreferSibling, SiblingImbalance};
use crate::domain::{SchedDomains, SchedGroup, SdFlags};
use crate::group_order::GroupReader;
use crate::group_sums::{DomainSums, GroupSums};

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
    let local_group = match env.group_sums() {
        Some(sums) => sds.add_sums(env, sums),
        None => sds.add_groups(env),
    };
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

impl<'a> SdLbStats<'a> {
    /// Reads every CPU of every group. Returns the local group.
    fn add_groups<V: BalanceView>(&mut self, env: &mut LbEnv<'a, V>) -> Option<&'a SchedGroup> {
        let mut local_group = None;
        for group in env.sd.groups() {
            let local = group.span.test(env.dst_cpu);
            let (sgs, nr_rqs, overload) = update_sg_lb_stats(env, group, local);
            env.record_sg_llc_stats(group, sgs.group_util, sgs.group_capacity);
            env.nr_rqs += nr_rqs;
            self.overload |= overload;
            self.overutilized |= sgs.group_overutilized;
            if local {
                self.local_stat = sgs;
                local_group = Some(group);
            } else if update_sd_pick_busiest(&env.params, &self.local_stat, &self.busiest_stat, &sgs) {
                self.busiest = Some(group);
                self.busiest_stat = sgs;
            }
            self.total_load += sgs.group_load;
            self.total_capacity += sgs.group_capacity;
            self.sum_util += sgs.group_util;
        }
        local_group
    }

    /// Does the same from the sums that the view keeps. Returns the local group.
    fn add_sums<V: BalanceView>(&mut self, env: &mut LbEnv<'a, V>, sums: DomainSums<'_>) -> Option<&'a SchedGroup> {
        let sd = env.sd;
        let mut local_group = None;
        // Preferences for the destination's LLC are in no sums, and each group's are read.
        let prefers = env.llc_preferences().is_some();
        if !prefers && let Some(local) = self.add_in_order(env, sums) {
            return Some(local);
        }
        let first = sd.first_group as usize;
        for index in sd.group_indices() {
            let (group, disjoint, sums) = (&sd.groups[index], sums.disjoint(), sums.group(index));
            let capacity = env.view.group_capacity(env.level, group);
            env.nr_rqs += group.weight;
            self.overload |= sums.overloaded_cpus != 0;
            self.total_load += sums.load;
            self.total_capacity += capacity;
            self.sum_util += sums.util;
            if index == first || (!disjoint && group.span.test(env.dst_cpu)) {
                self.local_stat = sg_lb_stats_of(env, group, true, sums);
                local_group = Some(group);
                env.record_sg_llc_stats(group, sums.util, capacity);
            } else if prefers || !self.passes_over(env, group, sums, capacity) {
                let sgs = sg_lb_stats_of(env, group, false, sums);
                env.record_sg_llc_stats(group, sums.util, capacity);
                if update_sd_pick_busiest(&env.params, &self.local_stat, &self.busiest_stat, &sgs) {
                    self.busiest = Some(group);
                    self.busiest_stat = sgs;
                }
            }
        }
        local_group
    }

    /// The same for a domain of many groups: of those before and after the local one, the busiest by their order, which
    /// [`update_sd_pick_busiest`] then compares. Returns `None`, and has added nothing, if there is no order.
    fn add_in_order<V: BalanceView>(&mut self, env: &mut LbEnv<'a, V>, sums: DomainSums<'_>) -> Option<&'a SchedGroup> {
        let order = sums.order(GroupReader::LoadBalance).filter(|order| order.holds_for(env.params.dst_idle()))?;
        let total = sums.total()?;
        if env.view.may_be_imbalanced() {
            return None;
        }
        let groups = &env.sd.groups;
        let first = env.sd.first_group as usize;
        env.nr_rqs += env.sd.span_weight;
        self.overload = total.overloaded_cpus != 0;
        (self.total_load, self.total_capacity, self.sum_util) = (total.load, order.capacity(), total.util);
        self.local_stat = sg_lb_stats_of(env, &groups[first], true, sums.group(first));
        for index in [first + 1..groups.len(), 0..first].into_iter().filter_map(|range| order.busiest(range)) {
            let sgs = sg_lb_stats_of(env, &groups[index], false, sums.group(index));
            if update_sd_pick_busiest(&env.params, &self.local_stat, &self.busiest_stat, &sgs) {
                self.busiest = Some(&groups[index]);
                self.busiest_stat = sgs;
            }
        }
        Some(&groups[first])
    }

    /// Whether `update_sd_pick_busiest()` prefers the busiest group so far to this one, as it does to most groups of a
    /// large domain: the same without all of the statistics. False as well where it takes those to know.
    #[inline]
    fn passes_over<V: BalanceView>(
        &self,
        env: &LbEnv<'_, V>,
        group: &SchedGroup,
        sums: &GroupSums,
        capacity: u64,
    ) -> bool {
        if sums.h_nr_running == 0 {
            return true;
        }
        let busiest = &self.busiest_stat;
        let group_use = sums.group_use(group.weight, capacity, env.sd.imbalance_pct);
        if group_use.group_is_overloaded() {
            // avg_load <= that of the busiest, without the division.
            return busiest.group_type == GroupType::Overloaded && sums.load * 1024 < (busiest.avg_load + 1) * capacity;
        }
        if env.view.group_imbalance(env.level, group) {
            return false;
        }
        let is_smt = group.flags.contains(SdFlags::SHARE_CPUCAPACITY);
        let smt_balance = env.balance.rules.smt_balance;
        if smt_balance && is_smt && sums.h_nr_running > 1 {
            return busiest.group_type > GroupType::SmtBalance;
        }
        if !group_use.group_has_capacity() {
            return busiest.group_type > GroupType::FullyBusy;
        }
        if busiest.group_type != GroupType::HasSpare {
            return true;
        }
        if smt_balance && is_smt != busiest.is_smt() {
            return false;
        }
        sums.idle_cpus > busiest.idle_cpus
            || (sums.idle_cpus == busiest.idle_cpus && sums.nr_running <= busiest.sum_nr_running)
    }
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
