//! A CPU's utilisation by fair tasks, as placement and frequency selection ask for it.
//!
//! In all of these the result is on the capacity scale (1024 is the machine's fastest CPU) and at most the CPU's
//! capacity; `util_est` is the feature `UTIL_EST`.

use crate::boost::BoostForm;
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

/// The sums of a CPU that these functions read, by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSums {
    /// `util_avg` of its root fair run queue.
    pub util_avg: u64,
    /// `runnable_avg` of it.
    pub runnable_avg: u64,
    /// `util_est` of it; `None` with UTIL_EST off.
    pub util_est: Option<u64>,
    /// Its capacity at its highest frequency, 1 to 1024.
    pub capacity: u64,
}

/// What a task adds to those sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSums {
    /// `util_avg`.
    pub util_avg: u64,
    /// `runnable_avg`.
    pub runnable_avg: u64,
    /// `_task_util_est()`.
    pub util_est: u64,
    /// As [`TaskView::enqueued`].
    pub enqueued: bool,
}

/// What placing a task means for one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It comes from another CPU.
    Comes,
    /// It was there and stays.
    Stays,
    /// It was there and goes to another CPU, or nowhere.
    Goes,
    /// It was elsewhere and is elsewhere.
    Elsewhere,
}

impl Placed {
    /// For `cpu`, of a task that was on `task_cpu` and is put on `dst_cpu`, or nowhere.
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

    /// A sleeping task's estimate is part of no run queue's, whichever CPU it last ran on; so the estimate is added where the
    /// task would go, and taken off only while it is enqueued.
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
    /// `cpu_util()`: the CPU's utilisation with a task placed so; without one, as it is.
    ///
    /// `boost` counts waiting as well as running, in the form that the version has.
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

/// The CPU's utilisation if `task` were on `dst_cpu`, or nowhere if that is `None` (`cpu_util()`). Without a task, as it is.
///
/// `boost` counts waiting as well as running, in one of the three forms that `cpu_util()` has had.
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

/// The CPU's utilisation (`cpu_util_cfs()`, 6.1 and 7.3; `cpu_util()` in 5.10).
pub fn cpu_util_cfs(cpu: &CpuView, util_est: bool) -> u64 {
    cpu_util(cpu, None, None, None, util_est)
}

/// The CPU's utilisation, boosted by waiting tasks (`cpu_util_cfs_boost()`; the same
/// in all forms of boosting, as there is no task). Schedutil asks for it where [`BoostSite::Freq`](crate::boost::BoostSite::Freq) is
/// on.
pub fn cpu_util_cfs_boost(cpu: &CpuView, util_est: bool) -> u64 {
    cpu_util(cpu, None, None, Some(BoostForm::CpuAndTask), util_est)
}

/// The CPU's utilisation if `task` were on `dst_cpu` (`cpu_util_next()`, 5.10 and 6.1: [`cpu_util`] unboosted).
///
/// 5.10 does not take an enqueued task's estimate off, but asks only at wake-ups.
pub fn cpu_util_next(cpu: &CpuView, task: &TaskView, dst_cpu: Option<Cpu>, util_est: bool) -> u64 {
    cpu_util(cpu, Some(task), dst_cpu, None, util_est)
}

/// The CPU's utilisation without `task` (`cpu_util_without()`, 7.3; 5.10 and 6.1 give the same).
///
/// A task of another CPU has no part in it, and neither has one that is attached to no run queue (its
/// `last_update_time` is 0): it is new or has just migrated.
pub fn cpu_util_without(cpu: &CpuView, task: &TaskView, util_est: bool) -> u64 {
    let contributes = cpu.cpu == task.cpu && task.avg.last_update_time != 0;
    cpu_util(cpu, contributes.then_some(task), None, None, util_est)
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
