//! `find_busiest_group()` up to 5.4 (`kernel/sched/fair.c`, read in 5.3): load balancing by load alone, before group
//! types (0b0695f2b34a). CPUs are equal, so there are no misfit tasks and no packing.
//!
//! ```text
//! avg_load(group)      = group_load * 1024 / group_capacity
//! load_per_task(group) = group_load / sum_nr_running
//! busiest              = the group of the highest type, then of the largest avg_load
//! calculate_imbalance():
//!     min((busiest avg_load - avg_load) * busiest capacity, (avg_load - local avg_load) * local capacity) / 1024
//!     fix_small_imbalance() if that is less than one task or the averages do not allow it
//! ```

use super::lb_env::{CpuIdleType, LbEnv};
use super::view::BalanceView;
use crate::domain::SchedGroup;
use crate::group_sums::GroupSums;

/// A group summed up (`struct sg_lb_stats` of 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStatsV5_3 {
    /// Sum of the loads of the queued tasks (1024 is a nice-0 task).
    pub group_load: u64,
    /// Sum of the CPUs' utilisation (1024 is a CPU).
    pub group_util: u64,
    /// `sgc->capacity`.
    pub group_capacity: u64,
    /// Number of fair tasks.
    pub sum_nr_running: u32,
    /// Number of idle CPUs.
    pub idle_cpus: u32,
    /// Number of CPUs.
    pub group_weight: u32,
    /// `sgc->imbalance`: affinities kept balancing from moving tasks out of the group.
    pub imbalanced: bool,
    /// The destination CPU is in the group.
    pub local: bool,
}

/// `update_sg_lb_stats()` of 5.3: sums up `group`. Returns the sums, the number of run queues read, and whether one of
/// them has more than one task.
pub(super) fn update_sg_lb_stats_v5_3<V: BalanceView>(
    env: &LbEnv<'_, V>,
    group: &SchedGroup,
) -> (SgLbStatsV5_3, u32, bool) {
    let (view, mut nr_rqs, mut overload) = (env.view, 0, false);
    let mut stats = SgLbStatsV5_3::new(env, group);
    for cpu in env.cpus_of(&group.span) {
        nr_rqs += 1;
        stats.group_load += view.cpu_runnable_load(cpu);
        stats.group_util += env.cpu_util_cfs(cpu);
        stats.sum_nr_running += view.h_nr_running(cpu);
        let nr_running = view.nr_running(cpu);
        overload |= nr_running > 1;
        stats.idle_cpus += u32::from(nr_running == 0 && view.idle_cpu(cpu));
    }
    (stats, nr_rqs, overload)
}

/// The same from `sums` of the group that the view keeps, as `LbEnv::group_sums` returns them.
pub(super) fn sg_lb_stats_v5_3_of<V: BalanceView>(
    env: &LbEnv<'_, V>,
    group: &SchedGroup,
    sums: &GroupSums,
) -> (SgLbStatsV5_3, u32, bool) {
    let stats = SgLbStatsV5_3 {
        group_load: sums.runnable_load,
        group_util: sums.util,
        sum_nr_running: sums.h_nr_running,
        idle_cpus: sums.idle_cpus,
        ..SgLbStatsV5_3::new(env, group)
    };
    (stats, group.weight, sums.overloaded_cpus != 0)
}

impl SgLbStatsV5_3 {
    /// A group of which no CPU is added yet.
    fn new<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup) -> Self {
        SgLbStatsV5_3 {
            group_capacity: env.view.group_capacity(env.level, group),
            group_weight: group.weight,
            imbalanced: env.view.group_imbalance(env.level, group),
            local: group.span.test(env.dst_cpu),
            ..SgLbStatsV5_3::default()
        }
    }
}

/// The values that `find_busiest_group()` of 5.3 reads besides the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LbParamsV5_3 {
    /// The state of the destination CPU.
    pub idle: CpuIdleType,
    /// `sd->imbalance_pct`, per cent.
    pub imbalance_pct: u32,
    /// The domain below has SD_PREFER_SIBLING.
    pub prefer_sibling: bool,
}

