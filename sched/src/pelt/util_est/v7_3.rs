//! `util_est_update()` of 7.2 and 7.3: one moving average, up at once and down slowly.

use super::{UTIL_AVG_UNCHANGED, UTIL_EST_MARGIN, UTIL_EST_WEIGHT_SHIFT};
use crate::pelt::SchedAvg;

/// Updates a task's estimate at its dequeue for sleep (`util_est_update()`, 7.3).
pub fn util_est_update(se: &mut SchedAvg) {
    if let Some(sample) = Sample::take(se) {
        se.util_est = next(sample);
    }
}

/// What an estimate is made of.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    ewma: u32,
    pub(super) dequeued: u32,
    runnable_avg: u64,
}

impl Sample {
    /// `None` if the averages have not changed since the task was enqueued.
    pub(super) fn take(se: &SchedAvg) -> Option<Sample> {
        (se.util_est & UTIL_AVG_UNCHANGED == 0).then_some(Sample {
            ewma: se.util_est,
            dequeued: se.util_avg as u32,
            runnable_avg: se.runnable_avg,
        })
    }

    /// The sample is below the estimate by more than the margin.
    pub(super) fn falls_clearly(&self) -> bool {
        self.ewma > self.dequeued && self.ewma - self.dequeued >= UTIL_EST_MARGIN
    }

    /// The task waited for the CPU, so that it may have needed more than it got.
    fn waited(&self) -> bool {
        u64::from(self.dequeued) + u64::from(UTIL_EST_MARGIN) < self.runnable_avg
    }
}

/// The next estimate, with the flag.
pub(super) fn next(sample: Sample) -> u32 {
    let Sample { ewma, dequeued, .. } = sample;
    let estimate = if ewma <= dequeued {
        dequeued
    } else if sample.falls_clearly() && !sample.waited() {
        // ewma' = ewma - (ewma - sample) / 4
        (ewma << UTIL_EST_WEIGHT_SHIFT).wrapping_sub(ewma - dequeued) >> UTIL_EST_WEIGHT_SHIFT
    } else {
        ewma
    };
    estimate | UTIL_AVG_UNCHANGED
}
