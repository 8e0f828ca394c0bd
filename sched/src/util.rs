//! A CPU's utilisation by fair tasks, as placement and frequency selection ask for it.
//!
//! In all of these the result is on the capacity scale (1024 is the machine's fastest CPU) and at most the CPU's
//! capacity; `util_est` is the feature `UTIL_EST`.

use crate::cpumask::Cpu;
use crate::pelt::SchedAvg;
use crate::pelt::util_est::_task_util_est;

/// A CPU as these functions see it.
#[derive(Clone, Copy, Debug)]
pub struct CpuView<'a> {
    /// Its number.
    pub cpu: Cpu,
    /// Averages of its root fair run queue: `util_avg`, `runnable_avg` and `util_est` are read.
    pub avg: &'a SchedAvg,
    /// Its capacity at its highest frequency, 1 to 1024 (`arch_scale_cpu_capacity()`; `capacity_orig_of()` in 6.1).
    pub capacity: u64,
}

/// A task whose placement is being considered.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// The CPU it is on, or was last.
    pub cpu: Cpu,
    /// Its averages.
    pub avg: &'a SchedAvg,
    /// It is on a run queue or asks for itself (`task_on_rq_queued(p) || current == p`): its estimate is part of its
    /// run queue's. False at a wake-up, true at an exec.
    pub enqueued: bool,
}

/// What placing the task means for one CPU.
#[derive(PartialEq)]
enum Change {
    Add,
    Sub,
    Nothing,
}

impl Change {
    fn of(cpu: Cpu, task: &TaskView, dst_cpu: Option<Cpu>) -> Change {
        match (task.cpu == cpu, dst_cpu == Some(cpu)) {
            (false, true) => Change::Add,
            (true, false) => Change::Sub,
            _ => Change::Nothing,
        }
    }

    fn apply(&self, sum: u64, contribution: u64) -> u64 {
        match self {
            Change::Add => sum.wrapping_add(contribution),
            Change::Sub => sum.saturating_sub(contribution),
            Change::Nothing => sum,
        }
    }
}

/// The CPU's utilisation if `task` were on `dst_cpu`, or nowhere if that is `None` (`cpu_util()`, 7.3; the same since
/// 6.12 at least). Without a task, as it is.
///
/// `boost` counts waiting as well as running: the maximum with `runnable_avg` is taken.
pub fn cpu_util(cpu: &CpuView, task: Option<&TaskView>, dst_cpu: Option<Cpu>, boost: bool, util_est: bool) -> u64 {
    let change = task.map_or(Change::Nothing, |task| Change::of(cpu.cpu, task, dst_cpu));
    let (util_avg, runnable_avg) = task.map_or((0, 0), |task| (task.avg.util_avg, task.avg.runnable_avg));

    let mut util = change.apply(cpu.avg.util_avg, util_avg);
    if boost {
        util = util.max(change.apply(cpu.avg.runnable_avg, runnable_avg));
    }
    if util_est {
        util = util.max(estimated(cpu, task, dst_cpu));
    }
    util.min(cpu.capacity)
}

/// The CPU's estimated utilisation with the task on `dst_cpu`.
///
/// A sleeping task's estimate is part of no run queue's, whichever CPU it last ran on; so the estimate is added where
/// the task would go, and taken off only while it is enqueued.
fn estimated(cpu: &CpuView, task: Option<&TaskView>, dst_cpu: Option<Cpu>) -> u64 {
    let estimate = u64::from(cpu.avg.util_est);
    let Some(task) = task else {
        return estimate;
    };
    let contribution = u64::from(_task_util_est(task.avg));
    if dst_cpu == Some(cpu.cpu) {
        estimate + contribution
    } else if task.enqueued {
        estimate.saturating_sub(contribution)
    } else {
        estimate
    }
}

/// The CPU's utilisation (`cpu_util_cfs()`, 6.1 and 7.3; `cpu_util()` in 5.10).
pub fn cpu_util_cfs(cpu: &CpuView, util_est: bool) -> u64 {
    cpu_util(cpu, None, None, false, util_est)
}

/// The CPU's utilisation, boosted by waiting tasks (`cpu_util_cfs_boost()`, 7.3).
pub fn cpu_util_cfs_boost(cpu: &CpuView, util_est: bool) -> u64 {
    cpu_util(cpu, None, None, true, util_est)
}

/// The CPU's utilisation if `task` were on `dst_cpu` (`cpu_util_next()`, 5.10 and 6.1: [`cpu_util`] unboosted).
///
/// 5.10 does not take an enqueued task's estimate off, but asks only at wake-ups.
pub fn cpu_util_next(cpu: &CpuView, task: &TaskView, dst_cpu: Option<Cpu>, util_est: bool) -> u64 {
    cpu_util(cpu, Some(task), dst_cpu, false, util_est)
}

/// The CPU's utilisation without `task` (`cpu_util_without()`, 7.3; 5.10 and 6.1 give the same).
///
/// A task of another CPU has no part in it, and neither has one that is attached to no run queue (its
/// `last_update_time` is 0): it is new or has just migrated.
pub fn cpu_util_without(cpu: &CpuView, task: &TaskView, util_est: bool) -> u64 {
    let contributes = cpu.cpu == task.cpu && task.avg.last_update_time != 0;
    cpu_util(cpu, contributes.then_some(task), None, false, util_est)
}
