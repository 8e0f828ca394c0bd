//! `pick_eevdf()`: the task that should run, and the switch to it (`kernel/sched/fair.c`).
//!
//! ```text
//! pick_eevdf():
//!     the next buddy          if it is eligible                   PICK_BUDDY
//!   , else curr               if its slice is protected           RUN_TO_PARITY
//!   , else the eligible task with the earliest deadline
//!
//! pick_task_fair():
//!     repeat: update_curr(); p = pick_eevdf()
//!             if p is delayed: dequeue it and pick again
//! ```

use super::EevdfRq;
use crate::runqueue::{DequeueFlags, Entities, Prev, Switch, TaskId, vtime_before};
use smallvec::SmallVec;

/// Delayed tasks that were picked and left the queue.
pub(super) type Reaped = SmallVec<[TaskId; 4]>;

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// The eligible task with the earliest deadline (`pick_eevdf()`), in O(log n). It may be a delayed one. The running
    /// task is not charged. Returns `None` if nothing is queued.
    pub fn pick_eevdf(&self, es: &Entities) -> Option<TaskId> {
        self.__pick_eevdf(es, true)
    }

    /// The eligible task with the earliest deadline. Without `protect`, the next buddy and the protection of the
    /// running task are ignored (`__pick_eevdf()`, 7.2).
    pub(super) fn __pick_eevdf(&self, es: &Entities, protect: bool) -> Option<TaskId> {
        let curr = self.queued_curr(es);
        if self.nr_queued == 1 {
            return curr.or(self.tasks_timeline.first());
        }
        let by_vruntime = self.rules.protects_by_vruntime();
        if self.rules.buddy_in_pick
            && protect
            && let Some(next) = self.eligible_next_buddy(es)
        {
            return Some(next);
        }
        let sums = self.sums_with_curr(es);
        let curr = curr.filter(|&curr| self.vruntime_eligible(sums, es[curr].vruntime));
        // Since 6.18 set_protect_slice() reads RUN_TO_PARITY, and the pick does not.
        let protect = protect && (by_vruntime || self.params.run_to_parity);
        if protect && curr.is_some_and(|curr| self.protect_slice(es, curr)) {
            return curr;
        }
        let best = self.tasks_timeline.first_eligible(es, |vruntime| self.vruntime_eligible(sums, vruntime));
        match (curr, best) {
            (Some(curr), Some(best)) if !vtime_before(es[curr].deadline, es[best].deadline) => Some(best),
            (curr, best) => curr.or(best),
        }
    }

    /// The task that should run, buddies considered (`pick_task_fair()` and `pick_next_entity()`). Delayed tasks that
    /// are picked before it leave the queue and are added to `reaped`.
    pub(super) fn pick_task_fair(
        &mut self,
        es: &mut Entities,
        now: u64,
        protect: bool,
        reaped: &mut Reaped,
    ) -> Option<TaskId> {
        while self.nr_queued != 0 {
            // A request can be dropped: either the flag is about to be cleared, or the task has just been charged.
            if self.queued_curr(es).is_some() {
                let _ = self.update_curr(es, now);
            }
            let buddy = if self.rules.buddy_in_pick { None } else { self.eligible_next_buddy(es) };
            // No task is eligible only if a sum has left 64 bits; the kernel crashes then.
            let task = buddy.or_else(|| self.__pick_eevdf(es, protect))?;
            if !es[task].sched_delayed {
                return Some(task);
            }
            let _ = self.dequeue_task(es, now, task, DequeueFlags::SLEEP | DequeueFlags::DELAYED);
            reaped.push(task);
        }
        None
    }

    /// The next buddy, if it is eligible and `PICK_BUDDY` is on (`pick_next_entity()`, 6.12; `pick_eevdf()`, 7.2).
    pub(super) fn eligible_next_buddy(&self, es: &Entities) -> Option<TaskId> {
        self.next.filter(|&next| self.params.pick_buddy && self.entity_eligible(es, next))
    }

    /// Makes a task the next buddy, unless it is `SCHED_IDLE` (`set_next_buddy()`).
    pub(super) fn set_next_buddy(&mut self, es: &Entities, task: TaskId) {
        if es[task].on_rq && !es[task].sched_delayed && !es[task].is_idle() {
            self.next = Some(task);
        }
    }

    /// Whether a task may be the next buddy: the present one does not have the earlier deadline (`set_preempt_buddy()`,
    /// 7.2).
    pub(super) fn may_be_preempt_buddy(&self, es: &Entities, task: TaskId) -> bool {
        self.next.is_none_or(|next| !vtime_before(es[next].deadline, es[task].deadline))
    }

    /// Makes a task the next buddy unless the present one has the shorter slice (`set_short_buddy()`, 7.3).
    pub(super) fn set_short_buddy(&mut self, es: &Entities, task: TaskId) {
        if self.next.is_none_or(|next| es[next].slice >= es[task].slice) {
            self.set_next_buddy(es, task);
        }
    }

    /// If the task is the next buddy, there is none any more (`clear_buddies()`).
    #[inline]
    pub(super) fn clear_buddies(&mut self, task: TaskId) {
        if self.next == Some(task) {
            self.next = None;
        }
    }

    /// Takes the running task off if it blocks or exits, and gives the CPU to the task that should have it
    /// (`__schedule()`, `pick_task_fair()`, `put_prev_entity()` and `set_next_entity()`). The caller clears the
    /// need-resched flags.
    ///
    /// A task that blocks and is not eligible stays queued, see [`dequeue_task`](Self::dequeue_task). Delayed tasks
    /// that are picked leave now, and the pick is repeated.
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        self.try_to_block_task(es, now, prev);
        let mut reaped = Reaped::new();
        let next = self.pick_task_fair(es, now, true, &mut reaped);
        if next != self.curr {
            self.put_prev_entity(es, now);
            if let Some(next) = next {
                self.set_next_entity(es, now, next, true);
            }
        }
        Switch { next, reaped }
    }

    /// Takes the running task off if it blocks or exits (`__schedule()`; since 6.13 `try_to_block_task()`).
    #[inline]
    fn try_to_block_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        if let Some(curr) = self.curr.filter(|_| prev != Prev::Runs) {
            let special = if prev == Prev::Exits { DequeueFlags::SPECIAL } else { DequeueFlags::empty() };
            let _ = self.dequeue_task(es, now, curr, DequeueFlags::SLEEP | special);
        }
    }

    /// A higher class takes the CPU (`put_prev_task_fair()`).
    pub fn put_prev_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        self.try_to_block_task(es, now, prev);
        self.put_prev_entity(es, now);
    }

    /// Takes the CPU from the running task, if any, which then waits if it is still queued (`put_prev_entity()`).
    pub(super) fn put_prev_entity(&mut self, es: &mut Entities, now: u64) {
        if let Some(curr) = self.queued_curr(es) {
            let _ = self.update_curr(es, now);
            self.__enqueue_entity(es, curr);
        }
        self.curr = None;
    }

    /// Gives the CPU to a waiting task (`set_next_entity()`): because it was `picked`, or back to it after a change.
    pub(super) fn set_next_entity(&mut self, es: &mut Entities, now: u64, task: TaskId, picked: bool) {
        self.clear_buddies(task);
        if es[task].on_rq {
            self.__dequeue_entity(es, task);
            if picked || !self.rules.protect_picked_only {
                self.set_protect_slice(es, task);
            }
        }
        let e = &mut es[task];
        e.exec_start = now;
        e.prev_sum_exec_runtime = e.sum_exec_runtime;
        self.curr = Some(task);
    }

    /// The running task yields (`yield_task_fair()`): if it is eligible, it gives up the rest of its request; up to 6.8
    /// its deadline moves by a slice, whether it is or not. A [`schedule`](Self::schedule) follows.
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr.filter(|_| self.nr_queued != 1) else { return };
        self.clear_buddies(curr);
        let _ = self.update_curr(es, now);
        self.forfeit(es, curr);
    }

    /// What yielding costs the running task, which has been charged.
    #[inline]
    pub(super) fn forfeit(&mut self, es: &mut Entities, curr: TaskId) {
        if !self.rules.yield_forfeits {
            let e = &mut es[curr];
            e.deadline = e.deadline.wrapping_add(Self::calc_delta_fair(e, e.slice));
            return;
        }
        // If an ineligible task did this in a loop, its vruntime would run away.
        if self.entity_eligible(es, curr) {
            es[curr].vruntime = es[curr].deadline;
            self.update_deadline(es, curr);
        }
    }
}
