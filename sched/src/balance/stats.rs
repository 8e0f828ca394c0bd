//! One group summed up and classified (`update_sg_lb_stats()`).

use super::env::{CpuIdleType, LbEnv};
use super::view::BalanceView;
use crate::domain::SchedGroup;
use crate::select::slow::GroupType;

/// `struct sg_lb_stats`. Averages are in the kernel's units (1024 = one CPU, or one nice-0 task for loads).
///
/// On unequal CPUs there would be `group_asym_packing` too, and a group type of that name between the misfit and the
/// imbalanced one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStats {
    /// Load per capacity × 1024; 0 unless overloaded.
    pub avg_load: u64,
    /// Summed load of the CPUs.
    pub group_load: u64,
    /// `sgc->capacity`.
    pub group_capacity: u64,
    /// Summed utilisation.
    pub group_util: u64,
    /// Summed runnable averages.
    pub group_runnable: u64,
    /// Tasks of all classes.
    pub sum_nr_running: u32,
    /// Tasks of the fair class.
    pub sum_h_nr_running: u32,
    /// Idle CPUs.
    pub idle_cpus: u32,
    /// How many CPUs.
    pub group_weight: u32,
    /// The type.
    pub group_type: GroupType,
    /// The largest load of a CPU that has one task and a reduced capacity; 0 for none. On unequal CPUs, misfit tasks'.
    pub group_misfit_task_load: u64,
}

impl SgLbStats {
    /// `update_sg_lb_stats()`. Returns the group and whether one of its run queues has more than one task
    /// (`SG_OVERLOAD`).
    #[inline]
    pub(super) fn of<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup, local: bool) -> (Self, u32, bool) {
        let view = env.view;
        // On unequal CPUs this is where a domain looks for misfit tasks instead.
        let reduced = env.balance.rules.reduced_capacity && !local && env.idle != CpuIdleType::NotIdle;
        let (mut sgs, mut looked_at, mut overload) = (SgLbStats::default(), 0, false);
        for cpu in env.cpus_of(&group.span) {
            looked_at += 1;
            let load = view.cpu_load(cpu);
            sgs.group_load += load;
            sgs.group_util += env.cpu_util_cfs(cpu);
            sgs.group_runnable += view.cpu_runnable(cpu);
            let h_nr_running = view.h_nr_running(cpu);
            sgs.sum_h_nr_running += h_nr_running;
            let nr_running = view.nr_running(cpu);
            sgs.sum_nr_running += nr_running;
            overload |= nr_running > 1;
            if nr_running == 0 && view.idle_cpu(cpu) {
                sgs.idle_cpus += 1;
            } else if reduced && h_nr_running == 1 && env.check_cpu_capacity(cpu) {
                sgs.group_misfit_task_load = sgs.group_misfit_task_load.max(load);
            }
        }
        sgs.group_capacity = view.group_capacity(env.level, group);
        sgs.group_weight = group.weight;
        // On unequal CPUs: sched_asym() would set group_asym_packing here.
        sgs.group_type = sgs.group_classify(env.sd.imbalance_pct, || view.group_imbalance(env.level, group));
        if sgs.group_type == GroupType::Overloaded {
            sgs.avg_load = sgs.load_per_capacity();
        }
        (sgs, looked_at, overload)
    }

    /// `group_load * SCHED_CAPACITY_SCALE / group_capacity`.
    #[inline]
    pub(super) fn load_per_capacity(&self) -> u64 {
        self.group_load * 1024 / self.group_capacity
    }

    /// `group_classify()`.
    #[inline]
    fn group_classify(&self, imbalance_pct: u32, sg_imbalanced: impl FnOnce() -> bool) -> GroupType {
        if self.is_overloaded(imbalance_pct) {
            GroupType::Overloaded
        } else if sg_imbalanced() {
            GroupType::Imbalanced
        } else if self.group_misfit_task_load != 0 {
            GroupType::MisfitTask
        } else if !self.has_capacity(imbalance_pct) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    /// `group_is_overloaded()`: more tasks than CPUs, and the CPUs' time used up or waited for.
    #[inline]
    fn is_overloaded(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        self.sum_nr_running > self.group_weight
            && (self.group_capacity * 100 < self.group_util * pct
                || self.group_capacity * pct < self.group_runnable * 100)
    }

    /// `group_has_capacity()`.
    #[inline]
    fn has_capacity(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        self.sum_nr_running < self.group_weight
            || (self.group_capacity * pct >= self.group_runnable * 100
                && self.group_capacity * 100 > self.group_util * pct)
    }
}
