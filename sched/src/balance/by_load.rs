//! Balancing by load alone, as it was before group types (up to 5.4; read in 5.3): the busiest group of a domain and how much
//! of it is to be moved.
//!
//! The names are the kernel's: `update_sg_lb_stats()`, `update_sd_lb_stats()`, `update_sd_pick_busiest()`,
//! `find_busiest_group()`. CPUs are equal, so there are no misfit tasks and no packing.

use super::by_load_imbalance::calculate_imbalance;
use super::env::{CpuIdleType, LbEnv};
use super::view::BalanceView;
use crate::domain::SchedGroup;

/// A group as it is summed up (`struct sg_lb_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadStats {
    /// Summed load of the queued tasks (1024 is a nice-0 task).
    pub group_load: u64,
    /// Summed utilisation (1024 is a CPU).
    pub group_util: u64,
    /// `sgc->capacity`.
    pub group_capacity: u64,
    /// Tasks of the fair class.
    pub sum_nr_running: u32,
    /// Idle CPUs.
    pub idle_cpus: u32,
    /// How many CPUs.
    pub group_weight: u32,
    /// `sgc->imbalance`: affinities kept tasks from being moved out of it.
    pub imbalanced: bool,
    /// The pulling CPU is one of its.
    pub local: bool,
}

impl LoadStats {
    /// `update_sg_lb_stats()`: the sums, how many CPUs were looked at, and whether one of them has more than one task.
    pub(super) fn of<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup) -> (Self, u32, bool) {
        let (view, mut looked_at, mut overload) = (env.view, 0, false);
        let mut stats = LoadStats {
            group_capacity: view.group_capacity(env.level, group),
            group_weight: group.weight,
            imbalanced: view.group_imbalance(env.level, group),
            local: group.span.test(env.dst_cpu),
            ..LoadStats::default()
        };
        for cpu in env.cpus_of(&group.span) {
            looked_at += 1;
            stats.group_load += view.cpu_runnable_load(cpu);
            stats.group_util += env.cpu_util_cfs(cpu);
            stats.sum_nr_running += view.h_nr_running(cpu);
            let nr_running = view.nr_running(cpu);
            overload |= nr_running > 1;
            stats.idle_cpus += u32::from(nr_running == 0 && view.idle_cpu(cpu));
        }
        (stats, looked_at, overload)
    }
}

/// What the comparison goes by beside sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadFacts {
    /// What the pulling CPU does.
    pub idle: CpuIdleType,
    /// `sd->imbalance_pct`, per cent.
    pub imbalance_pct: u32,
    /// The domain below has SD_PREFER_SIBLING.
    pub prefer_sibling: bool,
}

/// `enum group_type`, from idlest to busiest, without `group_misfit_task`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LoadType {
    Other,
    Imbalanced,
    Overloaded,
}

/// A group that is classified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classified {
    pub(super) sums: LoadStats,
    /// Load per capacity × 1024.
    pub(super) avg_load: u64,
    pub(super) load_per_task: u64,
    pub(super) no_capacity: bool,
    pub(super) kind: LoadType,
}

impl Classified {
    fn new(sums: &LoadStats, imbalance_pct: u32) -> Self {
        let pct = u64::from(imbalance_pct);
        let no_capacity = sums.sum_nr_running > sums.group_weight && sums.group_capacity * 100 < sums.group_util * pct;
        let group = Classified {
            sums: *sums,
            avg_load: sums.group_load * 1024 / sums.group_capacity,
            load_per_task: sums.group_load.checked_div(u64::from(sums.sum_nr_running)).unwrap_or(0),
            no_capacity,
            kind: LoadType::Other,
        };
        Classified { kind: group.group_classify(), ..group }
    }

    /// `group_classify()`.
    fn group_classify(&self) -> LoadType {
        match (self.no_capacity, self.sums.imbalanced) {
            (true, _) => LoadType::Overloaded,
            (false, true) => LoadType::Imbalanced,
            (false, false) => LoadType::Other,
        }
    }

    /// `group_has_capacity()`.
    fn has_capacity(&self, imbalance_pct: u32) -> bool {
        let sums = &self.sums;
        sums.sum_nr_running < sums.group_weight
            || sums.group_capacity * 100 > sums.group_util * u64::from(imbalance_pct)
    }
}

/// `find_busiest_group()`: which of the groups, given in the order of the domain's ring, is to be pulled from, and how much
/// load. `None` if there is balance.
///
/// # Panics
/// If a group has no capacity, or none is the local one.
pub fn find_busiest_by_load(facts: &LoadFacts, groups: &[LoadStats]) -> Option<(usize, u64)> {
    let mut local: Option<Classified> = None;
    let mut busiest: Option<(usize, Classified)> = None;
    for (at, sums) in groups.iter().enumerate() {
        let mut group = Classified::new(sums, facts.imbalance_pct);
        if sums.local {
            local = Some(group);
            continue;
        }
        // Siblings first: what this group has too much of goes to the local one, if that was summed up before and has room.
        let crowded = |local: &Classified| {
            local.has_capacity(facts.imbalance_pct) && sums.sum_nr_running > local.sums.sum_nr_running + 1
        };
        if facts.prefer_sibling && local.as_ref().is_some_and(crowded) {
            group.no_capacity = true;
            group.kind = LoadType::Overloaded;
        }
        let (kind, avg_load) = busiest.map_or((LoadType::Other, 0), |(_, busiest)| (busiest.kind, busiest.avg_load));
        if group.kind > kind || (group.kind == kind && group.avg_load > avg_load) {
            busiest = Some((at, group));
        }
    }
    let local = local.expect("a domain has a local group");
    let (at, busiest) = busiest.filter(|(_, busiest)| busiest.sums.sum_nr_running != 0)?;
    let total = |of: fn(&LoadStats) -> u64| groups.iter().map(of).sum::<u64>();
    let avg_load = 1024 * total(|sums| sums.group_load) / total(|sums| sums.group_capacity);
    if is_balanced(facts, &local, &busiest, avg_load) {
        return None;
    }
    let imbalance = calculate_imbalance(&local, &busiest, avg_load);
    (imbalance != 0).then_some((at, imbalance))
}

/// The checks of `find_busiest_group()`; `avg_load` is the domain's.
fn is_balanced(facts: &LoadFacts, local: &Classified, busiest: &Classified, avg_load: u64) -> bool {
    let idles = facts.idle != CpuIdleType::NotIdle;
    if busiest.kind == LoadType::Imbalanced || (idles && local.has_capacity(facts.imbalance_pct) && busiest.no_capacity)
    {
        return false;
    }
    if local.avg_load >= busiest.avg_load || local.avg_load >= avg_load {
        return true;
    }
    if facts.idle == CpuIdleType::Idle {
        // One idle CPU more than the other group has is no imbalance: moving a task would turn it around.
        busiest.kind != LoadType::Overloaded && local.sums.idle_cpus <= busiest.sums.idle_cpus + 1
    } else {
        100 * busiest.avg_load <= u64::from(facts.imbalance_pct) * local.avg_load
    }
}
