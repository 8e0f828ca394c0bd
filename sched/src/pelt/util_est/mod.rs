//! Estimated utilisation: what a task needed at its last activations, kept through its sleep.
//!
//! All functions are for kernels with the feature `UTIL_EST` on; where it is off, do not call them.

pub mod v6_1;
pub mod v6_12;
pub mod v7_3;

use super::SCHED_CAPACITY_SCALE;
use super::avg::SchedAvg;

/// Set in a task's `util_est` while its `util_avg` has not changed since that was taken (`UTIL_AVG_UNCHANGED`, 7.3; 5.10
/// has it in the same place since its stable patches).
pub const UTIL_AVG_UNCHANGED: u32 = 0x8000_0000;

/// Differences below this, about 1 %, do not move the estimate (`UTIL_EST_MARGIN`, 7.3).
pub const UTIL_EST_MARGIN: u32 = (SCHED_CAPACITY_SCALE / 100) as u32;

/// log2 of the moving average's window: a new sample weighs one quarter (`UTIL_EST_WEIGHT_SHIFT`, 7.3).
pub const UTIL_EST_WEIGHT_SHIFT: u32 = 2;

/// Which form of `util_est_update()` a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UtilEstRules {
    /// 5.10 and 6.1: last value and moving average.
    V6_1 {
        /// The feature `UTIL_EST_FASTUP`.
        fastup: bool,
    },
    /// 6.12: the moving average only.
    V6_12,
    /// 7.2 and 7.3: the same without the check of the CPU's capacity.
    V7_3,
}

/// Updates a task's estimate at its dequeue, in the form that `rules` name.
///
/// `task_sleep` tells a dequeue for sleep from one for migration; `capacity_orig` is the CPU's capacity. 7.3 has
/// neither parameter: its callers only ask at a sleep.
pub fn util_est_update(rules: UtilEstRules, se: &mut SchedAvg, task_sleep: bool, capacity_orig: u64) {
    match rules {
        UtilEstRules::V6_1 { fastup } => v6_1::util_est_update(se, task_sleep, capacity_orig, fastup),
        UtilEstRules::V6_12 => v6_12::util_est_update(se, task_sleep, capacity_orig),
        UtilEstRules::V7_3 if task_sleep => v7_3::util_est_update(se),
        UtilEstRules::V7_3 => {}
    }
}

/// Notes that a task's `util_avg` has changed (`cfs_se_util_change()`, 7.3).
#[inline]
pub fn cfs_se_util_change(se: &mut SchedAvg) {
    se.util_est &= !UTIL_AVG_UNCHANGED;
}

/// A task's estimate without the flag, 0 to 1024 (`_task_util_est()`; the maximum of both parts in 5.10 and 6.1, of
/// which later kernels have one).
#[inline]
pub fn _task_util_est(se: &SchedAvg) -> u32 {
    se.util_est_ewma.max(se.util_est & !UTIL_AVG_UNCHANGED)
}

/// A task's utilisation, estimated or current (`task_util_est()`, 7.3).
#[inline]
pub fn task_util_est(se: &SchedAvg) -> u64 {
    se.util_avg.max(u64::from(_task_util_est(se)))
}

/// A task joins: adds its estimate to the run queue's (`util_est_enqueue()`, 7.3).
pub fn util_est_enqueue(cfs_rq: &mut SchedAvg, se: &SchedAvg) {
    cfs_rq.util_est = cfs_rq.util_est.wrapping_add(_task_util_est(se));
}

/// A task leaves: takes its estimate off the run queue's (`util_est_dequeue()`, 7.3).
///
/// Must come before the task's own update, so that what was added is what is taken off.
pub fn util_est_dequeue(cfs_rq: &mut SchedAvg, se: &SchedAvg) {
    cfs_rq.util_est = cfs_rq.util_est.saturating_sub(_task_util_est(se));
}
