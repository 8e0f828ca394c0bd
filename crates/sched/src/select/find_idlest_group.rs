//! `find_idlest_group()` (`sched_balance_find_dst_group()` since 6.10): which group is the idlest, and whether the task
//! leaves its local group for it.
//!
//! ```text
//! find_idlest_group(sd, p, this_cpu):                                          5.5 to 7.3
//!     for each group of sd that p may use:
//!         update_sg_wakeup_stats()                   GroupStats::add, ::finish
//!         if the group is not the local one and update_pick_idlest():  it is the idlest so far
//!     no idlest group: return NULL; p may not use the local group: return idlest
//!     if the local group's type is lower: return NULL; higher: return idlest    leaves_local
//!     equal types: compare loads, capacities or idle CPUs                       leaves_local, across_nodes
//! ```
//!
//! Up to 5.4 groups are compared by spare capacity and load: `find_idlest_group_by_load.rs`.

use super::select_task_rq_fair::Cx;
use super::util_fits_cpu::{task_fits_capacity, task_fits_cpu};
use super::{AsymView, GroupView, IdleStateView, RqView, Rules, UtilView, Wakeup};
use crate::cpumask::Cpu;
use crate::domain::{SchedDomain, SchedGroup, SdFlags};
use crate::group_order::Rank;
use crate::group_sums::{GroupSums, GroupUse};
use crate::util_est_faster::FasterSite;
use wakelab_kernel::NumaFork;

/// How busy a group is (`enum group_type`), from idlest to busiest. The types that only load balance assigns
/// (smt_balance, asym_packing, llc_balance) do not occur here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupType {
    /// Capacity is left.
    #[default]
    HasSpare,
    /// It has as many tasks as it can take.
    FullyBusy,
    /// CPUs differ in capacity, and the task fits no CPU of the group.
    MisfitTask,
    /// Affinities kept load balance from moving tasks out of the group.
    Imbalanced,
    /// It has more tasks than it can take.
    Overloaded,
}

impl GroupType {
    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            GroupType::HasSpare => "has_spare",
            GroupType::FullyBusy => "fully_busy",
            GroupType::MisfitTask => "misfit_task",
            GroupType::Imbalanced => "imbalanced",
            GroupType::Overloaded => "overloaded",
        }
    }
}

/// `struct sg_lb_stats`: the fields that the slow path fills in. Averages are in the kernel's units (1024 = one CPU, or
/// one nice-0 task for loads).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStats {
    /// Summed load of the CPUs, without the task itself.
    pub group_load: u64,
    /// Summed utilisation, without the task itself.
    pub group_util: u64,
    /// Summed runnable averages, without the task itself.
    pub group_runnable: u64,
    /// Tasks of all classes, without the task itself.
    pub sum_nr_running: u32,
    /// Idle CPUs, counting one that only the task itself keeps busy.
    pub idle_cpus: u32,
    /// `sgc->capacity`.
    pub group_capacity: u64,
    /// The number of CPUs.
    pub group_weight: u32,
    /// The type.
    pub group_type: GroupType,
    /// Load per capacity × 1024; 0 unless fully busy or overloaded.
    pub avg_load: u64,
    /// `group_misfit_task_load`: CPUs differ in capacity, and the task fits none of the group.
    pub group_misfit_task_load: bool,
    /// `sgc->max_capacity`; 0 unless `group_misfit_task_load`.
    pub group_max_capacity: u64,
}

impl GroupStats {
    /// The statistics before the first CPU. In a domain whose CPUs differ in capacity (`asym`) the task is assumed to
    /// fit none.
    pub(super) fn new(asym: bool) -> Self {
        GroupStats { group_misfit_task_load: asym, ..GroupStats::default() }
    }

    /// The statistics of CPUs that have `sums` together, of which none has the task itself.
    #[inline]
    pub(crate) fn of(sums: &GroupSums) -> Self {
        GroupStats {
            group_load: sums.load,
            group_util: sums.util,
            group_runnable: sums.runnable,
            sum_nr_running: sums.nr_running,
            idle_cpus: sums.idle_cpus_without,
            ..GroupStats::default()
        }
    }

    /// The statistics of a group with this weight and capacity, which affinities have not kept imbalanced, after all
    /// its CPUs were added.
    #[inline]
    pub(crate) fn classified(mut self, weight: u32, capacity: u64, imbalance_pct: u32) -> Self {
        (self.group_weight, self.group_capacity) = (weight, capacity);
        self.set_type(self.group_classify(imbalance_pct, false));
        self
    }

