//! Either class behind one set of operations.

use super::{CfsRq, DequeueFlags, Dequeued, EevdfRq, EnqueueFlags, Entities, Prev, Switch, TaskId};

/// A run queue of the class that the kernel of choice has.
///
/// Every operation does what the one of the same name does in [`CfsRq`] and [`EevdfRq`]; where the two differ, the text
/// says how.
#[derive(Clone, Debug)]
pub enum FairRq {
    /// Up to 6.5.
    Cfs(CfsRq),
    /// Since 6.6.
    Eevdf(EevdfRq),
}

/// The same call on either class.
macro_rules! either {
    ($rq:expr, $inner:ident => $call:expr) => {
        match $rq {
            FairRq::Cfs($inner) => $call,
            FairRq::Eevdf($inner) => $call,
        }
    };
}

impl FairRq {
    /// The task that has the CPU; `None` is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        either!(self, rq => rq.curr())
    }

    /// Tasks on the queue, the running one and delayed ones included.
    #[inline]
    pub fn nr_queued(&self) -> u32 {
        either!(self, rq => rq.nr_queued())
    }

    /// Tasks that can run: without the delayed ones (`h_nr_runnable`, 6.12).
    #[inline]
    pub fn nr_runnable(&self) -> u32 {
        match self {
            FairRq::Cfs(rq) => rq.nr_queued(),
            FairRq::Eevdf(rq) => rq.nr_queued() - rq.nr_delayed(),
        }
    }

    /// Whether there are tasks and all are of policy IDLE (`sched_idle_rq()`, 6.1 and 6.12).
    #[inline]
    pub fn sched_idle(&self) -> bool {
        either!(self, rq => rq.nr_queued() != 0 && rq.nr_queued() == rq.nr_idle())
    }

    /// Gives a new task its first vruntime on its parent's queue, before it is enqueued with
    /// [`INITIAL`](EnqueueFlags::INITIAL) on any queue. EEVDF places it at the enqueue.
    pub fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) {
        if let FairRq::Cfs(rq) = self {
            rq.task_fork(es, now, task);
        }
    }

    /// Puts a task on the queue and returns whether that asks for a reschedule of the running task. EEVDF: a wake-up
    /// of a task whose dequeue is delayed ([`sched_delayed`](super::Entity::sched_delayed)) is handled here too.
    #[must_use]
    pub fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) -> bool {
        match self {
            FairRq::Cfs(rq) => {
                rq.enqueue_task(es, now, task, flags);
                false
            }
            FairRq::Eevdf(rq) if es[task].on_rq => {
                rq.wake_delayed(es, task);
                false
            }
            FairRq::Eevdf(rq) => rq.enqueue_task(es, now, task, flags),
        }
    }

    /// Takes a task off the queue. EEVDF may delay that.
    #[must_use]
    pub fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: DequeueFlags) -> Dequeued {
        match self {
            FairRq::Cfs(rq) => {
                rq.dequeue_task(es, now, task, flags);
                Dequeued { off_rq: true, resched: false }
            }
            FairRq::Eevdf(rq) => rq.dequeue_task(es, now, task, flags),
        }
    }

    /// A task that slept on this queue is about to be enqueued on another, with `WAKEUP | MIGRATED`. EEVDF has kept its
    /// lag, which is relative already.
    pub fn migrate_task_rq(&self, es: &mut Entities, task: TaskId) {
        if let FairRq::Cfs(rq) = self {
            rq.migrate_task_rq(&mut es[task]);
        }
    }

    /// Whether a task that was enqueued asks for a reschedule of the running one (or of idle).
    #[must_use]
    pub fn check_preempt_wakeup(&mut self, es: &mut Entities, now: u64, task: TaskId, need_resched: bool) -> bool {
        either!(self, rq => rq.check_preempt_wakeup(es, now, task, need_resched))
    }

    /// Gives the CPU to the task that should have it. The caller clears the need-resched flag.
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        either!(self, rq => rq.schedule(es, now, prev))
    }

    /// The tick. Returns whether to reschedule.
    #[must_use]
    pub fn task_tick(&mut self, es: &mut Entities, now: u64) -> bool {
        either!(self, rq => rq.task_tick(es, now))
    }

    /// Charges the running task up to `now`. Returns whether to reschedule; CFS never asks for it here.
    #[must_use]
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) -> bool {
        match self {
            FairRq::Cfs(rq) => {
                rq.update_curr(es, now);
                false
            }
            FairRq::Eevdf(rq) => rq.update_curr(es, now),
        }
    }

    /// The running task yields; a [`schedule`](Self::schedule) follows.
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        either!(self, rq => rq.yield_task(es, now))
    }

    /// Changes a task's nice value. Returns whether to reschedule the running task.
    #[must_use]
    pub fn set_user_nice(&mut self, es: &mut Entities, now: u64, task: TaskId, nice: i8, need_resched: bool) -> bool {
        either!(self, rq => rq.set_user_nice(es, now, task, nice, need_resched))
    }

    /// Changes the slice a task asks for, ns (0: the queue's). Returns whether to reschedule. CFS has no such thing.
    #[must_use]
    pub fn set_custom_slice(&mut self, es: &mut Entities, now: u64, task: TaskId, slice: u64) -> bool {
        match self {
            FairRq::Cfs(_) => false,
            FairRq::Eevdf(rq) => rq.set_custom_slice(es, now, task, slice),
        }
    }

    /// The tasks that wait, in the class's order. Delayed ones are among them.
    pub fn waiting<'a>(&self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        let (cfs, eevdf) = match self {
            FairRq::Cfs(rq) => (Some(rq.waiting(es)), None),
            FairRq::Eevdf(rq) => (None, Some(rq.waiting(es))),
        };
        cfs.into_iter().flatten().chain(eevdf.into_iter().flatten())
    }
}
