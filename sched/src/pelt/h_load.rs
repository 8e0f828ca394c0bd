//! A task's share of its CPU's load, without groups.

use super::avg::SchedAvg;
use super::cfs_rq::CfsRqPelt;

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
