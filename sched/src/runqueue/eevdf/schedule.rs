//! Switching tasks.

use super::EevdfRq;
use super::pick::Reaped;
use crate::runqueue::{DequeueFlags, Entities, Prev, Resched, Switch, TaskId};

impl EevdfRq {
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
