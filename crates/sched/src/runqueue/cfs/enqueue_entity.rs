//! `enqueue_entity()` and `dequeue_entity()`: a task joins the queue or leaves it; and the changes of a task's nice
//! value and policy, which dequeue it and enqueue it again (`kernel/sched/fair.c` and `core.c`, 6.1).
//!
//! ```text
//!               enqueue_entity()              dequeue_entity()
//! wake, sleep   place_entity()                vruntime stays
//! migration     vruntime += min_vruntime      vruntime -= min_vruntime
//! ```

use super::CfsRq;
use crate::runqueue::{DequeueFlags, EnqueueFlags, Entities, Entity, LoadWeight, Policy, TaskId};
use crate::select::WakeFlags;

impl CfsRq {
    /// Puts a task that is not queued on this queue (`enqueue_task_fair()` and `enqueue_entity()`, 6.1).
    ///
    /// Without [`WAKEUP`](EnqueueFlags::WAKEUP), or with [`MIGRATED`](EnqueueFlags::MIGRATED), the task's vruntime is
    /// relative to `min_vruntime`: see [`task_fork`](Self::task_fork), [`dequeue_task`](Self::dequeue_task) and
    /// [`migrate_task_rq`](Self::migrate_task_rq).
    pub fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) {
        assert!(!es[task].on_rq, "{task:?} is queued already");
        assert_ne!(self.curr, Some(task), "{task:?} was dequeued but still has the CPU: a schedule is due");
        // The charge comes first, because the task is placed relative to the virtual time of this moment.
        self.update_curr(es, now);
        let e = &mut es[task];
        if !flags.contains(EnqueueFlags::WAKEUP) || flags.contains(EnqueueFlags::MIGRATED) {
            e.vruntime = e.vruntime.wrapping_add(self.min_vruntime);
        }
        self.nr_queued += 1;
        self.nr_idle += u32::from(e.is_idle());
        self.load += e.full_weight();
        if flags.contains(EnqueueFlags::WAKEUP) {
            self.place_entity(es, now, task, false);
        }
        if flags.contains(EnqueueFlags::MIGRATED) {
            es[task].exec_start = 0;
        }
        self.tasks_timeline.insert(es, task);
        es[task].on_rq = true;
    }

    /// Puts the entity of a group back that runs on, though its group was throttled: a change of the running task has
    /// set it again. It has been charged, and wakes.
    pub(super) fn enqueue_curr(&mut self, es: &mut Entities, now: u64, se: TaskId) {
        self.nr_queued += 1;
        self.nr_idle += u32::from(es[se].is_idle());
        self.load += es[se].full_weight();
        self.place_entity(es, now, se, false);
        es[se].on_rq = true;
    }

    /// Takes a task off this queue (`dequeue_task_fair()` and `dequeue_entity()`, 6.1). A sleeper keeps its vruntime,
    /// because it will return to this virtual time; any other task's becomes relative to `min_vruntime`.
    pub fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: DequeueFlags) {
        assert!(es[task].on_rq, "{task:?} is not queued");
        self.update_curr(es, now);
        self.clear_buddies(task);
        if self.curr != Some(task) {
            self.tasks_timeline.remove(es, task);
        }
        let e = &mut es[task];
        e.on_rq = false;
        self.nr_queued -= 1;
        self.nr_idle -= u32::from(e.is_idle());
        self.load -= e.full_weight();
        if !flags.contains(DequeueFlags::SLEEP) {
            e.vruntime = e.vruntime.wrapping_sub(self.min_vruntime);
        }
        // If min_vruntime advanced between the two halves of a change, the task would return later than it left.
        if !flags.contains(DequeueFlags::SAVE) {
            self.update_min_vruntime(es);
        }
    }

    /// Makes the vruntime of a task relative that slept here and wakes on another CPU, for an enqueue there with
    /// `WAKEUP | MIGRATED` (`migrate_task_rq_fair()`, 6.1).
    pub fn migrate_task_rq(&self, e: &mut Entity) {
        e.vruntime = e.vruntime.wrapping_sub(self.min_vruntime);
    }

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
        self.sched_change(es, now, task, |e| e.nice = nice);
        if !queued || self.nr_queued == 1 {
            return false;
        }
        if running {
            nice > old_nice
        } else {
            self.check_preempt_wakeup(es, now, task, WakeFlags::empty(), need_resched)
        }
    }

    /// Changes the policy of a task of this queue, or of one that last slept here; its nice value stays
    /// (`__sched_setscheduler()`, 6.1). The priority stays too, so nothing requests a reschedule
    /// (`check_class_changed()`).
    pub fn set_policy(&mut self, es: &mut Entities, now: u64, task: TaskId, policy: Policy) {
        if policy != es[task].policy {
            self.sched_change(es, now, task, |e| e.policy = policy);
        }
    }

    /// Takes the task off the queue and the CPU while `change` is applied, and sets the weight that follows from it
    /// (the pattern of `set_user_nice()`, 6.1, which 7.2 names `sched_change_begin()` and `sched_change_end()`).
    fn sched_change(&mut self, es: &mut Entities, now: u64, task: TaskId, change: impl FnOnce(&mut Entity)) {
        let (queued, running) = (es[task].on_rq, self.curr == Some(task));
        if queued {
            self.dequeue_task(es, now, task, DequeueFlags::SAVE);
        }
        if running {
            self.put_prev_entity(es, now);
        }
        let e = &mut es[task];
        change(e);
        e.load = LoadWeight::of(e.policy, e.nice);
        if queued {
            self.enqueue_task(es, now, task, EnqueueFlags::empty());
        }
        if running {
            self.set_next_entity(es, now, task);
        }
    }
}
