//! The load of the queued tasks alone, which placement and balancing compared up to 5.4 (`runnable_load_avg`).
//!
//! A task's own `runnable_load_avg` is its `load_avg` where there are no groups: both sums are fed by `se->on_rq`, and it is
//! attached with the same value.

use super::accumulate::___update_load_sum;
use super::avg::{___update_load_avg, SchedAvg};
use super::cfs_rq::CfsRqPelt;

/// A run queue's `runnable_load_avg` and `runnable_load_sum` (5.3). 0 where [`PeltRules`](super::PeltRules) has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunnableLoad {
    /// Average load of the queued tasks, in units of weight (nice 0 is 1024).
    pub avg: u64,
    /// Its sum, in µs (of 1024 ns) times weight.
    pub sum: u64,
}

impl RunnableLoad {
    /// Ages it as the run queue's load is aged from `before` to `now`, during which tasks of `weight` were queued.
    pub(super) fn age(&mut self, now: u64, before: &SchedAvg, weight: u64) {
        let mut sa = SchedAvg { load_sum: self.sum, load_avg: self.avg, ..*before };
        if ___update_load_sum(now, &mut sa, weight, 0, false) {
            ___update_load_avg(&mut sa, 1);
        }
        (self.avg, self.sum) = (sa.load_avg, sa.load_sum);
    }
}

/// A task of `weight` is put on the queue, after its averages and the run queue's are up to date
/// (`enqueue_runnable_load_avg()`, 5.3).
pub fn enqueue_runnable_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    if cfs_rq.rules.runnable_load {
        let load = &mut cfs_rq.runnable_load;
        load.avg = load.avg.wrapping_add(se.load_avg);
        load.sum = load.sum.wrapping_add(weight.wrapping_mul(se.load_sum));
    }
}

/// A task of `weight` is taken off it (`dequeue_runnable_load_avg()`, 5.3).
pub fn dequeue_runnable_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    if cfs_rq.rules.runnable_load {
        let load = &mut cfs_rq.runnable_load;
        load.avg = load.avg.saturating_sub(se.load_avg);
        load.sum = load.sum.saturating_sub(weight.wrapping_mul(se.load_sum));
    }
}
