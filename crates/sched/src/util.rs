//! `cpu_util()` (`kernel/sched/fair.c`): a CPU's utilisation by fair tasks, as placement and frequency selection read
//! it.
//!
//! ```text
//! cpu_util(cpu, p, dst_cpu, boost) (7.3):
//!     util = util_avg                                   with p added if it goes to cpu, removed if it leaves cpu
//!     if boost: util = max(util, runnable_avg)          with p likewise
//!     if UTIL_EST: util = max(util, util_est)           with p added if it is to be on cpu, removed if it is enqueued
//!     return min(util, arch_scale_cpu_capacity(cpu))
//! ```
//!
//! The result is on the capacity scale: 1024 is the machine's fastest CPU. The argument `util_est` is the feature
//! UTIL_EST.

use crate::boost::BoostForm;
use crate::cpumask::Cpu;
use crate::pelt::SchedAvg;
use crate::pelt::util_est::_task_util_est;

/// A CPU and its averages.
#[derive(Clone, Copy, Debug)]
pub struct CpuView<'a> {
    /// Its number.
    pub cpu: Cpu,
    /// The averages of its root fair run queue, of which `util_avg`, `runnable_avg` and `util_est` are read.
    pub avg: &'a SchedAvg,
    /// Its capacity at its highest frequency (`arch_scale_cpu_capacity()`, in 6.1 `capacity_orig_of()`), 1 to 1024.
    pub capacity: u64,
}

/// A task whose placement is being considered.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// The CPU it is on, or was last.
    pub cpu: Cpu,
    /// Its averages.
    pub avg: &'a SchedAvg,
    /// Its estimate is part of its run queue's, because it is queued or is the current task (`task_on_rq_queued(p) ||
    /// current == p`). False at a wake-up, true at an exec.
    pub enqueued: bool,
}

/// The sums of a CPU that `cpu_util()` reads, on the capacity scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSums {
    /// `util_avg` of the root fair run queue.
    pub util_avg: u64,
    /// `runnable_avg` of the root fair run queue.
    pub runnable_avg: u64,
    /// `util_est` of the root fair run queue; `None` with UTIL_EST off.
    pub util_est: Option<u64>,
    /// The CPU's capacity at its highest frequency, 1 to 1024.
    pub capacity: u64,
}

/// A task's share of those sums, on the capacity scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSums {
    /// `util_avg`.
    pub util_avg: u64,
    /// `runnable_avg`.
    pub runnable_avg: u64,
    /// `_task_util_est()`.
    pub util_est: u64,
    /// Its estimate is part of its run queue's ([`TaskView::enqueued`]).
    pub enqueued: bool,
}

/// The effect of a task's placement on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The task comes from another CPU.
    Comes,
    /// The task was on this CPU and stays.
    Stays,
    /// The task was on this CPU and goes to another one, or to none.
    Goes,
    /// The task was on another CPU and does not come to this one.
    Elsewhere,
}

impl Placed {
    /// Returns the effect on `cpu` if a task of `task_cpu` is placed on `dst_cpu`, or on no CPU.
    #[inline]
    pub fn on(cpu: Cpu, task_cpu: Cpu, dst_cpu: Option<Cpu>) -> Placed {
        match (task_cpu == cpu, dst_cpu == Some(cpu)) {
            (false, true) => Placed::Comes,
            (true, true) => Placed::Stays,
            (true, false) => Placed::Goes,
            (false, false) => Placed::Elsewhere,
        }
    }

    #[inline]
    fn apply(self, sum: u64, contribution: u64) -> u64 {
        match self {
            Placed::Comes => sum.wrapping_add(contribution),
            Placed::Goes => sum.saturating_sub(contribution),
            Placed::Stays | Placed::Elsewhere => sum,
        }
    }

    /// A sleeping task's estimate is part of no run queue's. So it is added on the CPU where the task would go, even if
    /// it was there before, and removed only if the task is enqueued.
    #[inline]
    fn apply_estimate(self, sum: u64, task: &TaskSums) -> u64 {
        match self {
            Placed::Comes | Placed::Stays => sum + task.util_est,
            Placed::Goes | Placed::Elsewhere if task.enqueued => sum.saturating_sub(task.util_est),
            Placed::Goes | Placed::Elsewhere => sum,
        }
    }
}

