//! Changing a task's nice value or slice.

use super::EevdfRq;
use crate::runqueue::{DequeueFlags, EnqueueFlags, Entities, Entity, LoadWeight, TaskId};

impl EevdfRq {
    /// Changes the nice value of a task of this queue, or of one that last slept here (`set_user_nice()`,
    /// `reweight_entity()` and `prio_changed_fair()`, 6.12). `need_resched`: the running task's flag. Returns whether
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
        let queued = es[task].on_rq;
        let resched = self.change(es, now, task, |e| {
            e.nice = nice;
            reweight_entity(e, LoadWeight::of(e.policy, nice));
        });
        if !queued || self.nr_queued == 1 {
            return resched;
        }
        if self.curr == Some(task) {
            return resched || nice > old_nice;
        }
        self.check_preempt_wakeup(es, now, task, need_resched || resched) || resched
    }

    /// Changes the slice a task asks for, ns; 0 asks for the queue's (`sched_setattr()`, `__setparam_fair()`, 6.12,
    /// which accepts 0.1 to 100 ms). Nothing happens to tasks of policy IDLE. Returns whether to reschedule.
    #[must_use]
    pub fn set_custom_slice(&mut self, es: &mut Entities, now: u64, task: TaskId, slice: u64) -> bool {
        // What is asked for is compared, so that a 0 is always a change.
        if es[task].is_idle() || slice == es[task].slice {
            return false;
        }
        let custom_slice = slice != 0;
        let slice = if custom_slice { slice } else { self.params.base_slice_ns };
        self.change(es, now, task, |e| {
            e.custom_slice = custom_slice;
            e.slice = slice;
        })
    }

    /// Takes the task off the queue and the CPU while it is changed (the pattern of `set_user_nice()`, 6.12).
    fn change(&mut self, es: &mut Entities, now: u64, task: TaskId, change: impl FnOnce(&mut Entity)) -> bool {
        let (queued, running) = (es[task].on_rq, self.curr == Some(task));
        let mut resched = false;
        if queued {
            resched |= self.dequeue_task(es, now, task, DequeueFlags::SAVE).resched;
        }
        if running {
            self.put_prev_task(es, now);
        }
        change(&mut es[task]);
        if queued {
            resched |= self.enqueue_task(es, now, task, EnqueueFlags::empty());
        }
        if running {
            self.set_next_task(es, now, task);
        }
        resched
    }
}

/// A task that is not queued gets another weight (`reweight_entity()`, 6.12).
///
/// What a task is owed is w vl, in run time, and does not change with its weight: w' vl' = w vl. (A relative deadline
/// should scale the same way; 6.12 leaves it.)
fn reweight_entity(e: &mut Entity, load: LoadWeight) {
    e.vlag = e.vlag.wrapping_mul(i64::from(e.load.weight)) / i64::from(load.weight);
    e.load = load;
}
