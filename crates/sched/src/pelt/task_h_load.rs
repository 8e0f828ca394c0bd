//! `task_h_load()` and `runnable_load_avg`: the loads of a task and of a queue that the load balancer compares
//! (`kernel/sched/fair.c`).
//!
//! ```text
//! task_h_load() = se->load_avg * cfs_rq->h_load / (cfs_rq->load_avg + 1)
//! ```
//!
//! `runnable_load_avg` is the load of the queued tasks only, which placement and balancing compared up to 5.4. A task's
//! own equals its `load_avg` if there are no groups: both sums are fed by `se->on_rq`, and it is attached with the
//! same value.

use super::accumulate_sum::SchedAvg;
use super::update_load_avg::CfsRqPelt;

/// Refreshes `h_load` once a jiffy (`update_cfs_rq_h_load()`, 7.3, for a root run queue).
fn update_cfs_rq_h_load(cfs_rq: &mut CfsRqPelt, jiffies: u64) {
    if cfs_rq.last_h_load_update != jiffies {
        cfs_rq.h_load = cfs_rq.avg.load_avg;
        cfs_rq.last_h_load_update = jiffies;
    }
}

/// A task's load in units of weight (`task_h_load()`, the same from 5.10 to 7.3).
///
/// `h_load` is refreshed at most once a jiffy while `load_avg` changes all the time, so the result differs from the
/// task's own `load_avg` by more than rounding. `jiffies` is the kernel's counter, which does not start at 0: a new run
/// queue counts as refreshed in jiffy 0, so the result is 0 then.
pub fn task_h_load(se: &SchedAvg, cfs_rq: &mut CfsRqPelt, jiffies: u64) -> u64 {
    update_cfs_rq_h_load(cfs_rq, jiffies);
    se.load_avg.wrapping_mul(cfs_rq.h_load) / cfs_rq.avg.load_avg.wrapping_add(1)
}

/// A run queue's `runnable_load_avg` and `runnable_load_sum` (5.3). Both are 0 if
/// [`PeltRules::runnable_load`](super::PeltRules) is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunnableLoad {
    /// Average load of the queued tasks, in units of weight (nice 0 is 1024).
    pub avg: u64,
    /// Its sum, in µs (of 1024 ns) times weight.
    pub sum: u64,
}

/// Adds the load of a task of `weight` that is enqueued, after its averages and the run queue's have been updated
/// (`enqueue_runnable_load_avg()`, 5.3).
pub fn enqueue_runnable_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    if cfs_rq.rules.runnable_load {
        let load = &mut cfs_rq.runnable_load;
        load.avg = load.avg.wrapping_add(se.load_avg);
        load.sum = load.sum.wrapping_add(weight.wrapping_mul(se.load_sum));
    }
}

/// Subtracts the load of a task of `weight` that is dequeued, after its averages and the run queue's have been updated
/// (`dequeue_runnable_load_avg()`, 5.3).
pub fn dequeue_runnable_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    if cfs_rq.rules.runnable_load {
        let load = &mut cfs_rq.runnable_load;
        load.avg = load.avg.saturating_sub(se.load_avg);
        load.sum = load.sum.saturating_sub(weight.wrapping_mul(se.load_sum));
    }
}