impl CpuSums {
    /// `cpu_util()`: returns the CPU's utilisation with a task placed in this way, or as it is if `task` is `None`.
    /// With `boost` it counts waiting as well as running, in the version's form.
    #[inline]
    pub fn cpu_util(&self, task: Option<(&TaskSums, Placed)>, boost: Option<BoostForm>) -> u64 {
        let with = |sum: u64, of: fn(&TaskSums) -> u64| task.map_or(sum, |(task, placed)| placed.apply(sum, of(task)));
        let mut util = match boost {
            None => with(self.util_avg, |task| task.util_avg),
            Some(BoostForm::CpuAndTask) => {
                let runnable = with(self.runnable_avg, |task| task.runnable_avg);
                with(self.util_avg, |task| task.util_avg).max(runnable)
            }
            Some(BoostForm::Cpu | BoostForm::CpuAndEstimate) => {
                with(self.util_avg.max(self.runnable_avg), |task| task.util_avg)
            }
        };
        if let Some(mut estimate) = self.util_est {
            if boost == Some(BoostForm::CpuAndEstimate) {
                estimate = estimate.max(self.runnable_avg);
            }
            util = util.max(task.map_or(estimate, |(task, placed)| placed.apply_estimate(estimate, task)));
        }
        util.min(self.capacity)
    }
}

/// `cpu_util()`: returns the CPU's utilisation if `task` were on `dst_cpu`, or on no CPU if that is `None`. Without a
/// task it is the CPU's utilisation as it is. With `boost` it counts waiting as well as running, in one of the three
/// forms that the kernel has had.
pub fn cpu_util(
    cpu: &CpuView,
    task: Option<&TaskView>,
    dst_cpu: Option<Cpu>,
    boost: Option<BoostForm>,
    util_est: bool,
) -> u64 {
    let sums = CpuSums {
        util_avg: cpu.avg.util_avg,
        runnable_avg: cpu.avg.runnable_avg,
        util_est: util_est.then(|| u64::from(cpu.avg.util_est)),
        capacity: cpu.capacity,
    };
    let Some(task) = task else { return sums.cpu_util(None, boost) };
    let of_task = TaskSums {
        util_avg: task.avg.util_avg,
        runnable_avg: task.avg.runnable_avg,
        util_est: u64::from(_task_util_est(task.avg)),
        enqueued: task.enqueued,
    };
    sums.cpu_util(Some((&of_task, Placed::on(cpu.cpu, task.cpu, dst_cpu))), boost)
}

/// `cpu_util_cfs()` (6.1 and 7.3; `cpu_util()` in 5.10): returns the CPU's utilisation.
pub fn cpu_util_cfs(cpu: &CpuView, util_est: bool) -> u64 {
    cpu_util(cpu, None, None, None, util_est)
}

/// `cpu_util_cfs_boost()`: returns the CPU's utilisation, raised to its runnable average. Without a task all forms of
/// boosting are equal. schedutil reads it if [`BoostSite::Freq`](crate::boost::BoostSite::Freq) is on.
pub fn cpu_util_cfs_boost(cpu: &CpuView, util_est: bool) -> u64 {
    cpu_util(cpu, None, None, Some(BoostForm::CpuAndTask), util_est)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the thread that the fix of July 2023 came from: a task comes to a CPU.
    #[test]
    fn the_threads_example_is_80_as_merged_and_75_as_fixed() {
        let cpu = CpuSums { util_avg: 50, runnable_avg: 70, util_est: Some(60), capacity: 1024 };
        let task = TaskSums { util_avg: 5, runnable_avg: 12, util_est: 10, enqueued: false };
        let util = |boost| cpu.cpu_util(Some((&task, Placed::Comes)), boost);
        assert_eq!(util(Some(BoostForm::CpuAndEstimate)), 80);
        assert_eq!(util(Some(BoostForm::Cpu)), 75);
        // 70 + 12: the task's own runnable average counts.
        assert_eq!(util(Some(BoostForm::CpuAndTask)), 82);
        assert_eq!(util(None), 70);
    }

    #[test]
    fn without_a_task_the_forms_are_one() {
        let cpu = CpuSums { util_avg: 50, runnable_avg: 70, util_est: Some(60), capacity: 1024 };
        for boost in [BoostForm::CpuAndEstimate, BoostForm::Cpu, BoostForm::CpuAndTask] {
            assert_eq!(cpu.cpu_util(None, Some(boost)), 70);
        }
    }
}
