//! `reweight_entity()`: changes of a task's nice value, policy and slice (`kernel/sched/fair.c`, `core.c` and
//! `syscalls.c`).
//!
//! What a task is owed is w l in run time, and does not change with its weight (`rescale_entity()`):
//!
//! ```text
//! w' l' = w l           lag
//! w' d' = w d           deadline relative to vruntime; 6.12 leaves it, and 6.6 begins a new request
//! ```

use super::EevdfRq;
use crate::runqueue::sched_entity::clamp_slice;
use crate::runqueue::{DequeueFlags, EnqueueFlags, Entities, Entity, LoadWeight, Policy, Preempted, Resched, TaskId};
use crate::select::WakeFlags;

impl EevdfRq {
    /// Changes the nice value of a task of this queue, or of one that last slept here (`set_user_nice()`,
    /// `reweight_entity()` and `prio_changed_fair()`). `need_resched`: the running task's `TIF_NEED_RESCHED`.
    ///
    /// # Panics
    /// If `nice` is outside -20..=19.
    pub fn set_user_nice(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        nice: i8,
        need_resched: bool,
    ) -> Preempted {
        let old_nice = es[task].nice;
        if nice == old_nice {
            return Preempted::default();
        }
        let queued = es[task].on_rq;
        let resched = self.set_load_weight(es, now, task, |e| e.nice = nice);
        if !queued || self.nr_queued == 1 {
            return resched.into();
        }
        if self.curr == Some(task) {
            return (resched | Resched::Now.when(nice > old_nice)).into();
        }
        let need_resched = need_resched || resched.is_now();
        let mut preempted = self.wakeup_preempt(es, now, task, WakeFlags::empty(), need_resched);
        preempted.resched |= resched;
        preempted
    }

    /// Changes the policy of a task of this queue, or of one that last slept here; nice value and slice stay
    /// (`__sched_setscheduler()`, 6.12 to 7.3). The priority stays too, so only `update_curr()` may request a
    /// reschedule.
    pub fn set_policy(&mut self, es: &mut Entities, now: u64, task: TaskId, policy: Policy) -> Resched {
        if policy == es[task].policy {
            return Resched::No;
        }
        self.set_load_weight(es, now, task, |e| e.policy = policy)
    }

    /// Applies `change`, a change of nice value or policy, and sets the weight that follows from it
    /// (`set_load_weight()`).
    fn set_load_weight(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        change: impl FnOnce(&mut Entity),
    ) -> Resched {
        let change = self.weight_change(change);
        self.sched_change(es, now, task, change)
    }

    /// Changes the slice that a task asks for, ns; 0 asks for the queue's (`sched_runtime` of `sched_setattr()`;
    /// `__setscheduler_params()`, 6.12; `__setparam_fair()`, 7.2). It is clamped to 0.1 to 100 ms. Tasks of policy
    /// `SCHED_IDLE` are not changed.
    pub fn set_custom_slice(&mut self, es: &mut Entities, now: u64, task: TaskId, slice: u64) -> Resched {
        if !self.changes_slice(es, task, slice) {
            return Resched::No;
        }
        let change = self.slice_change(slice);
        self.sched_change(es, now, task, change)
    }

    /// Takes the task off the queue and the CPU while `change` is applied (the pattern of `set_user_nice()`, 6.12;
    /// `sched_change_begin()` and `sched_change_end()`, 7.2).
    fn sched_change(&mut self, es: &mut Entities, now: u64, task: TaskId, change: impl FnOnce(&mut Entity)) -> Resched {
        let (queued, running) = (es[task].on_rq, self.curr == Some(task));
        let mut resched = Resched::No;
        if queued {
            resched |= self.dequeue_task(es, now, task, DequeueFlags::SAVE).resched;
        }
        if running {
            self.put_prev_entity(es, now);
        }
        change(&mut es[task]);
        if queued {
            resched |= self.enqueue_task(es, now, task, EnqueueFlags::empty());
        }
        if running {
            self.set_next_entity(es, now, task, false);
        }
        resched
    }
}

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// Whether [`set_custom_slice`](EevdfRq::set_custom_slice) would change anything. It compares the slice asked for,
    /// so 0 is always a change. Before 6.12 there is no such slice.
    pub fn changes_slice(&self, es: &Entities, task: TaskId, slice: u64) -> bool {
        self.rules.custom_slices && !es[task].is_idle() && slice != es[task].slice
    }

    /// What a new slice changes of a task that is not queued.
    #[inline]
    pub(in crate::runqueue) fn slice_change(&self, slice: u64) -> impl FnOnce(&mut Entity) + use<GROUPS> {
        let custom_slice = slice != 0;
        let slice = if custom_slice { clamp_slice(slice) } else { self.params.base_slice_ns };
        move |e: &mut Entity| {
            e.custom_slice = custom_slice;
            e.slice = slice;
        }
    }

    /// `change`, a change of nice value or policy, and the weight that follows from it.
    #[inline]
    pub(in crate::runqueue) fn weight_change<F: FnOnce(&mut Entity)>(
        &self,
        change: F,
    ) -> impl FnOnce(&mut Entity) + use<GROUPS, F> {
        let rules = self.rules;
        move |e: &mut Entity| {
            change(e);
            let load = LoadWeight::of(e.policy, e.nice);
            if !rules.weight_at_enqueue {
                rescale_entity(e, load, rules.deadline_rescaled);
            }
            e.load = load;
        }
    }
}

/// Gives a task that is not queued another weight (`reweight_entity()`, 6.12; `rescale_entity()`, 7.2).
fn rescale_entity(e: &mut Entity, load: LoadWeight, rescale_deadline: bool) {
    let (old, new) = (i64::from(e.h_load.weight), i64::from(load.weight));
    e.vlag = e.vlag.wrapping_mul(old) / new;
    if rescale_deadline && e.rel_deadline {
        e.deadline = ((e.deadline as i64).wrapping_mul(old) / new) as u64;
    }
    e.h_load = load;
}

/// Gives a task that is about to join the weight that follows from its nice value and policy (`reweight_eevdf()`, 7.3).
pub(super) fn reweight_eevdf(e: &mut Entity) {
    // update_load_set() clears the inverse, which is then computed, even that of nice 0, which nothing reads.
    let load = LoadWeight::sum(u64::from(e.load.weight));
    if e.h_load.weight != load.weight {
        rescale_entity(e, load, true);
    }
    e.h_load = load;
}
