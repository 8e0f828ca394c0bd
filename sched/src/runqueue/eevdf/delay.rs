//! The delay of a dequeue, and its end by a wake-up.

use super::EevdfRq;
use crate::runqueue::{EnqueueFlags, Entities, Resched, TaskId};

impl EevdfRq {
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
