//! `update_sg_lb_stats()` and `group_classify()` (`kernel/sched/fair.c`): one group summed up, and its type.
//!
//! ```text
//! group_classify(), with pct = imbalance_pct:
//!     sum_nr_running > weight and (util * pct > capacity * 100 or runnable * 100 > capacity * pct)     overloaded
//!     group_llc_balance: tasks that prefer the destination's LLC (7.2)                                    llc_balance
//!     sgc->imbalance                                                                                   imbalanced
//!     group_asym_packing                                                                               asym_packing
//!     group_smt_balance                                                                                smt_balance
//!     group_misfit_task_load                                                                           misfit_task
//!     sum_nr_running >= weight and (util * pct >= capacity * 100 or runnable * 100 > capacity * pct)   fully_busy
//!     else                                                                                             has_spare
//! ```
//!
//! with `pct` = `imbalance_pct`. `avg_load` = `group_load` * 1024 / `group_capacity` is computed for overloaded groups
//! only.

use super::BalanceRules;
use super::lb_env::LbEnv;
use super::update_sd_pick_busiest::capacity_greater;
use super::view::BalanceView;
use crate::domain::{SchedGroup, SdFlags};
use crate::group_sums::{GroupSums, GroupUse};

/// `enum group_type` in the kernel's order: tasks are pulled from a later type before an earlier one. The slow path of
/// wake-ups has a smaller enum of its own, [`select::GroupType`](crate::select::GroupType).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupType {
    /// The group has capacity left.
    #[default]
    HasSpare,
    /// The group has as many tasks as it can run without competition.
    FullyBusy,
    /// CPUs differ in capacity, and a task is on a CPU that is too small; or a CPU has one task and a reduced capacity.
    MisfitTask,
    /// SMT siblings share a core while the destination has an idle core.
    SmtBalance,
    /// The destination has a higher priority (ITMT).
    AsymPacking,
    /// Affinities kept balancing from moving tasks out of the group.
    Imbalanced,
    /// The group has tasks that prefer the destination's LLC (7.2).
    LlcBalance,
    /// The group has more tasks than it can run.
    Overloaded,
}

/// `struct sg_lb_stats`, and the fields of the group itself that the formulas read. Averages are in the kernel's units:
/// 1024 is one CPU, or one nice-0 task for loads.
///
/// The last fields matter on unequal CPUs only. No pass fills in those of ITMT because
/// [`Balance::new`](super::Balance::new) refuses such machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStats {
    /// Load per capacity × 1024; 0 unless overloaded.
    pub avg_load: u64,
    /// Sum of the CPUs' loads.
    pub group_load: u64,
    /// `sgc->capacity`.
    pub group_capacity: u64,
    /// Sum of the CPUs' utilisation.
    pub group_util: u64,
    /// Sum of the CPUs' runnable averages.
    pub group_runnable: u64,
    /// Number of tasks of all classes.
    pub sum_nr_running: u32,
    /// Number of fair tasks; since 7.2 without those that sleep and are still queued.
    pub sum_h_nr_running: u32,
    /// Number of idle CPUs.
    pub idle_cpus: u32,
    /// Number of CPUs.
    pub group_weight: u32,
    /// The type.
    pub group_type: GroupType,
    /// The largest load of a CPU that has one task and a reduced capacity, on unequal CPUs of a misfit task; 0 if there
    /// is none.
    pub group_misfit_task_load: u64,
    /// Siblings share a core while the destination is idle (`smt_balance()`).
    pub group_smt_balance: bool,
    /// `group->flags`: those of the child domain.
    pub flags: SdFlags,
    /// `group->cores`: number of cores. It is filled in if tasks are spread by core.
    pub cores: u32,
    /// The destination is idle and preferred to the group (`sched_asym()`).
    pub group_asym_packing: bool,
    /// `arch_asym_cpu_priority()` of `group->asym_prefer_cpu`.
    pub prefer_priority: i32,
    /// `sgc->min_capacity`: capacity of its smallest CPU.
    pub min_capacity: u64,
    /// `sgc->max_capacity`: capacity of its largest CPU.
    pub max_capacity: u64,
    /// With an energy model: one of its CPUs is overutilized (`SG_OVERUTILIZED`).
    pub group_overutilized: bool,
    /// With an energy model, since 7.2: no CPU is overutilized, so the group is not overloaded whatever the averages
    /// are.
    pub spare_by_energy: bool,
    /// With cache-aware balancing: the number of its queued tasks that prefer the destination's LLC, and are not in it.
    pub nr_pref_dst_llc: u32,
    /// Such tasks are to be moved (`llc_balance()`).
    pub group_llc_balance: bool,
    /// The same as first posted: whatever its type, the group comes before others.
    pub llc_balance_first: bool,
}