/// `enum group_type` of 5.3, from idlest to busiest, without `group_misfit_task`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupTypeV5_3 {
    Other,
    Imbalanced,
    Overloaded,
}

/// A group with its type and averages.
#[derive(Clone, Copy, Debug)]
struct Classified {
    sums: SgLbStatsV5_3,
    /// Load per capacity × 1024.
    avg_load: u64,
    load_per_task: u64,
    no_capacity: bool,
    kind: GroupTypeV5_3,
}

impl Classified {
    fn new(sums: &SgLbStatsV5_3, imbalance_pct: u32) -> Self {
        let pct = u64::from(imbalance_pct);
        let no_capacity = sums.sum_nr_running > sums.group_weight && sums.group_capacity * 100 < sums.group_util * pct;
        let group = Classified {
            sums: *sums,
            avg_load: sums.group_load * 1024 / sums.group_capacity,
            load_per_task: sums.group_load.checked_div(u64::from(sums.sum_nr_running)).unwrap_or(0),
            no_capacity,
            kind: GroupTypeV5_3::Other,
        };
        Classified { kind: group.group_classify(), ..group }
    }

    /// `group_classify()`.
    fn group_classify(&self) -> GroupTypeV5_3 {
        match (self.no_capacity, self.sums.imbalanced) {
            (true, _) => GroupTypeV5_3::Overloaded,
            (false, true) => GroupTypeV5_3::Imbalanced,
            (false, false) => GroupTypeV5_3::Other,
        }
    }

    /// `group_has_capacity()`.
    fn has_capacity(&self, imbalance_pct: u32) -> bool {
        let sums = &self.sums;
        sums.sum_nr_running < sums.group_weight
            || sums.group_capacity * 100 > sums.group_util * u64::from(imbalance_pct)
    }
}

/// `find_busiest_group()` of 5.3: returns the index of the group to pull from and how much load to pull (1024 is a
/// nice-0 task); `None` if the domain is in balance. `groups` are in the order of the domain's ring.
///
/// # Panics
/// If a group has no capacity, or none is local.
pub fn find_busiest_group_v5_3(params: &LbParamsV5_3, groups: &[SgLbStatsV5_3]) -> Option<(usize, u64)> {
    let mut local: Option<Classified> = None;
    let mut busiest: Option<(usize, Classified)> = None;
    for (at, sums) in groups.iter().enumerate() {
        let mut group = Classified::new(sums, params.imbalance_pct);
        if sums.local {
            local = Some(group);
            continue;
        }
        // SD_PREFER_SIBLING: surplus tasks of this group go to the local one if that was summed up before and has
        // capacity.
        let has_surplus = |local: &Classified| {
            local.has_capacity(params.imbalance_pct) && sums.sum_nr_running > local.sums.sum_nr_running + 1
        };
        if params.prefer_sibling && local.as_ref().is_some_and(has_surplus) {
            group.no_capacity = true;
            group.kind = GroupTypeV5_3::Overloaded;
        }
        let (kind, avg_load) =
            busiest.map_or((GroupTypeV5_3::Other, 0), |(_, busiest)| (busiest.kind, busiest.avg_load));
        if group.kind > kind || (group.kind == kind && group.avg_load > avg_load) {
            busiest = Some((at, group));
        }
    }
    let local = local.expect("a domain has a local group");
    let (at, busiest) = busiest.filter(|(_, busiest)| busiest.sums.sum_nr_running != 0)?;
    let total = |of: fn(&SgLbStatsV5_3) -> u64| groups.iter().map(of).sum::<u64>();
    let avg_load = 1024 * total(|sums| sums.group_load) / total(|sums| sums.group_capacity);
    if is_balanced(params, &local, &busiest, avg_load) {
        return None;
    }
    let imbalance = calculate_imbalance(&local, &busiest, avg_load);
    (imbalance != 0).then_some((at, imbalance))
}

