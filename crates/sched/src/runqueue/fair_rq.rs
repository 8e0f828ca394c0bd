//! [`FairRq`]: the methods of `fair_sched_class`, for either class.

use super::{
    CfsRq, DequeueFlags, Dequeued, EevdfRq, EnqueueFlags, Entities, FairRules, GroupedRq, Hrtick, Policy, Preempted,
    Prev, Resched, Switch, TaskId, Tick,
};
use crate::select::WakeFlags;

/// A run queue of the class that a kernel version has.
///
/// Every operation calls the one of the same name of [`CfsRq`] or [`EevdfRq`]. If the two differ, its documentation
/// says how.
#[derive(Clone, Debug)]
pub enum FairRq {
    /// Up to 6.5.
    Cfs(CfsRq),
    /// Since 6.6.
    Eevdf(EevdfRq),
    /// With control groups, of either class.
    Groups(Box<GroupedRq>),
}

/// Makes the same call on either class.
macro_rules! either {
    ($rq:expr, $inner:ident => $call:expr) => {
        match $rq {
            FairRq::Cfs($inner) => $call,
            FairRq::Eevdf($inner) => $call,
            FairRq::Groups($inner) => $call,
        }
    };
}

impl FairRq {
    /// An empty run queue. Its virtual time starts at `virtual_time`, ns; the kernel's starts at -2^20
    /// (`init_cfs_rq()`).
    pub fn new(rules: FairRules, virtual_time: u64) -> Self {
        match rules {
            FairRules::Cfs(params, rules) => FairRq::Cfs(CfsRq::new(params, rules, virtual_time)),
            FairRules::Eevdf(params, rules) => FairRq::Eevdf(EevdfRq::new(params, rules, virtual_time)),
        }
    }

