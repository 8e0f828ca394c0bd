//! `update_curr()`: run time into virtual time. And `sched_slice()`: a task's share of the period
//! (`kernel/sched/fair.c`, 6.1).
//!
//! ```text
//! update_curr():
//!     curr->vruntime += delta_exec * NICE_0_LOAD / weight
//!     min_vruntime    = max(min_vruntime, min(curr->vruntime, leftmost->vruntime))
//!
//! sched_slice() = period * weight / sum of weights
//!     period    = sysctl_sched_latency, or nr_running * min_granularity with more than sched_nr_latency tasks
//! ```

use super::CfsRq;
use crate::runqueue::load_weight::calc_delta;
use crate::runqueue::{Entities, Entity, LoadWeight, TaskId, vtime_before};

impl CfsRq {
    /// Charges the running task up to `now` (`update_curr()`, 6.1). Requests no reschedule: CFS decides at the tick.
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr else { return };
        let e = &mut es[curr];
        let Some(delta_exec) = e.update_curr_se(now) else { return };
        e.vruntime = e.vruntime.wrapping_add(e.calc_delta_fair(delta_exec));
        self.update_min_vruntime(es);
    }

    /// Advances the queue's virtual time to the least vruntime of its tasks (`update_min_vruntime()`, 6.1). It never
    /// goes back, because a task may join with less.
    pub(super) fn update_min_vruntime(&mut self, es: &Entities) {
        let curr = self.queued_curr(es).map(|task| es[task].vruntime);
        let leftmost = self.tasks_timeline.first().map(|task| es[task].vruntime);
        let least = match (curr, leftmost) {
            (Some(curr), Some(leftmost)) if vtime_before(leftmost, curr) => leftmost,
            (Some(vruntime), _) | (None, Some(vruntime)) => vruntime,
            (None, None) => return,
        };
        if vtime_before(self.min_vruntime, least) {
            self.min_vruntime = least;
        }
    }

    /// The period in which `nr_running` tasks run once, ns (`__sched_period()`, 6.1).
    pub(super) fn sched_period(&self, nr_running: u32) -> u64 {
        if nr_running > self.params.nr_latency {
            u64::from(nr_running) * self.params.min_granularity_ns
        } else {
            self.params.latency_ns
        }
    }

    /// The task's share of the period by weight, ns of run time (`sched_slice()`, 6.1). A task that is not queued is
    /// counted as if it were.
    pub fn sched_slice(&self, es: &Entities, task: TaskId) -> u64 {
        let e = &es[task];
        let nr_running = self.nr_queued + u32::from(!e.on_rq);
        let load = if e.on_rq { self.load } else { self.load + e.full_weight() };
        let share = calc_delta(self.sched_period(nr_running), e.load.weight, LoadWeight::sum(load >> 10));
        self.at_least_min_granularity(e, share)
    }

    /// `BASE_SLICE`: raises the slice of an entity of this queue to the least (`sched_slice()`, 6.1).
    pub(super) fn at_least_min_granularity(&self, e: &Entity, slice: u64) -> u64 {
        if !self.params.base_slice {
            return slice;
        }
        slice.max(if self.rules.sched_idle_slices && e.is_idle() && !self.sched_idle_cfs_rq() {
            self.params.idle_min_granularity_ns
        } else {
            self.params.min_granularity_ns
        })
    }

    /// The task's share of the period in virtual time, ns (`sched_vslice()`, 6.1).
    pub(super) fn sched_vslice(&self, es: &Entities, task: TaskId) -> u64 {
        es[task].calc_delta_fair(self.sched_slice(es, task))
    }

    /// Whether there are tasks and all are of policy `SCHED_IDLE` (`sched_idle_cfs_rq()`, 6.1).
    fn sched_idle_cfs_rq(&self) -> bool {
        self.nr_queued != 0 && self.nr_queued == self.nr_idle
    }
}