/// The checks of `find_busiest_group()` that lead to `out_balanced`. `avg_load` is the domain's.
fn is_balanced(params: &LbParamsV5_3, local: &Classified, busiest: &Classified, avg_load: u64) -> bool {
    let dst_idle = params.idle != CpuIdleType::NotIdle;
    if busiest.kind == GroupTypeV5_3::Imbalanced
        || (dst_idle && local.has_capacity(params.imbalance_pct) && busiest.no_capacity)
    {
        return false;
    }
    if local.avg_load >= busiest.avg_load || local.avg_load >= avg_load {
        return true;
    }
    if params.idle == CpuIdleType::Idle {
        // One idle CPU more than in the other group is no imbalance: moving a task would only reverse it.
        busiest.kind != GroupTypeV5_3::Overloaded && local.sums.idle_cpus <= busiest.sums.idle_cpus + 1
    } else {
        100 * busiest.avg_load <= u64::from(params.imbalance_pct) * local.avg_load
    }
}

/// `calculate_imbalance()` of 5.3: returns how much load is to be moved; 0 means balance. `avg_load` is the domain's.
fn calculate_imbalance(local: &Classified, busiest: &Classified, avg_load: u64) -> u64 {
    let mut busiest = *busiest;
    if busiest.kind == GroupTypeV5_3::Imbalanced {
        busiest.load_per_task = busiest.load_per_task.min(avg_load);
    }
    // A group can be the busiest by its type without being above the average.
    if busiest.avg_load <= avg_load || local.avg_load >= avg_load {
        return fix_small_imbalance(local, &busiest, 0);
    }
    let surplus = (busiest.avg_load - avg_load).min(load_above_capacity(local, &busiest));
    // Saturating because with small capacities the surplus can be the whole range.
    let surplus = surplus.saturating_mul(busiest.sums.group_capacity);
    let headroom = (avg_load - local.avg_load) * local.sums.group_capacity;
    let imbalance = surplus.min(headroom) / 1024;
    if imbalance < busiest.load_per_task { fix_small_imbalance(local, &busiest, imbalance) } else { imbalance }
}

/// Returns what the busiest group has above its capacity, if both groups are overloaded: a larger move would leave CPUs
/// idle.
fn load_above_capacity(local: &Classified, busiest: &Classified) -> u64 {
    let both = busiest.kind == GroupTypeV5_3::Overloaded && local.kind == GroupTypeV5_3::Overloaded;
    let (tasks, capacity) = (u64::from(busiest.sums.sum_nr_running) * 1024, busiest.sums.group_capacity);
    if both && tasks > capacity { (tasks - capacity) * 1024 / capacity } else { u64::MAX }
}

/// `fix_small_imbalance()`: returns one task's load if the busiest group is that much above the local one or the move
/// gains capacity, else `imbalance`.
fn fix_small_imbalance(local: &Classified, busiest: &Classified, imbalance: u64) -> u64 {
    let (theirs, ours) = (busiest.sums.group_capacity, local.sums.group_capacity);
    // For a local group without tasks the kernel takes the average load of the destination's tasks, and there are none.
    let heavier = local.sums.sum_nr_running != 0 && busiest.load_per_task > local.load_per_task;
    let scaled = busiest.load_per_task * 1024 / theirs;
    if busiest.avg_load + scaled >= local.avg_load + scaled * if heavier { 1 } else { 2 } {
        return busiest.load_per_task;
    }
    let capacity = |capacity: u64, group: &Classified, avg_load: u64| capacity * group.load_per_task.min(avg_load);
    let now = (capacity(theirs, busiest, busiest.avg_load) + capacity(ours, local, local.avg_load)) / 1024;
    let left = match busiest.avg_load > scaled {
        true => capacity(theirs, busiest, busiest.avg_load - scaled),
        false => 0,
    };
    let added = (busiest.avg_load * theirs).min(busiest.load_per_task * 1024) / ours;
    let moved = (left + capacity(ours, local, local.avg_load + added)) / 1024;
    if moved > now { busiest.load_per_task } else { imbalance }
}