    /// The running task; `None` if the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        either!(self, rq => rq.curr())
    }

    /// The number of queued tasks, including the running one and delayed ones (`h_nr_queued`, 6.12).
    #[inline]
    pub fn nr_queued(&self) -> u32 {
        either!(self, rq => rq.nr_queued())
    }

    /// The number of delayed tasks: those that sleep but are still queued (`h_nr_delayed`, 6.12). CFS has none.
    #[inline]
    pub fn nr_delayed(&self) -> u32 {
        match self {
            FairRq::Cfs(_) => 0,
            FairRq::Eevdf(rq) => rq.nr_delayed(),
            FairRq::Groups(rq) => rq.nr_queued() - rq.nr_runnable(),
        }
    }

    /// The number of queued tasks of policy `SCHED_IDLE` (`idle_h_nr_running`, 6.1 and 6.12).
    #[inline]
    pub fn nr_idle(&self) -> u32 {
        either!(self, rq => rq.nr_idle())
    }

    /// The number of queued tasks that can run: all but the delayed ones (`h_nr_runnable`, 6.12).
    #[inline]
    pub fn nr_runnable(&self) -> u32 {
        match self {
            FairRq::Cfs(rq) => rq.nr_queued(),
            FairRq::Eevdf(rq) => rq.nr_queued() - rq.nr_delayed(),
            FairRq::Groups(rq) => rq.nr_runnable(),
        }
    }

    /// Whether there are tasks and all are of policy `SCHED_IDLE` (`sched_idle_rq()`, 6.1 and 6.12).
    #[inline]
    pub fn sched_idle(&self) -> bool {
        self.nr_queued() != 0 && self.nr_queued() == self.nr_idle()
    }

    /// Gives a new task its first vruntime on its parent's queue (`task_fork_fair()`, 6.1). After that it is enqueued
    /// with [`INITIAL`](EnqueueFlags::INITIAL), on any queue. EEVDF places the task when it is enqueued; up to 6.8 it
    /// charges the parent here, which may request a reschedule of it.
    pub fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) -> Resched {
        match self {
            FairRq::Cfs(rq) => {
                rq.task_fork(es, now, task);
                Resched::No
            }
            FairRq::Eevdf(rq) => rq.task_fork(es, now),
            FairRq::Groups(rq) => rq.task_fork(es, now, task),
        }
    }

    /// Puts a task on the queue and returns whether that requests a reschedule of the running task
    /// (`enqueue_task_fair()`). EEVDF also handles the wake-up of a task whose dequeue was delayed
    /// ([`sched_delayed`](super::Entity::sched_delayed)).
    #[inline]
    pub fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) -> Resched {
        match self {
            FairRq::Cfs(rq) => {
                rq.enqueue_task(es, now, task, flags);
                Resched::No
            }
            FairRq::Eevdf(rq) if es[task].on_rq => rq.requeue_delayed_entity(es, now, task),
            FairRq::Eevdf(rq) => rq.enqueue_task(es, now, task, flags),
            FairRq::Groups(rq) => rq.enqueue_task(es, now, task, flags),
        }
    }

    /// Takes a task off the queue (`dequeue_task_fair()`). EEVDF may delay that.
    #[inline]
    #[must_use]
    pub fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: DequeueFlags) -> Dequeued {
        match self {
            FairRq::Cfs(rq) => {
                rq.dequeue_task(es, now, task, flags);
                Dequeued { off_rq: true, resched: Resched::No }
            }
            FairRq::Eevdf(rq) => rq.dequeue_task(es, now, task, flags),
            FairRq::Groups(rq) => rq.dequeue_task(es, now, task, flags),
        }
    }

    /// Prepares a task that slept on this queue for an enqueue on another, with `WAKEUP | MIGRATED`
    /// (`migrate_task_rq_fair()`). EEVDF does nothing here: a lag is relative to V already.
    #[inline]
    pub fn migrate_task_rq(&self, es: &mut Entities, task: TaskId) {
        match self {
            FairRq::Cfs(rq) => rq.migrate_task_rq(&mut es[task]),
            FairRq::Eevdf(_) => {}
            FairRq::Groups(rq) => rq.migrate_task_rq(es, task),
        }
    }

    /// Whether a task that was enqueued or woken requests a reschedule of the running one, or of the idle task
    /// (`wakeup_preempt()`).
    ///
    /// `flags` are the wake-up's: `FORK` for a new task, `SYNC`; none if the balancer attached the task.
    /// `need_resched`: `TIF_NEED_RESCHED` is set already; `TIF_NEED_RESCHED_LAZY` does not count.
    #[inline]
    pub fn wakeup_preempt(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Preempted {
        match self {
            FairRq::Cfs(rq) => Resched::Now.when(rq.check_preempt_wakeup(es, now, task, flags, need_resched)).into(),
            FairRq::Eevdf(rq) => rq.wakeup_preempt(es, now, task, flags, need_resched),
            FairRq::Groups(rq) => rq.wakeup_preempt(es, now, task, flags, need_resched),
        }
    }

    /// Gives the CPU to the task that should have it (`__schedule()`). The caller clears the need-resched flags.
    #[inline]
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        either!(self, rq => rq.schedule(es, now, prev))
    }

    /// A higher class takes the CPU (`put_prev_task_fair()`): takes the running task off if it blocks or exits, as far
    /// as [`dequeue_task`](Self::dequeue_task) does; else it waits.
    pub fn put_prev_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        either!(self, rq => rq.put_prev_task(es, now, prev));
    }

    /// The periodic tick (`sched_tick()`): makes a lazy request urgent, then calls `task_tick_fair()`.
    pub fn tick(&mut self, es: &mut Entities, now: u64, pending: Tick) -> Resched {
        let promoted = Resched::Now.when(pending.lazy && self.curr().is_some());
        promoted
            | match self {
                // "don't let the period tick interfere with the hrtick preemption". EEVDF checks in update_curr().
                FairRq::Cfs(rq) if pending.hrtick_active && !rq.params.double_tick => {
                    rq.update_curr(es, now);
                    Resched::No
                }
                FairRq::Cfs(rq) => Resched::Now.when(rq.task_tick(es, now)),
                FairRq::Eevdf(rq) => rq.task_tick(es, now),
                FairRq::Groups(rq) => rq.tick(es, now, pending),
            }
    }

    /// The hrtick has expired, so the slice is over (`hrtick()`, `entity_tick()` with `queued`).
    pub fn hrtick_tick(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.update_curr(es, now) | Resched::Now.when(self.curr().is_some())
    }

    /// The time for which the running task's hrtick is started, at a switch and after an enqueue
    /// (`hrtick_start_fair()`). `irq_util` is the utilisation by interrupts, 0 to 1023, by which 7.2 stretches the
    /// time.
    pub fn hrtick(&self, es: &Entities, irq_util: u64) -> Hrtick {
        match self {
            FairRq::Cfs(rq) => rq.hrtick(es),
            FairRq::Eevdf(rq) => rq.hrtick(es, irq_util),
            FairRq::Groups(rq) => rq.hrtick(es, irq_util),
        }
    }

    /// Whether the hrtick is restarted when a task joins or leaves (`hrtick_update()`). CFS does not if the queue has
    /// so many tasks that its period grows with their number.
    pub fn hrtick_update_restarts(&self, es: &Entities) -> bool {
        match self {
            FairRq::Cfs(rq) => rq.nr_queued() < rq.params.nr_latency,
            FairRq::Eevdf(_) => true,
            FairRq::Groups(rq) => rq.hrtick_update_restarts(es),
        }
    }

    /// Charges the running task up to `now` (`update_curr()`). CFS never requests a reschedule here.
    #[inline]
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        match self {
            FairRq::Cfs(rq) => {
                rq.update_curr(es, now);
                Resched::No
            }
            FairRq::Eevdf(rq) => rq.update_curr(es, now),
            FairRq::Groups(rq) => rq.update_curr(es, now),
        }
    }

    /// The running task yields (`yield_task_fair()`); a [`schedule`](Self::schedule) follows.
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        either!(self, rq => rq.yield_task(es, now))
    }

    /// Changes a task's nice value (`set_user_nice()`).
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
        match self {
            FairRq::Cfs(rq) => Resched::Now.when(rq.set_user_nice(es, now, task, nice, need_resched)).into(),
            FairRq::Eevdf(rq) => rq.set_user_nice(es, now, task, nice, need_resched),
            FairRq::Groups(rq) => rq.set_user_nice(es, now, task, nice, need_resched),
        }
    }

    /// Changes a task's policy; its nice value stays (`__sched_setscheduler()`). CFS never requests a reschedule here.
    pub fn set_policy(&mut self, es: &mut Entities, now: u64, task: TaskId, policy: Policy) -> Resched {
        match self {
            FairRq::Cfs(rq) => {
                rq.set_policy(es, now, task, policy);
                Resched::No
            }
            FairRq::Eevdf(rq) => rq.set_policy(es, now, task, policy),
            FairRq::Groups(rq) => rq.set_policy(es, now, task, policy),
        }
    }

    /// Whether [`set_custom_slice`](Self::set_custom_slice) would change anything.
    pub fn changes_slice(&self, es: &Entities, task: TaskId, slice: u64) -> bool {
        match self {
            FairRq::Cfs(_) => false,
            FairRq::Eevdf(rq) => rq.changes_slice(es, task, slice),
            FairRq::Groups(rq) => rq.changes_slice(es, task, slice),
        }
    }

    /// Changes the slice that a task asks for, ns (0: the queue's; else 0.1 to 100 ms). CFS and EEVDF before 6.12
    /// ignore it.
    pub fn set_custom_slice(&mut self, es: &mut Entities, now: u64, task: TaskId, slice: u64) -> Resched {
        match self {
            FairRq::Cfs(_) => Resched::No,
            FairRq::Eevdf(rq) => rq.set_custom_slice(es, now, task, slice),
            FairRq::Groups(rq) => rq.set_custom_slice(es, now, task, slice),
        }
    }

    /// Checks tree and sums against the entities, in O(n). Tests call it after each operation.
    ///
    /// # Errors
    /// Describes the first invariant that does not hold.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        either!(self, rq => rq.validate(es))
    }

    /// The waiting tasks in the class's order, delayed ones included. The running task is not among them. With control
    /// groups there is no one order, and none is returned.
    pub fn waiting<'a>(&'a self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        let (cfs, eevdf) = match self {
            FairRq::Cfs(rq) => (Some(rq.waiting(es)), None),
            FairRq::Eevdf(rq) => (None, Some(rq.waiting(es))),
            FairRq::Groups(_) => (None, None),
        };
        cfs.into_iter().flatten().chain(eevdf.into_iter().flatten())
    }
}
