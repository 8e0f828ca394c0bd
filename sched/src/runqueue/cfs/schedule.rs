//! Switching tasks.

use super::CfsRq;
use crate::runqueue::{DequeueFlags, Entities, Hrtick, Policy, Prev, Switch, TaskId};
use smallvec::SmallVec;

impl CfsRq {
    /// Takes the running task off if it blocks or exits, and gives the CPU to the task that should have it
    /// (`__schedule()`, `pick_next_task_fair()`, `put_prev_entity()` and `set_next_entity()`, 6.1). The caller clears
    /// the need-resched flag.
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        if let Some(curr) = self.curr.filter(|_| prev != Prev::Runs) {
            self.dequeue_task(es, now, curr, DequeueFlags::SLEEP);
        }
        let curr = self.queued_curr(es);
        if curr.is_some() {
            self.update_curr(es, now);
        }
        let next = self.pick_next_entity(es, curr);
        if let Some(next) = next.filter(|_| self.rules.pick_clears_buddies) {
            self.clear_buddies(next);
        }
        if next != self.curr {
            self.put_prev_task(es, now);
            if let Some(next) = next {
                self.set_next_task(es, now, next);
            }
        }
        Switch { next, reaped: SmallVec::new() }
    }

    /// The running task, if any, gives the CPU up and waits if it is still queued (`put_prev_entity()`, 6.1).
    pub(super) fn put_prev_task(&mut self, es: &mut Entities, now: u64) {
        if let Some(curr) = self.queued_curr(es) {
            self.update_curr(es, now);
            self.waiting.insert(es, curr);
        }
        self.curr = None;
    }

    /// A waiting task gets the CPU (`set_next_entity()`, 6.1).
    pub(super) fn set_next_task(&mut self, es: &mut Entities, now: u64, task: TaskId) {
        if !self.rules.pick_clears_buddies {
            self.clear_buddies(task);
        }
        if es[task].on_rq {
            self.waiting.remove(es, task);
        }
        let e = &mut es[task];
        e.exec_start = now;
        e.prev_sum_exec_runtime = e.sum_exec_runtime;
        self.curr = Some(task);
    }

    /// The hrtick that the running task is to have, with the feature on: at the end of its slice (`hrtick_start_fair()`,
    /// 5.10 to 6.1).
    pub fn hrtick(&self, es: &Entities) -> Hrtick {
        let Some(curr) = self.curr.filter(|_| self.rules.hrtick && self.nr_queued > 1) else { return Hrtick::Off };
        let ran = es[curr].sum_exec_runtime - es[curr].prev_sum_exec_runtime;
        self.sched_slice(es, curr).checked_sub(ran).map_or(Hrtick::Over, Hrtick::start)
    }

    /// The running task yields (`yield_task_fair()`, 6.1): the next pick passes over it if that is not too unfair. A
    /// [`schedule`](Self::schedule) follows.
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr.filter(|_| self.nr_queued != 1) else { return };
        self.clear_buddies(curr);
        if es[curr].policy != Policy::Batch {
            self.update_curr(es, now);
        }
        self.skip = Some(curr);
    }
}
