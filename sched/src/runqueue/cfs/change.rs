//! Changing a task's nice value or policy.

use super::CfsRq;
use crate::runqueue::{DequeueFlags, EnqueueFlags, Entities, Entity, LoadWeight, Policy, TaskId};

impl CfsRq {
    /// Changes the nice value of a task of this queue, or of one that last slept here (`set_user_nice()`,
    /// `reweight_entity()` and `prio_changed_fair()`, 6.1). `need_resched`: the running task's flag. Returns whether
    /// to set it.
    ///
    /// # Panics
    /// If `nice` is outside -20..=19.
    #[must_use]
    pub fn set_user_nice(&mut self, es: &mut Entities, now: u64, task: TaskId, nice: i8, need_resched: bool) -> bool {
        let old_nice = es[task].nice;
        if nice == old_nice {
            return false;
        }
        let (queued, running) = (es[task].on_rq, self.curr == Some(task));
        self.change(es, now, task, |e| e.nice = nice);
        if !queued || self.nr_queued == 1 {
            return false;
        }
        if running { nice > old_nice } else { self.check_preempt_wakeup(es, now, task, need_resched) }
    }

    /// Changes the policy of a task of this queue, or of one that last slept here; its nice value stays
    /// (`__sched_setscheduler()`, 6.1). The priority stays too, so that nobody asks for a reschedule
    /// (`check_class_changed()`).
    pub fn set_policy(&mut self, es: &mut Entities, now: u64, task: TaskId, policy: Policy) {
        if policy != es[task].policy {
            self.change(es, now, task, |e| e.policy = policy);
        }
    }

    /// Takes the task off the queue and the CPU while it is changed and gets the weight that follows.
    fn change(&mut self, es: &mut Entities, now: u64, task: TaskId, change: impl FnOnce(&mut Entity)) {
        let (queued, running) = (es[task].on_rq, self.curr == Some(task));
        if queued {
            self.dequeue_task(es, now, task, DequeueFlags::SAVE);
        }
        if running {
            self.put_prev_task(es, now);
        }
        let e = &mut es[task];
        change(e);
        e.load = LoadWeight::of(e.policy, e.nice);
        if queued {
            self.enqueue_task(es, now, task, EnqueueFlags::empty());
        }
        if running {
            self.set_next_task(es, now, task);
        }
    }
}