/// `update_sg_lb_stats()`: sums up `group`. Returns the sums, the number of run queues read, and whether one of them
/// has more than one task (`SG_OVERLOAD`).
#[inline]
pub(super) fn update_sg_lb_stats<V: BalanceView>(
    env: &LbEnv<'_, V>,
    group: &SchedGroup,
    local: bool,
) -> (SgLbStats, u32, bool) {
    let (view, rules) = (env.view, &env.balance.rules);
    let asym = env.params.asym_capacity();
    let reduced = rules.reduced_capacity && !asym && !local && env.params.dst_idle();
    let counts_misfit = |misfit| {
        misfit != 0
            && (!rules.misfit_if_larger
                || capacity_greater(env.params.dst_capacity, view.group_max_capacity(env.level, group)))
    };
    let (mut sgs, mut nr_rqs, mut overload) = (SgLbStats::default(), 0, false);
    for cpu in env.cpus_of(&group.span) {
        nr_rqs += 1;
        let load = view.cpu_load(cpu);
        sgs.group_load += load;
        sgs.group_util += env.cpu_util_cfs(cpu);
        sgs.group_runnable += view.cpu_runnable(cpu);
        let h_nr_running = env.h_nr_running(cpu);
        sgs.sum_h_nr_running += h_nr_running;
        let nr_running = view.nr_running(cpu);
        sgs.sum_nr_running += nr_running;
        overload |= nr_running > 1;
        if env.balance.energy {
            sgs.group_overutilized |= env.balance.cpu_overutilized(view, cpu);
        }
        if nr_running == 0 && view.idle_cpu(cpu) {
            sgs.idle_cpus += 1;
        } else if asym && !local {
            let misfit = view.misfit_task_load(cpu);
            if counts_misfit(misfit) {
                sgs.group_misfit_task_load = sgs.group_misfit_task_load.max(misfit);
            }
            // SG_OVERLOAD, so that newly idle CPUs look for the misfit task.
            overload |= misfit != 0;
        } else if reduced && h_nr_running == 1 && env.check_cpu_capacity(cpu) {
            sgs.group_misfit_task_load = sgs.group_misfit_task_load.max(load);
        }
    }
    if asym {
        sgs.min_capacity = view.group_min_capacity(env.level, group);
        sgs.max_capacity = view.group_max_capacity(env.level, group);
    }
    sgs.spare_by_energy = rules.overloaded_by_energy && env.balance.energy && !sgs.group_overutilized;
    sgs.classify(env, group, local);
    (sgs, nr_rqs, overload)
}

/// The same from `sums` of the group that the view keeps, as `LbEnv::group_sums` returns them.
#[inline]
pub(super) fn sg_lb_stats_of<V: BalanceView>(
    env: &LbEnv<'_, V>,
    group: &SchedGroup,
    local: bool,
    sums: &GroupSums,
) -> SgLbStats {
    let mut sgs = SgLbStats::of(sums);
    sgs.classify(env, group, local);
    sgs
}

impl SgLbStats {
    /// The statistics of CPUs that have `sums` together.
    #[inline]
    fn of(sums: &GroupSums) -> Self {
        SgLbStats {
            group_load: sums.load,
            group_util: sums.util,
            group_runnable: sums.runnable,
            sum_nr_running: sums.nr_running,
            sum_h_nr_running: sums.h_nr_running,
            idle_cpus: sums.idle_cpus,
            ..SgLbStats::default()
        }
    }

