//! `util_est_update()`: the estimated utilisation, which is what a task needed at its last activations. It is kept
//! while the task sleeps (`kernel/sched/fair.c`).
//!
//! ```text
//! util_est_update(), when a task goes to sleep:
//!     util_avg has not changed since the last update      keep the estimate     UTIL_AVG_UNCHANGED
//!     util_avg >= ewma                                    ewma  = util_avg      fast up
//!     ewma - util_avg is within the margin of 1 %         keep
//!     the CPU was too small (up to 6.12), or the task
//!         waited for it (since 6.12)                      keep
//!     else                                                ewma -= (ewma - util_avg) / 4
//! ```
//!
//! The functions are for kernels with the feature `UTIL_EST` on. If it is off, do not call them.

use super::SCHED_CAPACITY_SCALE;
use super::accumulate_sum::SchedAvg;
use wakelab_kernel::{Feature, FeatureSet, Preset, UtilEst};

/// Set in a task's `util_est` while its `util_avg` has not changed since that was taken (`UTIL_AVG_UNCHANGED`, 7.3;
/// 5.10 has it in the same place since its stable patches).
pub const UTIL_AVG_UNCHANGED: u32 = 0x8000_0000;

/// Differences below this, about 1 %, do not move the estimate (`UTIL_EST_MARGIN`, 7.3).
pub const UTIL_EST_MARGIN: u32 = (SCHED_CAPACITY_SCALE / 100) as u32;

/// log2 of the moving average's window: a new sample weighs one quarter (`UTIL_EST_WEIGHT_SHIFT`, 7.3).
pub const UTIL_EST_WEIGHT_SHIFT: u32 = 2;

/// The form of `util_est_update()` in a kernel.
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

impl UtilEstRules {
    /// The form of `kernel` with `features` on.
    pub fn of(kernel: &Preset, features: FeatureSet) -> UtilEstRules {
        match kernel.util_est {
            UtilEst::LastAndEwma => UtilEstRules::V6_1 { fastup: features.has(Feature::UTIL_EST_FASTUP) },
            UtilEst::EwmaBelowCapacity => UtilEstRules::V6_12,
            UtilEst::Ewma => UtilEstRules::V7_3,
        }
    }
}

/// Updates a task's estimate at its dequeue, in the form that `rules` name.
///
/// `task_sleep` is set if the dequeue is for sleep, and not for migration; `capacity_orig` is the CPU's capacity. 7.3
/// has neither parameter: its callers only update at a sleep.
pub fn util_est_update(rules: UtilEstRules, se: &mut SchedAvg, task_sleep: bool, capacity_orig: u64) {
    match rules {
        UtilEstRules::V6_1 { fastup } => util_est_update_v6_1(se, task_sleep, capacity_orig, fastup),
        UtilEstRules::V6_12 => util_est_update_v6_12(se, task_sleep, capacity_orig),
        UtilEstRules::V7_3 if task_sleep => util_est_update_v7_3(se),
        UtilEstRules::V7_3 => {}
    }
}

/// Records that a task's `util_avg` has changed (`cfs_se_util_change()`, 7.3).
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

/// Adds the estimate of a task that joins to the run queue's (`util_est_enqueue()`, 7.3).
#[inline]
pub fn util_est_enqueue(cfs_rq: &mut SchedAvg, se: &SchedAvg) {
    cfs_rq.util_est = cfs_rq.util_est.wrapping_add(_task_util_est(se));
}

/// Subtracts the estimate of a task that leaves from the run queue's (`util_est_dequeue()`, 7.3).
///
/// It must be called before the task's own update, so that it subtracts what was added.
#[inline]
pub fn util_est_dequeue(cfs_rq: &mut SchedAvg, se: &SchedAvg) {
    cfs_rq.util_est = cfs_rq.util_est.saturating_sub(_task_util_est(se));
}

