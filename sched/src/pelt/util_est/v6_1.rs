//! `util_est_update()` of 5.10 and 6.1: the last value (`enqueued`) and a moving average (`ewma`).

use super::{UTIL_AVG_UNCHANGED, UTIL_EST_MARGIN, UTIL_EST_WEIGHT_SHIFT};
use crate::pelt::SchedAvg;

/// Updates a task's estimate at its dequeue (`util_est_update()`, 6.1).
///
/// `capacity_orig` is the CPU's capacity, at most 1024; `fastup` the feature `UTIL_EST_FASTUP`.
pub fn util_est_update(se: &mut SchedAvg, task_sleep: bool, capacity_orig: u64, fastup: bool) {
    if !task_sleep || se.util_est & UTIL_AVG_UNCHANGED != 0 {
        return;
    }
    let enqueued = se.util_avg as u32;
    let mut ewma = se.util_est_ewma;

    if fastup && ewma < enqueued {
        ewma = enqueued;
    } else {
        // Of the kernel's two `long`s the first receives an `unsigned int` difference, which is not sign-extended.
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
