//! Joining and leaving the queue.

use super::EevdfRq;
use super::reweight_entity::reweight_eevdf;
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

    /// A task whose dequeue was delayed wakes (`requeue_delayed_entity()`). It competed all along, and keeps its place;
    /// but what it gained beyond zero lag meanwhile is taken back (`DELAY_ZERO`), and then it begins a new request.
    /// [`wakeup_preempt`](Self::wakeup_preempt) follows, as after an enqueue.
    ///
    /// 6.12 charges nothing. Since 7.2 the running task is charged; and a lag beyond its limit, or below that at which the
    /// task went to sleep, is changed too.
    pub fn wake_delayed(&mut self, es: &mut Entities, now: u64, task: TaskId) -> Resched {
        assert!(es[task].on_rq && es[task].sched_delayed, "{task:?} is not delayed");
        let mut resched = Resched::No;
        if self.rules.delayed_lag_kept {
            resched = self.update_curr(es, now);
            if self.update_entity_lag(es, task) {
                self.replace(es, task);
            }
        } else if self.params.delay_zero {
            self.update_entity_lag(es, task);
            if es[task].vlag > 0 {
                es[task].vlag = 0;
                self.replace(es, task);
            }
        }
        es[task].sched_delayed = false;
        self.nr_delayed -= 1;
        resched
    }

    /// Places a queued task by its lag, as if it joined.
    fn replace(&mut self, es: &mut Entities, task: TaskId) {
        let waits = self.curr != Some(task);
        // Not counted while it is placed, as at an enqueue.
        self.nr_queued -= 1;
        if waits {
            self.dequeue_waiting(es, task);
        }
        self.place_entity(es, task, EnqueueFlags::empty());
        if waits {
            self.enqueue_waiting(es, task);
        }
        self.nr_queued += 1;
    }

    /// `set_delayed()`.
    pub(super) fn set_delayed(&mut self, es: &mut Entities, task: TaskId) {
        assert!(!es[task].sched_delayed);
        es[task].sched_delayed = true;
        self.nr_delayed += 1;
    }

    /// `finish_delayed_dequeue_entity()`, 6.12; `clear_delayed()`, 7.2, which leaves the lag as it was taken. The count
    /// was adjusted when the task left.
    pub(super) fn finish_delayed_dequeue_entity(&mut self, es: &mut Entities, task: TaskId) {
        let e = &mut es[task];
        e.sched_delayed = false;
        if self.params.delay_zero && !self.rules.delayed_lag_kept {
            e.vlag = e.vlag.min(0);
        }
    }
}