/// Updates a task's estimate at its dequeue (`util_est_update()`, 6.1).
///
/// `capacity_orig` is the CPU's capacity, at most 1024; `fastup` the feature `UTIL_EST_FASTUP`.
fn util_est_update_v6_1(se: &mut SchedAvg, task_sleep: bool, capacity_orig: u64, fastup: bool) {
    if !task_sleep || se.util_est & UTIL_AVG_UNCHANGED != 0 {
        return;
    }
    let enqueued = se.util_avg as u32;
    let mut ewma = se.util_est_ewma;

    if fastup && ewma < enqueued {
        ewma = enqueued;
    } else {
        // The first of the kernel's two `long`s receives an `unsigned int` difference, which is not sign-extended.
        let last_ewma_diff = i64::from(enqueued.wrapping_sub(ewma));
        let last_enqueued_diff = i64::from(se.util_est) - i64::from(enqueued);
        if within_margin(last_ewma_diff) {
            if within_margin(last_enqueued_diff) {
                return;
            }
        } else {
            if se.util_avg > capacity_orig {
                return;
            }
            // ewma' = ewma + (sample - ewma) / 4
            ewma <<= UTIL_EST_WEIGHT_SHIFT;
            ewma = i64::from(ewma).wrapping_add(last_ewma_diff) as u32;
            ewma >>= UTIL_EST_WEIGHT_SHIFT;
        }
    }
    se.util_est = enqueued | UTIL_AVG_UNCHANGED;
    se.util_est_ewma = ewma;
}

/// Whether |`value`| < [`UTIL_EST_MARGIN`], by one unsigned comparison of 32 bits (`within_margin()`, 6.1).
fn within_margin(value: i64) -> bool {
    let margin = UTIL_EST_MARGIN as i32;
    let value = value as i32;
    (value.wrapping_add(margin - 1) as u32) < (2 * margin - 1) as u32
}

/// Updates a task's estimate at its dequeue (`util_est_update()`, 6.12).
///
/// `capacity_orig` is the CPU's capacity, at most 1024. With a utilisation above it the CPU had no idle time, so the
/// sample does not show what the task needs.
fn util_est_update_v6_12(se: &mut SchedAvg, task_sleep: bool, capacity_orig: u64) {
    if task_sleep && let Some(sample) = Sample::of(se) {
        if sample.below_margin() && u64::from(sample.dequeued) > capacity_orig {
            return;
        }
        se.util_est = next_util_est(sample);
    }
}

/// Updates a task's estimate at its dequeue for sleep (`util_est_update()`, 7.3).
fn util_est_update_v7_3(se: &mut SchedAvg) {
    if let Some(sample) = Sample::of(se) {
        se.util_est = next_util_est(sample);
    }
}

/// The values from which an estimate is updated.
#[derive(Clone, Copy)]
struct Sample {
    ewma: u32,
    dequeued: u32,
    runnable_avg: u64,
}

impl Sample {
    /// Returns `None` if the averages have not changed since the task was enqueued.
    fn of(se: &SchedAvg) -> Option<Sample> {
        (se.util_est & UTIL_AVG_UNCHANGED == 0).then_some(Sample {
            ewma: se.util_est,
            dequeued: se.util_avg as u32,
            runnable_avg: se.runnable_avg,
        })
    }

    /// Whether the sample is below the estimate by at least the margin.
    fn below_margin(&self) -> bool {
        self.ewma > self.dequeued && self.ewma - self.dequeued >= UTIL_EST_MARGIN
    }

    /// Whether the task waited for the CPU, so it may have needed more than it got.
    fn waited(&self) -> bool {
        u64::from(self.dequeued) + u64::from(UTIL_EST_MARGIN) < self.runnable_avg
    }
}

/// The new estimate, with the flag set.
fn next_util_est(sample: Sample) -> u32 {
    let Sample { ewma, dequeued, .. } = sample;
    let estimate = if ewma <= dequeued {
        dequeued
    } else if sample.below_margin() && !sample.waited() {
        // ewma' = ewma - (ewma - sample) / 4
        (ewma << UTIL_EST_WEIGHT_SHIFT).wrapping_sub(ewma - dequeued) >> UTIL_EST_WEIGHT_SHIFT
    } else {
        ewma
    };
    estimate | UTIL_AVG_UNCHANGED
}
