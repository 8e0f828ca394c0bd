//! `enqueue_entity()` and `dequeue_entity()`: a task joins the queue or leaves it, and the delayed dequeue
//! (`kernel/sched/fair.c`).
//!
//! ```text
//! dequeue_entity(se, DEQUEUE_SLEEP):
//!     if se is not eligible and DELAY_DEQUEUE:
//!         set_delayed(se)                      it stays in the tree and competes, but cannot run
//!
//! a delayed task is picked                     it leaves: DEQUEUE_SLEEP | DEQUEUE_DELAYED
//! a delayed task wakes                         requeue_delayed_entity()
//! ```
//!
//! A task that blocks while it is not eligible has had more than its share. If it left, it would sleep that debt off.
//! So it stays until it would be picked, and has paid.

use super::EevdfRq;
use super::reweight_entity::reweight_eevdf;
use crate::runqueue::{DequeueFlags, Dequeued, EnqueueFlags, Entities, Resched, TaskId};

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// Puts a task that is not queued on this queue (`enqueue_task_fair()` and `enqueue_entity()`). Returns whether
    /// `update_curr()` requests a reschedule; [`wakeup_preempt`](Self::wakeup_preempt) decides whether the task
    /// preempts.
    ///
    /// A task that wakes while its dequeue is delayed is still queued: see
    /// [`requeue_delayed_entity`](Self::requeue_delayed_entity).
    pub fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) -> Resched {
        assert!(!es[task].on_rq, "{task:?} is queued already");
        assert_ne!(self.curr, Some(task), "{task:?} was dequeued but still has the CPU: a schedule is due");
        let resched = self.update_curr(es, now);
        if self.rules.weight_at_enqueue && !GROUPS {
            reweight_eevdf(&mut es[task]);
        }
        self.place_entity(es, task, flags);
        self.account_entity_enqueue(es, task);
        if flags.contains(EnqueueFlags::MIGRATED) {
            es[task].exec_start = 0;
        }
        self.__enqueue_entity(es, task);
        es[task].on_rq = true;
        resched
    }

    /// Takes a task off this queue, or delays that (`dequeue_task_fair()`, and `dequeue_entity()` or, in 7.3,
    /// `__dequeue_task()`).
    ///
    /// A task that blocks while it is not eligible stays queued and competes, without running, until it is picked
    /// (`DELAY_DEQUEUE`).
    #[must_use]
    pub fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: DequeueFlags) -> Dequeued {
        assert!(es[task].on_rq, "{task:?} is not queued");
        let resched = self.update_curr(es, now);
        self.clear_buddies(task);
        if self.delays_dequeue(es, task, flags) {
            self.delay_dequeue(es, task);
            return Dequeued { off_rq: false, resched };
        }
        self.dequeue_now(es, task, flags);
        Dequeued { off_rq: true, resched }
    }

    /// Whether an entity that leaves has to stay because it is not eligible. The running one has been charged.
    #[inline]
    pub(super) fn delays_dequeue(&self, es: &Entities, task: TaskId, flags: DequeueFlags) -> bool {
        let never = DequeueFlags::SPECIAL | DequeueFlags::DELAYED | DequeueFlags::THROTTLE;
        flags.contains(DequeueFlags::SLEEP)
            && !flags.intersects(never)
            && self.params.delay_dequeue
            && !self.entity_eligible(es, task)
    }

    /// Lets an entity stay that would leave.
    #[inline]
    pub(super) fn delay_dequeue(&mut self, es: &mut Entities, task: TaskId) {
        if self.rules.delayed_lag_kept {
            self.update_entity_lag(es, task);
        }
        self.set_delayed(es, task);
    }

    /// The rest of `dequeue_entity()` for one that leaves.
    #[inline]
    pub(super) fn dequeue_now(&mut self, es: &mut Entities, task: TaskId, flags: DequeueFlags) {
        self.update_entity_lag(es, task);
        let e = &mut es[task];
        if self.params.place_rel_deadline && !flags.contains(DequeueFlags::SLEEP) {
            e.deadline = e.deadline.wrapping_sub(e.vruntime);
            e.rel_deadline = true;
        }
        if self.curr != Some(task) {
            self.__dequeue_entity(es, task);
        }
        es[task].on_rq = false;
        self.account_entity_dequeue(es, task);
        if flags.contains(DequeueFlags::DELAYED) {
            self.finish_delayed_dequeue_entity(es, task);
        }
    }

    /// Adds a task to the tree and the sums (`__enqueue_entity()`).
    pub(super) fn __enqueue_entity(&mut self, es: &mut Entities, task: TaskId) {
        self.sum_w_vruntime_add(es, task);
        self.tasks_timeline.insert(es, task);
    }

    /// Removes a task from the tree and the sums (`__dequeue_entity()`).
    pub(super) fn __dequeue_entity(&mut self, es: &mut Entities, task: TaskId) {
        self.tasks_timeline.remove(es, task);
        self.sum_w_vruntime_sub(es, task);
    }

    /// Adds a task to the counts (`account_entity_enqueue()`).
    pub(super) fn account_entity_enqueue(&mut self, es: &Entities, task: TaskId) {
        self.nr_queued += 1;
        self.nr_delayed += u32::from(es[task].sched_delayed);
        self.nr_idle += u32::from(es[task].is_idle());
    }

    /// Removes a task from the counts (`account_entity_dequeue()`).
    fn account_entity_dequeue(&mut self, es: &Entities, task: TaskId) {
        self.nr_queued -= 1;
        self.nr_delayed -= u32::from(es[task].sched_delayed);
        self.nr_idle -= u32::from(es[task].is_idle());
    }

    /// Wakes a task whose dequeue was delayed (`requeue_delayed_entity()`). It competed all along, and keeps its place.
    /// But what it gained beyond zero lag meanwhile is taken back (`DELAY_ZERO`), and then it begins a new request.
    /// [`wakeup_preempt`](Self::wakeup_preempt) follows, as after an enqueue.
    ///
    /// 6.12 does not charge the running task. Since 7.2 it does, and the task is also placed anew if its lag is beyond
    /// its limit, or below the lag with which it went to sleep.
    pub fn requeue_delayed_entity(&mut self, es: &mut Entities, now: u64, task: TaskId) -> Resched {
        let mut resched = Resched::No;
        if self.rules.delayed_lag_kept {
            resched = self.update_curr(es, now);
        }
        self.requeue_entity(es, task);
        self.clear_delayed(es, task);
        resched
    }

    /// Gives a delayed entity that wakes the place that it may have.
    #[inline]
    pub(super) fn requeue_entity(&mut self, es: &mut Entities, task: TaskId) {
        assert!(es[task].on_rq && es[task].sched_delayed, "{task:?} is not delayed");
        if self.rules.delayed_lag_kept {
            if self.update_entity_lag(es, task) {
                self.place_queued_entity(es, task);
            }
        } else if self.params.delay_zero {
            self.update_entity_lag(es, task);
            if es[task].vlag > 0 {
                es[task].vlag = 0;
                self.place_queued_entity(es, task);
            }
        }
    }

    /// The entity is not delayed any more, and stays queued (`clear_delayed()`).
    #[inline]
    pub(super) fn clear_delayed(&mut self, es: &mut Entities, task: TaskId) {
        es[task].sched_delayed = false;
        self.nr_delayed -= 1;
    }

    /// Places a queued task by its lag, as if it joined.
    fn place_queued_entity(&mut self, es: &mut Entities, task: TaskId) {
        let waits = self.curr != Some(task);
        // While it is placed it does not count, as at an enqueue.
        self.nr_queued -= 1;
        if waits {
            self.__dequeue_entity(es, task);
        }
        self.place_entity(es, task, EnqueueFlags::empty());
        if waits {
            self.__enqueue_entity(es, task);
        }
        self.nr_queued += 1;
    }

    /// Marks a task that stays queued although it sleeps (`set_delayed()`).
    fn set_delayed(&mut self, es: &mut Entities, task: TaskId) {
        assert!(!es[task].sched_delayed);
        es[task].sched_delayed = true;
        self.nr_delayed += 1;
    }

    /// Completes a delayed dequeue (`finish_delayed_dequeue_entity()`, 6.12; `clear_delayed()`, 7.2, which does not
    /// change the lag). `account_entity_dequeue()` has adjusted the count.
    fn finish_delayed_dequeue_entity(&mut self, es: &mut Entities, task: TaskId) {
        let e = &mut es[task];
        e.sched_delayed = false;
        if self.params.delay_zero && !self.rules.delayed_lag_kept {
            e.vlag = e.vlag.min(0);
        }
    }
}