    /// The statistics of another group than that of an idle CPU, which affinities have not kept imbalanced, with these
    /// `sums`, weight, capacity and flags.
    #[inline]
    pub(crate) fn of_other(
        sums: &GroupSums,
        facts: (u32, u64, SdFlags),
        imbalance_pct: u32,
        rules: &BalanceRules,
    ) -> Self {
        let mut sgs = SgLbStats::of(sums);
        sgs.classify_as(facts, rules.smt_balance, imbalance_pct, || false);
        sgs
    }

    /// The part of `update_sg_lb_stats()` after the loop.
    #[inline(always)]
    fn classify<V: BalanceView>(&mut self, env: &LbEnv<'_, V>, group: &SchedGroup, local: bool) {
        let facts = (group.weight, env.view.group_capacity(env.level, group), group.flags);
        let smt_balance = env.balance.rules.smt_balance && !local && env.params.dst_idle();
        let imbalance = || env.view.group_imbalance(env.level, group);
        if let Some(cache) = env.llc_preferences().filter(|_| !local) {
            self.nr_pref_dst_llc = env.nr_pref_dst_llc(group);
            let llc_balance = env.llc_balance(self, group);
            (self.group_llc_balance, self.llc_balance_first) =
                (llc_balance && cache.rules.group_type, llc_balance && !cache.rules.group_type);
        }
        self.classify_as(facts, smt_balance, env.sd.imbalance_pct, imbalance);
    }

    #[inline]
    fn classify_as(
        &mut self,
        facts: (u32, u64, SdFlags),
        smt_balance: bool,
        imbalance_pct: u32,
        imbalance: impl FnOnce() -> bool,
    ) {
        (self.group_weight, self.group_capacity, self.flags) = facts;
        // With ITMT, sched_group_asym() would set group_asym_packing here.
        self.group_smt_balance = smt_balance && self.is_smt() && self.sum_h_nr_running > 1;
        self.group_type = self.group_classify(imbalance_pct, imbalance);
        if self.group_type == GroupType::Overloaded {
            self.avg_load = self.load_per_capacity();
        }
    }

    /// Returns the stats with which the first candidate is compared (`init_sd_lb_stats()`).
    pub fn none() -> Self {
        SgLbStats { idle_cpus: u32::MAX, ..SgLbStats::default() }
    }

    /// `group_classify()`: returns the group's type. `imbalance_pct` is the domain's, per cent. `sg_imbalanced` returns
    /// `sgc->imbalance` and is called only if it matters.
    #[inline]
    pub fn group_classify(&self, imbalance_pct: u32, sg_imbalanced: impl FnOnce() -> bool) -> GroupType {
        let group_use = self.group_use(imbalance_pct);
        if !self.spare_by_energy && group_use.group_is_overloaded() {
            GroupType::Overloaded
        } else if self.group_llc_balance {
            GroupType::LlcBalance
        } else if sg_imbalanced() {
            GroupType::Imbalanced
        } else if self.group_asym_packing {
            GroupType::AsymPacking
        } else if self.group_smt_balance {
            GroupType::SmtBalance
        } else if self.group_misfit_task_load != 0 {
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

    /// `group_load * SCHED_CAPACITY_SCALE / group_capacity`.
    #[inline]
    pub(super) fn load_per_capacity(&self) -> u64 {
        self.group_load * 1024 / self.group_capacity
    }

    /// Whether the group is the busiest because of tasks that prefer the destination's LLC.
    #[inline]
    pub(super) fn is_llc_balance(&self) -> bool {
        self.group_type == GroupType::LlcBalance || self.llc_balance_first
    }

    /// Whether the group's CPUs are siblings of one core that has several (`SD_SHARE_CPUCAPACITY`).
    #[inline]
    pub(super) fn is_smt(&self) -> bool {
        self.flags.contains(SdFlags::SHARE_CPUCAPACITY)
    }
}
