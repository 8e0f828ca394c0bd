//! `pick_next_entity()`: the task that should run, and the switch to it (`kernel/sched/fair.c`, 6.1).
//!
//! ```text
//! left = the task with the least vruntime
//! pick = next buddy         if wakeup_preempt_entity(next, left) < 1
//!      , else last buddy    if wakeup_preempt_entity(last, left) < 1
//!      , else left          if it is not the skip buddy
//!      , else second        if wakeup_preempt_entity(second, left) < 1
//!      , else left
//! ```

use super::CfsRq;
use crate::runqueue::{DequeueFlags, Entities, Policy, Prev, Switch, TaskId, vtime_before};
use smallvec::SmallVec;
use std::cmp::Ordering;

impl CfsRq {
    /// The task with the least vruntime, unless a buddy is preferred and that is not too unfair
    /// (`pick_next_entity()`, 6.1). `curr` is the running task if it can continue. Returns `None` if there is no task.
    #[inline]
    pub(super) fn pick_next_entity(&self, es: &Entities, curr: Option<TaskId>) -> Option<TaskId> {
        let earlier = |waiting: Option<TaskId>| match (curr, waiting) {
            (Some(curr), Some(task)) if vtime_before(es[curr].vruntime, es[task].vruntime) => Some(curr),
            _ => waiting.or(curr),
        };
        let left = earlier(self.tasks_timeline.first())?;
        let fair = |task: &TaskId| self.wakeup_preempt_entity(es, *task, left) != Ordering::Greater;

        if let Some(buddy) = self.next.filter(fair).or(self.last.filter(fair)) {
            return Some(buddy);
        }
        if self.skip != Some(left) {
            return Some(left);
        }
        let second =
            if curr == Some(left) { self.tasks_timeline.first() } else { earlier(self.tasks_timeline.next(es, left)) };
        second.filter(fair).or(Some(left))
    }

    /// Removes a task from the buddies (`clear_buddies()`, 6.1).
    pub(super) fn clear_buddies(&mut self, task: TaskId) {
        for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
            if *buddy == Some(task) {
                *buddy = None;
            }
        }
    }

    /// Takes the running task off if it blocks or exits, and gives the CPU to the task that should have it
    /// (`__schedule()`, `pick_next_task_fair()`, `put_prev_entity()` and `set_next_entity()`, 6.1). The caller clears
    /// the need-resched flag.
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        self.try_to_block_task(es, now, prev);
        let curr = self.queued_curr(es);
        if curr.is_some() {
            self.update_curr(es, now);
        }
        let next = self.pick_next_entity(es, curr);
        if let Some(next) = next.filter(|_| self.rules.pick_clears_buddies) {
            self.clear_buddies(next);
        }
        if next != self.curr {
            self.put_prev_entity(es, now);
            if let Some(next) = next {
                self.set_next_entity(es, now, next);
            }
        }
        Switch { next, reaped: SmallVec::new() }
    }

    /// Takes the running task off if it blocks or exits (`__schedule()`; since 6.13 `try_to_block_task()`).
    #[inline]
    fn try_to_block_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        if let Some(curr) = self.curr.filter(|_| prev != Prev::Runs) {
            self.dequeue_task(es, now, curr, DequeueFlags::SLEEP);
        }
    }

    /// A higher class takes the CPU (`put_prev_task_fair()`).
    pub fn put_prev_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        self.try_to_block_task(es, now, prev);
        self.put_prev_entity(es, now);
    }

    /// Takes the CPU from the running task, if any, which then waits if it is still queued (`put_prev_entity()`, 6.1).
    pub(super) fn put_prev_entity(&mut self, es: &mut Entities, now: u64) {
        if let Some(curr) = self.queued_curr(es) {
            self.update_curr(es, now);
            self.tasks_timeline.insert(es, curr);
        }
        self.curr = None;
    }

    /// Gives the CPU to a waiting task (`set_next_entity()`, 6.1).
    #[inline]
    pub(super) fn set_next_entity(&mut self, es: &mut Entities, now: u64, task: TaskId) {
        if !self.rules.pick_clears_buddies {
            self.clear_buddies(task);
        }
        if es[task].on_rq {
            self.tasks_timeline.remove(es, task);
        }
        let e = &mut es[task];
        e.exec_start = now;
        e.prev_sum_exec_runtime = e.sum_exec_runtime;
        self.curr = Some(task);
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
