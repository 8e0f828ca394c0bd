//! The busiest group of a domain, and whether it is worth pulling from (`find_busiest_group()`,
//! `sched_balance_find_src_group()` since 6.10).

use super::by_load::{LoadFacts, LoadStats, find_busiest_by_load};
use super::cores::cores;
use super::env::LbEnv;
use super::facts::LbFacts;
use super::forms::{PreferSibling, SiblingImbalance};
use super::group_type::GroupType;
use super::imbalance::{Imbalance, MigrationType, calculate_imbalance};
use super::pick_busiest::update_sd_pick_busiest;
use super::spread::sibling_imbalance;
use super::stats::SgLbStats;
use super::view::BalanceView;
use crate::domain::{SchedGroup, SdFlags};
use smallvec::SmallVec;

/// `struct sd_lb_stats`: a domain summed up.
#[derive(Clone, Copy, Debug, Default)]
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
    /// With an energy model: some CPU is overutilized (`SG_OVERUTILIZED`).
    pub overutilized: bool,
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
    let rules = &env.balance.rules;
    let mut sds = SdLbStats { busiest_stat: SgLbStats::none(), ..SdLbStats::default() };
    let mut local_group = None;
    for group in env.sd.groups() {
        let local = group.span.test(env.dst_cpu);
        let (sgs, looked_at, overload) = SgLbStats::of(env, group, local);
        env.looked_at += looked_at;
        sds.overload |= overload;
        sds.overutilized |= sgs.group_overutilized;
        if local {
            sds.local_stat = sgs;
            local_group = Some(group);
        } else if update_sd_pick_busiest(&env.facts, &sds.local_stat, &sds.busiest_stat, &sgs) {
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
        sds.busiest_stat.cores = cores(env.balance.domains, busiest);
        sds.local_stat.cores = cores(env.balance.domains, local);
    }
    sds
}

/// `find_busiest_group()`: the group to pull from and how much of it; `None` if the domain is in balance. The sums are
/// returned either way.
pub fn find_busiest_group<'a, V: BalanceView>(
    env: &mut LbEnv<'a, V>,
) -> (SdLbStats<'a>, Option<(&'a SchedGroup, Imbalance)>) {
    if env.balance.rules.by_load {
        return by_load(env);
    }
    let mut sds = update_sd_lb_stats(env);
    let Some(group) = sds.busiest else { return (sds, None) };
    // Placement by energy has put tasks where they are: only what it cannot mend is moved.
    let misfit = env.balance.rules.misfit_before_energy && sds.busiest_stat.group_type == GroupType::MisfitTask;
    if env.balance.energy && !env.overutilized_after(&sds) && !misfit {
        return (sds, None);
    }
    let imbalance = imbalance_of(&env.facts, &mut sds);
    (sds, imbalance.map(|imbalance| (group, imbalance)))
}

/// The same by load alone. Of the sums, what the pass goes by is filled in.
fn by_load<'a, V: BalanceView>(env: &mut LbEnv<'a, V>) -> (SdLbStats<'a>, Option<(&'a SchedGroup, Imbalance)>) {
    let mut sds = SdLbStats::default();
    let mut groups: SmallVec<[LoadStats; 16]> = SmallVec::new();
    for group in env.sd.groups() {
        let (stats, looked_at, overload) = LoadStats::of(env, group);
        env.looked_at += looked_at;
        sds.overload |= overload;
        sds.total_load += stats.group_load;
        sds.total_capacity += stats.group_capacity;
        sds.sum_util += stats.group_util;
        groups.push(stats);
    }
    let prefer_sibling = env.child.is_some_and(|child| child.flags.contains(SdFlags::PREFER_SIBLING));
    let facts = LoadFacts { idle: env.idle, imbalance_pct: env.sd.imbalance_pct, prefer_sibling };
    let found = find_busiest_by_load(&facts, &groups).map(|(at, load)| {
        let group = env.sd.groups().nth(at).expect("it was summed up");
        (group, Imbalance { migration_type: MigrationType::Load, amount: load as i64 })
    });
    sds.busiest = found.map(|(group, _)| group);
    (sds, found)
}

/// `find_busiest_group()` on a domain that is summed up and has a busiest group: how much is to be moved. It fills in the
/// averages of `sds` that it needs.
pub fn imbalance_of(facts: &LbFacts<'_>, sds: &mut SdLbStats<'_>) -> Option<Imbalance> {
    if is_balanced(facts, sds) {
        return None;
    }
    Some(calculate_imbalance(facts, sds)).filter(|imbalance| imbalance.amount != 0)
}

/// The checks of `find_busiest_group()`, without that for an energy model.
pub fn is_balanced(facts: &LbFacts<'_>, sds: &mut SdLbStats<'_>) -> bool {
    let SdLbStats { busiest_stat: busiest, local_stat: local, .. } = *sds;
    // Their tasks are moved whatever the averages say.
    if matches!(busiest.group_type, GroupType::MisfitTask | GroupType::AsymPacking | GroupType::Imbalanced) {
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
        if local.avg_load >= sds.avg_load || 100 * busiest.avg_load <= u64::from(facts.imbalance_pct) * local.avg_load {
            return true;
        }
    }
    if sds.prefer_sibling && local.group_type == GroupType::HasSpare && sibling_imbalance(facts, &busiest, &local) > 1 {
        return false;
    }
    if busiest.group_type == GroupType::Overloaded {
        return false;
    }
    if !facts.idles() {
        return true;
    }
    if busiest.group_type == GroupType::SmtBalance && local.is_smt() != busiest.is_smt() {
        return false;
    }
    // One idle CPU more than the other group has is no imbalance: moving a task would turn it around.
    (busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus.wrapping_add(1)) || busiest.sum_h_nr_running == 1
}
