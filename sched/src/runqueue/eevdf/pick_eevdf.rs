//! Who should run.

use super::EevdfRq;
use crate::runqueue::{DequeueFlags, Entities, Prev, Resched, Switch, TaskId, before};
use smallvec::SmallVec;

/// Delayed tasks that were picked and left.
pub(super) type Reaped = SmallVec<[TaskId; 4]>;

impl EevdfRq {
    /// The eligible task with the earliest deadline (`pick_eevdf()`), in O(log n). It may be a delayed one.
    /// Charges nothing. `None` if nothing is queued.
    pub fn pick_eevdf(&self, es: &Entities) -> Option<TaskId> {
        self.pick(es, true)
    }

    /// The same; without `protect`, marks and the protection of the running task are ignored (7.2).
    pub(super) fn pick(&self, es: &Entities, protect: bool) -> Option<TaskId> {
        let curr = self.queued_curr(es);
        if self.nr_queued == 1 {
            return curr.or(self.waiting.first());
        }
        let by_vruntime = self.rules.protects_by_vruntime();
        if by_vruntime
            && protect
            && let Some(next) = self.pick_buddy(es)
        {
            return Some(next);
        }
        let sums = self.sums(es);
        let curr = curr.filter(|&curr| self.vruntime_eligible(sums, es[curr].vruntime));
        // 7.2 has the feature in how far the protection goes.
        let protect = protect && (by_vruntime || self.params.run_to_parity);
        if protect && curr.is_some_and(|curr| self.protect_slice(es, curr)) {
            return curr;
        }
        let best = self.waiting.first_eligible(es, |vruntime| self.vruntime_eligible(sums, vruntime));
        match (curr, best) {
            (Some(curr), Some(best)) if !before(es[curr].deadline, es[best].deadline) => Some(best),
            (curr, best) => curr.or(best),
        }
    }

    /// The task that should run, marks considered. Delayed tasks that are picked before leave the queue and join `reaped`
    /// (`pick_task_fair()` and `pick_next_entity()`).
    pub(super) fn pick_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        protect: bool,
        reaped: &mut Reaped,
    ) -> Option<TaskId> {
        while self.nr_queued != 0 {
            // The flag this may ask for is about to be cleared, or it has been charged just now.
            if self.queued_curr(es).is_some() {
                let _ = self.update_curr(es, now);
            }
            let marked = if self.rules.protects_by_vruntime() { None } else { self.pick_buddy(es) };
            // Nobody is eligible only where a sum has left 64 bits: the kernel crashes then.
            let task = marked.or_else(|| self.pick(es, protect))?;
            if !es[task].sched_delayed {
                return Some(task);
            }
            let _ = self.dequeue_task(es, now, task, DequeueFlags::SLEEP | DequeueFlags::DELAYED);
            reaped.push(task);
        }
        None
    }

    /// Who is marked to be picked next (`cfs_rq->next`).
    pub fn next(&self) -> Option<TaskId> {
        self.next
    }

    /// The marked task, if it is to be picked: it is eligible (`pick_next_entity()`, 6.12; `pick_eevdf()`, 7.2).
    pub(super) fn pick_buddy(&self, es: &Entities) -> Option<TaskId> {
        self.next.filter(|&next| self.rules.pick_buddy && self.entity_eligible(es, next))
    }

    /// `set_next_buddy()`. A SCHED_IDLE task is not marked.
    pub(super) fn set_next_buddy(&mut self, es: &Entities, task: TaskId) {
        if es[task].on_rq && !es[task].sched_delayed && !es[task].is_idle() {
            self.next = Some(task);
        }
    }

    /// Marks a task unless the marked one has the earlier deadline (`set_preempt_buddy()`, 7.2).
    pub(super) fn set_preempt_buddy(&mut self, es: &Entities, task: TaskId) -> bool {
        if self.next.is_some_and(|next| before(es[next].deadline, es[task].deadline)) {
            return false;
        }
        self.set_next_buddy(es, task);
        true
    }

    /// Marks a task unless the marked one has the shorter slice (`set_short_buddy()`, 7.3).
    pub(super) fn set_short_buddy(&mut self, es: &Entities, task: TaskId) {
        if self.next.is_none_or(|next| es[next].slice >= es[task].slice) {
            self.set_next_buddy(es, task);
        }
    }

    /// `clear_buddies()`.
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
    /// that are picked leave now; the pick is then repeated.
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        if let Some(curr) = self.curr.filter(|_| prev != Prev::Runs) {
            let special = if prev == Prev::Exits { DequeueFlags::SPECIAL } else { DequeueFlags::empty() };
            let _ = self.dequeue_task(es, now, curr, DequeueFlags::SLEEP | special);
        }
        let mut reaped = Reaped::new();
        let next = self.pick_task(es, now, true, &mut reaped);
        if next != self.curr {
            self.put_prev_task(es, now);
            if let Some(next) = next {
                self.set_next_task(es, now, next, true);
            }
        }
        Switch { next, reaped }
    }

    /// The running task, if any, gives the CPU up and waits if it is still queued (`put_prev_entity()`).
    pub(super) fn put_prev_task(&mut self, es: &mut Entities, now: u64) {
        if let Some(curr) = self.queued_curr(es) {
            let _ = self.update_curr(es, now);
            self.enqueue_waiting(es, curr);
        }
        self.curr = None;
    }

    /// A waiting task gets the CPU (`set_next_entity()`): because it was `picked`, or back after a change.
    pub(super) fn set_next_task(&mut self, es: &mut Entities, now: u64, task: TaskId, picked: bool) {
        self.clear_buddies(task);
        if es[task].on_rq {
            self.dequeue_waiting(es, task);
            if picked || !self.rules.protect_picked_only {
                self.set_protect_slice(es, task);
            }
        }
        let e = &mut es[task];
        e.exec_start = now;
        e.prev_sum_exec_runtime = e.sum_exec_runtime;
        self.curr = Some(task);
    }

    /// The running task yields (`yield_task_fair()`, 6.12 to 7.3): it gives up the rest of its request, if it is eligible. A
    /// [`schedule`](Self::schedule) follows.
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr.filter(|_| self.nr_queued != 1) else { return };
        self.clear_buddies(curr);
        let _ = self.update_curr(es, now);
        // An ineligible task that yields in a loop would run its vruntime away.
        if self.entity_eligible(es, curr) {
            es[curr].vruntime = es[curr].deadline;
            self.update_deadline(es, curr);
        }
    }

    /// The periodic tick (`task_tick_fair()`).
    pub fn task_tick(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.update_curr(es, now)
    }
}
