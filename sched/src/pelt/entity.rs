//! Updates of a task's own averages.

use super::accumulate::___update_load_sum;
use super::avg::{___update_load_avg, SchedAvg};
use super::util_est::cfs_se_util_change;

/// What a task was since its last update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entity {
    /// Its weight, nice 0 being 1024 (`se_weight()`); at least 1.
    pub weight: u64,
    /// It is on the run queue, running or delayed included (`se->on_rq`).
    pub on_rq: bool,
    /// Its dequeue is delayed (`se->sched_delayed`, EEVDF since 6.12): on the queue, but not runnable.
    pub sched_delayed: bool,
    /// It is the run queue's current task (`cfs_rq->curr == se`, in 7.3 `cfs_rq->h_curr == se`).
    pub curr: bool,
}

impl Entity {
    /// `se_runnable()` of a task, 7.3.
    fn se_runnable(&self) -> u64 {
        u64::from(self.on_rq && !self.sched_delayed)
    }
}

/// Ages a task that sleeps, up to `now` in ns of its run queue's PELT clock. Returns whether the averages were taken
/// (`__update_load_avg_blocked_se()`, 7.3).
#[inline]
pub fn __update_load_avg_blocked_se(now: u64, se: &mut SchedAvg, weight: u64) -> bool {
    let crossed = ___update_load_sum(now, se, 0, 0, false);
    if crossed {
        ___update_load_avg(se, weight);
    }
    crossed
}

/// Ages a task on its run queue, up to `now` in ns of that run queue's PELT clock. Returns whether the averages were
/// taken; if so `util_est` may be updated at the next dequeue (`__update_load_avg_se()`, 7.3).
#[inline]
pub fn __update_load_avg_se(now: u64, se: &mut SchedAvg, entity: &Entity) -> bool {
    let crossed = ___update_load_sum(now, se, u64::from(entity.on_rq), entity.se_runnable(), entity.curr);
    if crossed {
        ___update_load_avg(se, entity.weight);
        cfs_se_util_change(se);
    }
    crossed
}
