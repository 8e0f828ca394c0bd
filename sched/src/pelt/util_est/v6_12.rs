//! `util_est_update()` of 6.12: one moving average, not taken where the task outgrew its CPU.

use super::v7_3::{Sample, next};
use crate::pelt::SchedAvg;

/// Updates a task's estimate at its dequeue (`util_est_update()`, 6.12).
///
/// `capacity_orig` is the CPU's capacity, at most 1024. Utilisation above it says that the CPU had no idle time, so
/// that the sample says nothing of what the task needs.
pub fn util_est_update(se: &mut SchedAvg, task_sleep: bool, capacity_orig: u64) {
    if task_sleep && let Some(sample) = Sample::take(se) {
        if sample.falls_clearly() && u64::from(sample.dequeued) > capacity_orig {
            return;
        }
        se.util_est = next(sample);
    }
}
