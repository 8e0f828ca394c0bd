//! Whether the running task is preempted: by a task that joined, or at the tick.

use super::CfsRq;
use crate::runqueue::{Entities, Policy, TaskId};
use crate::select::WakeFlags;
use std::cmp::Ordering;

impl CfsRq {
    /// [`check_preempt`](Self::check_preempt) of no particular wake-up.
    #[must_use]
    pub fn check_preempt_wakeup(&mut self, es: &mut Entities, now: u64, task: TaskId, need_resched: bool) -> bool {
        self.check_preempt(es, now, task, WakeFlags::empty(), need_resched)
    }

    /// Whether `task`, which was enqueued, asks for a reschedule (`check_preempt_wakeup()`, 5.10 to 6.1; of an idle CPU,
    /// `check_preempt_curr_idle()`). `need_resched`: one was asked for already, so nothing is checked.
    #[must_use]
    pub fn check_preempt(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> bool {
        let Some(curr) = self.curr else { return true };
        if curr == task {
            return false;
        }
        if self.rules.next_buddy && self.nr_queued >= self.params.nr_latency && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, task);
        }
        if need_resched {
            return false;
        }
        if es[curr].is_idle() && !es[task].is_idle() {
            self.set_last_buddy(es, curr);
            return true;
        }
        if es[task].policy != Policy::Normal || !self.params.wakeup_preemption {
            return false;
        }
        self.update_curr(es, now);
        if self.wakeup_preempt_entity(es, curr, task) != Ordering::Greater {
            return false;
        }
        if self.params.next_marker {
            self.set_next_buddy(es, task);
        }
        self.set_last_buddy(es, curr);
        true
    }

    /// `set_next_buddy()`, 5.10 to 6.1.
    fn set_next_buddy(&mut self, es: &Entities, task: TaskId) {
        if !es[task].is_idle() {
            self.next = Some(task);
        }
    }

    /// `set_last_buddy()` under its conditions in `check_preempt_wakeup()`, 6.1.
    fn set_last_buddy(&mut self, es: &Entities, curr: TaskId) {
        let many = self.nr_queued >= self.params.nr_latency;
        if self.params.last_buddy && many && es[curr].on_rq && !es[curr].is_idle() {
            self.last = Some(curr);
        }
    }

    /// The tick (`task_tick_fair()`, `entity_tick()`, 6.1). Returns whether to reschedule.
    #[must_use]
    pub fn task_tick(&mut self, es: &mut Entities, now: u64) -> bool {
        let Some(curr) = self.curr else { return false };
        self.update_curr(es, now);
        self.nr_queued > 1 && self.check_preempt_tick(es, curr)
    }

    /// Whether the running task has had its slice, or is a slice ahead of the first waiting one
    /// (`check_preempt_tick()`, 6.1).
    fn check_preempt_tick(&mut self, es: &Entities, curr: TaskId) -> bool {
        let ideal_runtime = self.sched_slice(es, curr);
        let e = &es[curr];
        let delta_exec = e.sum_exec_runtime - e.prev_sum_exec_runtime;
        if delta_exec > ideal_runtime {
            // It must not be picked again out of favour.
            self.clear_buddies(curr);
            return true;
        }
        if delta_exec < self.params.min_granularity_ns {
            return false;
        }
        let Some(first) = self.waiting.first() else { return false };
        e.vruntime.wrapping_sub(es[first].vruntime) as i64 > ideal_runtime as i64
    }
}