    /// Adds one CPU: the body of the loop of update_sg_wakeup_stats().
    #[inline]
    pub(super) fn add(
        &mut self,
        cpu: Cpu,
        wakeup: &Wakeup<'_>,
        view: &(impl RqView + AsymView + UtilView + IdleStateView),
    ) {
        let task = &wakeup.wakee;
        // The task's own share is subtracted where it has one: on its CPU, unless it is new.
        let own = cpu == task.prev_cpu && task.has_contributed;

        let load = view.cpu_load(cpu);
        // The kernel keeps this one in an unsigned int.
        self.group_load += if own { u64::from((load as u32).saturating_sub(task.h_load as u32)) } else { load };
        self.group_util += cpu_util_without(cpu, own, wakeup, view);
        let runnable = view.cpu_runnable(cpu);
        self.group_runnable +=
            if own { u64::from((runnable as u32).saturating_sub(task.runnable_avg as u32)) } else { runnable };

        let local = u32::from(own && task.on_rq);
        let nr_running = view.nr_running(cpu).wrapping_sub(local);
        self.sum_nr_running = self.sum_nr_running.wrapping_add(nr_running);
        if nr_running == 0 && idle_cpu_without(cpu, wakeup, view) {
            self.idle_cpus += 1;
        }
    }

    /// Records that the task fits a CPU of the group, if it does: the rest of that loop if CPUs differ in capacity.
    #[cold]
    #[inline(never)]
    pub(super) fn add_fit<V: RqView + AsymView>(&mut self, cpu: Cpu, cx: Cx<'_, V>) {
        if cx.rules.code.misfit_by_cpu && task_fits_cpu(cx.rules.code, &cx.wakeup.wakee, cpu, cx.view) {
            self.group_misfit_task_load = false;
        }
    }

    /// Classifies the group after all its CPUs were added.
    #[inline]
    pub(super) fn finish<V: GroupView>(&mut self, level: usize, imbalance_pct: u32, group: &SchedGroup, cx: Cx<'_, V>) {
        let view = cx.view;
        self.group_capacity = view.group_capacity(level, group);
        self.group_weight = group.weight;
        if self.group_misfit_task_load {
            self.finish_fit(view.group_max_capacity(level, group), cx);
        }
        self.set_type(self.group_classify(imbalance_pct, view.group_imbalance(level, group)));
    }

    #[inline]
    fn set_type(&mut self, group_type: GroupType) {
        self.group_type = group_type;
        if matches!(self.group_type, GroupType::FullyBusy | GroupType::Overloaded) {
            self.avg_load = self.group_load * 1024 / self.group_capacity;
        }
    }

    /// What [`update_pick_idlest`] compares, as a number: of two groups it prefers the one with the lower rank. CPUs
    /// are alike, and the group is not imbalanced.
    #[inline]
    pub(crate) fn rank(&self) -> Rank {
        const MOST_CPUS: u64 = 1 << 14;
        let in_type = match self.group_type {
            GroupType::HasSpare => (MOST_CPUS - u64::from(self.idle_cpus)) << u32::BITS | self.group_util,
            _ => self.avg_load,
        };
        Rank::new(self.group_type as u64, in_type)
    }

    /// Up to 5.18 the group's largest CPU stands for all of them.
    #[cold]
    #[inline(never)]
    fn finish_fit<V>(&mut self, max_capacity: u64, cx: Cx<'_, V>) {
        self.group_max_capacity = max_capacity;
        self.group_misfit_task_load =
            cx.rules.code.misfit_by_cpu || !task_fits_capacity(&cx.wakeup.wakee, max_capacity);
    }

