//! Switching tasks.

use super::EevdfRq;
use crate::runqueue::{DequeueFlags, Entities, Prev, Switch, TaskId};
use smallvec::SmallVec;

impl EevdfRq {
    /// Takes the running task off if it blocks or exits, and gives the CPU to the task that should have it
    /// (`__schedule()`, `pick_task_fair()`, `put_prev_entity()` and `set_next_entity()`, 6.12). The caller clears the
    /// need-resched flag.
    ///
    /// A task that blocks and is not eligible stays queued, see [`dequeue_task`](Self::dequeue_task). Delayed tasks
    /// that are picked leave now; the pick is then repeated.
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        if let Some(curr) = self.curr.filter(|_| prev != Prev::Runs) {
            let special = if prev == Prev::Exits { DequeueFlags::SPECIAL } else { DequeueFlags::empty() };
            let _ = self.dequeue_task(es, now, curr, DequeueFlags::SLEEP | special);
        }
        let mut reaped = SmallVec::new();
        let next = self.pick_task(es, now, &mut reaped);
        if next != self.curr {
            self.put_prev_task(es, now);
            if let Some(next) = next {
                self.set_next_task(es, now, next);
            }
        }
        Switch { next, reaped }
    }

    /// The task that should run, after delayed ones ahead of it have left (`pick_task_fair()`, 6.12).
    fn pick_task(&mut self, es: &mut Entities, now: u64, reaped: &mut SmallVec<[TaskId; 4]>) -> Option<TaskId> {
        while self.nr_queued != 0 {
            // The flag this may ask for is about to be cleared.
            if self.queued_curr(es).is_some() {
                self.update_curr(es, now);
            }
            let task = self.pick_eevdf(es)?;
            if !es[task].sched_delayed {
                return Some(task);
            }
            let _ = self.dequeue_task(es, now, task, DequeueFlags::SLEEP | DequeueFlags::DELAYED);
            reaped.push(task);
        }
        None
    }

    /// The running task, if any, gives the CPU up and waits if it is still queued (`put_prev_entity()`, 6.12).
    pub(super) fn put_prev_task(&mut self, es: &mut Entities, now: u64) {
        if let Some(curr) = self.queued_curr(es) {
            self.update_curr(es, now);
            self.enqueue_waiting(es, curr);
        }
        self.curr = None;
    }

    /// A waiting task gets the CPU (`set_next_entity()`, 6.12).
    pub(super) fn set_next_task(&mut self, es: &mut Entities, now: u64, task: TaskId) {
        if es[task].on_rq {
            self.dequeue_waiting(es, task);
            Self::set_protect_slice(es, task);
        }
        let e = &mut es[task];
        e.exec_start = now;
        e.prev_sum_exec_runtime = e.sum_exec_runtime;
        self.curr = Some(task);
    }

    /// The running task yields (`yield_task_fair()`, 6.12): it gives up the rest of its request, if it is eligible. A
    /// [`schedule`](Self::schedule) follows.
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr.filter(|_| self.nr_queued != 1) else { return };
        self.update_curr(es, now);
        // An ineligible task that yields in a loop would run its vruntime away.
        if self.entity_eligible(es, curr) {
            es[curr].vruntime = es[curr].deadline;
            self.update_deadline(es, curr);
        }
    }

    /// The tick (`task_tick_fair()`, 6.12). Returns whether to reschedule.
    #[must_use]
    pub fn task_tick(&mut self, es: &mut Entities, now: u64) -> bool {
        self.update_curr(es, now)
    }
}
