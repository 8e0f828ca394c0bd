//! Run time into virtual time.

use super::CfsRq;
use crate::runqueue::load_weight::{calc_delta, calc_delta_fair};
use crate::runqueue::{Entities, LoadWeight, TaskId, before};

impl CfsRq {
    /// Charges the running task up to `now` (`update_curr()`, 6.1). Asks for nothing: CFS decides at the tick.
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr else { return };
        let e = &mut es[curr];
        let Some(delta_exec) = e.account_exec(now) else { return };
        e.vruntime = e.vruntime.wrapping_add(calc_delta_fair(delta_exec, e.load));
        self.update_min_vruntime(es);
    }

    /// Advances the queue's virtual time to that of its least task (`update_min_vruntime()`, 6.1). A task may join
    /// behind it, so it stays where it is rather than go back.
    pub(super) fn update_min_vruntime(&mut self, es: &Entities) {
        let tasks = [self.queued_curr(es), self.waiting.first()].into_iter().flatten();
        let least = tasks.map(|task| es[task].vruntime).reduce(|a, b| if before(b, a) { b } else { a });
        if let Some(least) = least.filter(|&least| before(self.min_vruntime, least)) {
            self.min_vruntime = least;
        }
    }

    /// The period in which `nr_running` tasks run once, ns (`__sched_period()`, 6.1).
    fn sched_period(&self, nr_running: u32) -> u64 {
        if nr_running > self.params.nr_latency {
            u64::from(nr_running) * self.params.min_granularity_ns
        } else {
            self.params.latency_ns
        }
    }

    /// The task's share of the period by weight, ns of run time (`sched_slice()`, 6.1). Of a task that is not queued:
    /// as if it were.
    pub fn sched_slice(&self, es: &Entities, task: TaskId) -> u64 {
        let e = &es[task];
        let (mut nr_running, mut load) = (self.nr_queued, self.load);
        if !e.on_rq {
            nr_running += 1;
            load += u64::from(e.load.weight);
        }
        let slice = calc_delta(self.sched_period(nr_running), e.load.weight, LoadWeight::sum(load));
        if !self.params.base_slice {
            return slice;
        }
        slice.max(if self.rules.sched_idle_slices && e.is_idle() && !self.sched_idle_cfs_rq() {
            self.params.idle_min_granularity_ns
        } else {
            self.params.min_granularity_ns
        })
    }

    /// The same in virtual time (`sched_vslice()`, 6.1).
    pub(super) fn sched_vslice(&self, es: &Entities, task: TaskId) -> u64 {
        calc_delta_fair(self.sched_slice(es, task), es[task].load)
    }

    /// Whether all queued tasks are of policy IDLE, and there is one (`sched_idle_cfs_rq()`, 6.1).
    fn sched_idle_cfs_rq(&self) -> bool {
        self.nr_queued != 0 && self.nr_queued == self.nr_idle
    }
}