    /// `group_classify()` of 5.10 to 7.3, without what only load balance fills in.
    fn group_classify(&self, imbalance_pct: u32, imbalance: bool) -> GroupType {
        let group_use = self.group_use(imbalance_pct);
        if group_use.group_is_overloaded() {
            GroupType::Overloaded
        } else if imbalance {
            GroupType::Imbalanced
        } else if self.group_misfit_task_load {
            GroupType::MisfitTask
        } else if !group_use.group_has_capacity() {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    #[inline]
    fn group_use(&self, imbalance_pct: u32) -> GroupUse {
        GroupUse {
            nr_running: self.sum_nr_running,
            weight: self.group_weight,
            capacity: self.group_capacity,
            util: self.group_util,
            runnable: self.group_runnable,
            imbalance_pct,
        }
    }
}

/// `cpu_util_without()`: the CPU's utilisation without the task's share, estimated utilisation included.
#[inline]
pub(super) fn cpu_util_without(cpu: Cpu, own: bool, wakeup: &Wakeup<'_>, view: &(impl UtilView + AsymView)) -> u64 {
    let task = &wakeup.wakee;
    let mut util = view.cpu_util_avg(cpu);
    util = match own {
        true => util.saturating_sub(task.util_avg),
        false => util.max(view.util_est_faster(cpu, FasterSite::SlowPath)),
    };
    if let Some(mut util_est) = view.cpu_util_est(cpu) {
        // On exec the task is queued and in the CPU's estimate; a waking task would not be.
        if own && (task.on_rq || task.is_current) {
            util_est = util_est.saturating_sub(task.util_est);
        }
        util = util.max(util_est);
    }
    util.min(view.arch_scale_cpu_capacity(cpu))
}

/// `idle_cpu_without()`, for a CPU on which nothing else runs.
#[inline]
fn idle_cpu_without(cpu: Cpu, wakeup: &Wakeup<'_>, view: &(impl RqView + IdleStateView)) -> bool {
    let task_runs_here = wakeup.wakee.is_current && cpu == wakeup.wakee.prev_cpu;
    (view.curr_is_idle(cpu) || task_runs_here) && !view.ttwu_pending(cpu)
}

/// `NUMA_IMBALANCE_MIN`: a pair of tasks that talk to each other may stay together.
const NUMA_IMBALANCE_MIN: i64 = 2;

/// The statistics with which the first group is compared: worse than any group.
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
pub(crate) fn update_pick_idlest(idlest: &GroupStats, candidate: &GroupStats) -> bool {
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

/// Whether [`update_pick_idlest`] prefers `idlest` to a group with these sums, as it does to most groups of a large
/// domain: the same without all of the statistics. The group is not imbalanced, and CPUs do not differ in capacity.
#[inline]
pub(super) fn is_no_idler(
    idlest: &GroupStats,
    group: &SchedGroup,
    sums: &GroupSums,
    capacity: u64,
    imbalance_pct: u32,
) -> bool {
    let group_use = sums.group_use(group.weight, capacity, imbalance_pct);
    let group_type = if group_use.group_is_overloaded() {
        GroupType::Overloaded
    } else if !group_use.group_has_capacity() {
        GroupType::FullyBusy
    } else {
        GroupType::HasSpare
    };
    if group_type != idlest.group_type {
        return group_type > idlest.group_type;
    }
    match group_type {
        GroupType::HasSpare => {
            sums.idle_cpus_without < idlest.idle_cpus
                || (sums.idle_cpus_without == idlest.idle_cpus && sums.util >= idlest.group_util)
        }
        // avg_load >= that of the idlest, without the division.
        _ => sums.load * 1024 >= idlest.avg_load * capacity,
    }
}

/// Whether the task leaves its local group for the idlest one. `local` is `None` if affinity rules it out.
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

/// The NUMA rules for two groups with capacity left; `None` if they leave the choice to the number of idle CPUs.
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
        // Kernels that compare groups by their loads do not come here (`find_idlest_group_by_load.rs`).
        NumaFork::ByLoad => None,
        NumaFork::AnyLocalIdle => (local.idle_cpus > 0).then_some(false),
        NumaFork::QuarterRunning => (local.sum_nr_running + 1 < local_group.span.weight() >> 2).then_some(false),
        NumaFork::ImbNumaNrRunning => (local.sum_nr_running < sd.imb_numa_nr).then_some(false),
        NumaFork::ImbNumaNr => {
            let imbalance = i64::from(local.idle_cpus.abs_diff(idlest.idle_cpus));
            (adjust_numa_imbalance(imbalance, local.sum_nr_running + 1, imb_numa_nr()) == 0).then_some(false)
        }
    }
}

/// `adjust_numa_imbalance()`: a small imbalance does not count while few tasks run.
fn adjust_numa_imbalance(imbalance: i64, dst_running: u32, imb_numa_nr: u32) -> i64 {
    if dst_running <= imb_numa_nr && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}
