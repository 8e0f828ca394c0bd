//! Who should run.

use super::CfsRq;
use crate::runqueue::load_weight::calc_delta_fair;
use crate::runqueue::tasks_timeline::Timeline;
use crate::runqueue::{DequeueFlags, Entities, Hrtick, Policy, Prev, Switch, TaskId, before};
use smallvec::SmallVec;
use std::cmp::Ordering;

impl CfsRq {
    /// The task with the least vruntime, unless a marker says otherwise and that is not too unfair
    /// (`pick_next_entity()`, 6.1). `curr` is the running task if it may go on. `None` if there is nobody.
    pub(super) fn pick_next_entity(&self, es: &Entities, curr: Option<TaskId>) -> Option<TaskId> {
        let earlier = |waiting: Option<TaskId>| match (curr, waiting) {
            (Some(curr), Some(task)) if before(es[curr].vruntime, es[task].vruntime) => Some(curr),
            _ => waiting.or(curr),
        };
        let left = earlier(self.waiting.first())?;
        let fair = |task: &TaskId| self.wakeup_preempt_entity(es, *task, left) != Ordering::Greater;

        if let Some(buddy) = self.next.filter(fair).or(self.last.filter(fair)) {
            return Some(buddy);
        }
        if self.skip != Some(left) {
            return Some(left);
        }
        let second = if curr == Some(left) {
            self.waiting.first()
        } else {
            earlier(Timeline::<crate::runqueue::tasks_timeline::ByVruntime>::next(es, left))
        };
        second.filter(fair).or(Some(left))
    }

    /// How `task` would fare against `curr`: greater, it is behind by more than the wakeup granularity and may preempt;
    /// equal, it is behind by less; less, it is not behind (`wakeup_preempt_entity()`, 6.1: 1, 0, -1).
    ///
    /// The granularity is converted to virtual time at the weight of `task`, so that a light task finds it longer.
    pub fn wakeup_preempt_entity(&self, es: &Entities, curr: TaskId, task: TaskId) -> Ordering {
        let vdiff = es[curr].vruntime.wrapping_sub(es[task].vruntime) as i64;
        if vdiff <= 0 {
            Ordering::Less
        } else if vdiff > calc_delta_fair(self.params.wakeup_granularity_ns, es[task].load) as i64 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// Removes the markers on a task (`clear_buddies()`, 6.1).
    pub(super) fn clear_buddies(&mut self, task: TaskId) {
        for marker in [&mut self.next, &mut self.last, &mut self.skip] {
            if *marker == Some(task) {
                *marker = None;
            }
        }
    }

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
