//! A task's share of its CPU's load, without groups.

use super::accumulate_sum::{___update_load_avg, ___update_load_sum, SchedAvg};
use super::update_load_avg::CfsRqPelt;

/// `update_cfs_rq_h_load()`, 7.3, for a root run queue.
fn update_cfs_rq_h_load(cfs_rq: &mut CfsRqPelt, jiffies: u64) {
    if cfs_rq.last_h_load_update != jiffies {
        cfs_rq.h_load = cfs_rq.avg.load_avg;
        cfs_rq.last_h_load_update = jiffies;
    }
}

/// A task's load in units of weight (`task_h_load()`, the same from 5.10 to 7.3).
///
/// `h_load` is refreshed at most once in a jiffy while `load_avg` moves on, so the result differs from the task's own
/// `load_avg` by more than rounding. `jiffies` is the kernel's counter, which does not start at 0: a new run queue
/// counts as refreshed in jiffy 0, and answers 0 there.
pub fn task_h_load(se: &SchedAvg, cfs_rq: &mut CfsRqPelt, jiffies: u64) -> u64 {
    update_cfs_rq_h_load(cfs_rq, jiffies);
    se.load_avg.wrapping_mul(cfs_rq.h_load) / cfs_rq.avg.load_avg.wrapping_add(1)
}

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
