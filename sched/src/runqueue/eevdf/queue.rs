//! Joining and leaving the queue.

use super::EevdfRq;
use super::change::reweight_eevdf;
use crate::runqueue::{DequeueFlags, Dequeued, EnqueueFlags, Entities, Resched, TaskId};

impl EevdfRq {
    /// Puts a task that is not queued on this queue (`enqueue_task_fair()` and `enqueue_entity()`). Returns whether the
    /// charge before it asks for a reschedule; whether the task should preempt is
    /// [`wakeup_preempt`](Self::wakeup_preempt)'s to say.
    ///
    /// A task that wakes while its dequeue is delayed is still queued: see [`wake_delayed`](Self::wake_delayed).
    pub fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) -> Resched {
        assert!(!es[task].on_rq, "{task:?} is queued already");
        assert_ne!(self.curr, Some(task), "{task:?} was dequeued but has the CPU still: a schedule is due");
        let resched = self.update_curr(es, now);
        if self.rules.weight_at_enqueue {
            reweight_eevdf(&mut es[task]);
        }
        self.place_entity(es, task, flags);
        self.account_enqueue(es, task);
        if flags.contains(EnqueueFlags::MIGRATED) {
            es[task].exec_start = 0;
        }
        self.enqueue_waiting(es, task);
        es[task].on_rq = true;
        resched
    }

    /// Takes a task off this queue, or delays that (`dequeue_task_fair()`, and `dequeue_entity()` or, in 7.3,
    /// `__dequeue_task()`).
    ///
    /// A task that blocks while it is not eligible has had more than its share. Were it to leave, it would sleep that
    /// debt off; so it stays and competes, without running, until it is picked (`DELAY_DEQUEUE`).
    #[must_use]
    pub fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: DequeueFlags) -> Dequeued {
        assert!(es[task].on_rq, "{task:?} is not queued");
        let resched = self.update_curr(es, now);
        self.clear_buddies(task);
        let may_delay = flags.contains(DequeueFlags::SLEEP)
            && !flags.intersects(DequeueFlags::SPECIAL | DequeueFlags::DELAYED)
            && self.params.delay_dequeue;
        if may_delay && !self.entity_eligible(es, task) {
            if self.rules.delayed_lag_kept {
                self.update_entity_lag(es, task);
            }
            self.set_delayed(es, task);
            return Dequeued { off_rq: false, resched };
        }
        self.update_entity_lag(es, task);
        let e = &mut es[task];
        if self.params.place_rel_deadline && !flags.contains(DequeueFlags::SLEEP) {
            e.deadline = e.deadline.wrapping_sub(e.vruntime);
            e.rel_deadline = true;
        }
        if self.curr != Some(task) {
            self.dequeue_waiting(es, task);
        }
        es[task].on_rq = false;
        self.account_dequeue(es, task);
        if flags.contains(DequeueFlags::DELAYED) {
            self.finish_delayed_dequeue_entity(es, task);
        }
        Dequeued { off_rq: true, resched }
    }

    /// Into the tree and the sums (`__enqueue_entity()`).
    pub(super) fn enqueue_waiting(&mut self, es: &mut Entities, task: TaskId) {
        self.avg_vruntime_add(es, task);
        self.waiting.insert(es, task);
    }

    /// Out of the tree and the sums (`__dequeue_entity()`).
    pub(super) fn dequeue_waiting(&mut self, es: &mut Entities, task: TaskId) {
        self.waiting.remove(es, task);
        self.avg_vruntime_sub(es, task);
    }

    fn account_enqueue(&mut self, es: &Entities, task: TaskId) {
        self.nr_queued += 1;
        self.nr_delayed += u32::from(es[task].sched_delayed);
        self.nr_idle += u32::from(es[task].is_idle());
    }

    fn account_dequeue(&mut self, es: &Entities, task: TaskId) {
        self.nr_queued -= 1;
        self.nr_delayed -= u32::from(es[task].sched_delayed);
        self.nr_idle -= u32::from(es[task].is_idle());
    }
}
