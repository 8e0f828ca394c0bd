//! A group's statistics, as the slow path sums them up (`update_sg_wakeup_stats()`), and its type.

use crate::cpumask::Cpu;
use crate::domain::SchedGroup;
use crate::select::fits::{task_fits_capacity, task_fits_cpu};
use crate::select::step::Cx;
use crate::select::{View, Wakeup};

/// How busy a group is (`enum group_type`), from idlest to busiest. The types that only load balancing gives
/// (smt_balance, asym_packing, llc_balance) do not occur on this path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupType {
    /// Capacity is left.
    #[default]
    HasSpare,
    /// As many tasks as it can take.
    FullyBusy,
    /// CPUs differ in capacity, and the task fits none of it.
    MisfitTask,
    /// Affinities kept balancing from moving tasks out of it.
    Imbalanced,
    /// More tasks than it can take.
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

/// `struct sg_lb_stats`, as far as the slow path fills it in. Averages are in the kernel's units (1024 = one CPU, or
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
    /// Idle CPUs; one that only the task itself keeps busy counts.
    pub idle_cpus: u32,
    /// `sgc->capacity`.
    pub group_capacity: u64,
    /// How many CPUs.
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
    /// Nothing summed up yet. In a domain of different capacities (`asym`) the task is assumed to fit no CPU.
    pub(super) fn new(asym: bool) -> Self {
        GroupStats { group_misfit_task_load: asym, ..GroupStats::default() }
    }

    /// Adds one CPU (the body of update_sg_wakeup_stats()'s loop).
    #[inline]
    pub(super) fn add(&mut self, cpu: Cpu, wakeup: &Wakeup<'_>, view: &impl View) {
        let task = &wakeup.wakee;
        // The task's own share is taken off where it has one: on its CPU, and if it is not new.
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

    /// Notes that the task fits a CPU of the group, if it does: the rest of that loop, where CPUs differ in capacity.
    #[cold]
    #[inline(never)]
    pub(super) fn add_fit<V: View>(&mut self, cpu: Cpu, cx: Cx<'_, V>) {
        if cx.rules.code.misfit_by_cpu && task_fits_cpu(cx.rules.code, &cx.wakeup.wakee, cpu, cx.view) {
            self.group_misfit_task_load = false;
        }
    }

    /// Classifies the group when all its CPUs are in.
    #[inline]
    pub(super) fn finish<V: View>(&mut self, level: usize, imbalance_pct: u32, group: &SchedGroup, cx: Cx<'_, V>) {
        let view = cx.view;
        self.group_capacity = view.group_capacity(level, group);
        self.group_weight = group.weight;
        if self.group_misfit_task_load {
            self.finish_fit(view.group_max_capacity(level, group), cx);
        }
        self.group_type = self.group_classify(imbalance_pct, view.group_imbalance(level, group));
        if matches!(self.group_type, GroupType::FullyBusy | GroupType::Overloaded) {
            self.avg_load = self.group_load * 1024 / self.group_capacity;
        }
    }

    /// Up to 5.18 the group's largest CPU stands for all.
    #[cold]
    #[inline(never)]
    fn finish_fit<V: View>(&mut self, max_capacity: u64, cx: Cx<'_, V>) {
        self.group_max_capacity = max_capacity;
        self.group_misfit_task_load =
            cx.rules.code.misfit_by_cpu || !task_fits_capacity(&cx.wakeup.wakee, max_capacity);
    }

    /// `group_classify()` of 5.10 to 7.3, without what only load balancing fills in.
    fn group_classify(&self, imbalance_pct: u32, imbalance: bool) -> GroupType {
        if self.is_overloaded(imbalance_pct) {
            GroupType::Overloaded
        } else if imbalance {
            GroupType::Imbalanced
        } else if self.group_misfit_task_load {
            GroupType::MisfitTask
        } else if !self.has_capacity(imbalance_pct) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    /// `group_is_overloaded()`: more tasks than CPUs, and the CPUs' time used up or waited for.
    fn is_overloaded(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        self.sum_nr_running > self.group_weight
            && (self.group_capacity * 100 < self.group_util * pct
                || self.group_capacity * pct < self.group_runnable * 100)
    }

    /// `group_has_capacity()`.
    fn has_capacity(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        self.sum_nr_running < self.group_weight
            || (self.group_capacity * pct >= self.group_runnable * 100
                && self.group_capacity * 100 > self.group_util * pct)
    }
}

/// `cpu_util_without()`: the CPU's utilisation without the task's share, estimated utilisation included.
#[inline]
pub(super) fn cpu_util_without(cpu: Cpu, own: bool, wakeup: &Wakeup<'_>, view: &impl View) -> u64 {
    let task = &wakeup.wakee;
    let mut util = view.cpu_util_avg(cpu);
    if own {
        util = util.saturating_sub(task.util_avg);
    }
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
fn idle_cpu_without(cpu: Cpu, wakeup: &Wakeup<'_>, view: &impl View) -> bool {
    let task_runs_here = wakeup.wakee.is_current && cpu == wakeup.wakee.prev_cpu;
    (view.curr_is_idle(cpu) || task_runs_here) && !view.ttwu_pending(cpu)
}
