//! Either class behind one set of operations.

use super::{
    CfsRq, DequeueFlags, Dequeued, EevdfRq, EnqueueFlags, Entities, FairRules, Hrtick, Policy, Preempted, Prev,
    Resched, Switch, TaskId, Tick,
};
use crate::select::WakeFlags;

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
    /// An empty run queue. `virtual_time` is where its virtual time starts, ns; the kernel's is -2^20 (`init_cfs_rq()`).
    pub fn of(rules: FairRules, virtual_time: u64) -> Self {
        match rules {
            FairRules::Cfs(params, rules) => FairRq::Cfs(CfsRq::with_rules(params, rules, virtual_time)),
            FairRules::Eevdf(params, rules) => FairRq::Eevdf(EevdfRq::with_rules(params, rules, virtual_time)),
        }
    }

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

    /// Delayed tasks: those that sleep but are still queued. CFS has none.
    #[inline]
    pub fn nr_delayed(&self) -> u32 {
        self.nr_queued() - self.nr_runnable()
    }

    /// Tasks of policy IDLE on the queue.
    #[inline]
    pub fn nr_idle(&self) -> u32 {
        either!(self, rq => rq.nr_idle())
    }

    /// Who is marked to be picked next (`cfs_rq->next`).
    pub fn next(&self) -> Option<TaskId> {
        either!(self, rq => rq.next())
    }

    /// The queue's virtual time, ns: `min_vruntime` of CFS, the average V of EEVDF.
    pub fn virtual_time(&self, es: &Entities) -> u64 {
        match self {
            FairRq::Cfs(rq) => rq.min_vruntime(),
            FairRq::Eevdf(rq) => rq.avg_vruntime(es),
        }
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
    pub fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) -> Resched {
        match self {
            FairRq::Cfs(rq) => {
                rq.enqueue_task(es, now, task, flags);
                Resched::No
            }
            FairRq::Eevdf(rq) if es[task].on_rq => rq.wake_delayed(es, now, task),
            FairRq::Eevdf(rq) => rq.enqueue_task(es, now, task, flags),
        }
    }

    /// Takes a task off the queue. EEVDF may delay that.
    #[must_use]
    pub fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: DequeueFlags) -> Dequeued {
        match self {
            FairRq::Cfs(rq) => {
                rq.dequeue_task(es, now, task, flags);
                Dequeued { off_rq: true, resched: Resched::No }
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

    /// Whether a task that was enqueued or woken asks for a reschedule of the running one, or of idle (`wakeup_preempt()`).
    /// `flags` are the wake-up's: `FORK` of a new task, `SYNC`; none when the balancer attached the task. `need_resched`:
    /// `TIF_NEED_RESCHED` is set already; `TIF_NEED_RESCHED_LAZY` does not count.
    pub fn wakeup_preempt(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Preempted {
        match self {
            FairRq::Cfs(rq) => Resched::Now.when(rq.check_preempt(es, now, task, flags, need_resched)).into(),
            FairRq::Eevdf(rq) => rq.wakeup_preempt(es, now, task, flags, need_resched),
        }
    }

    /// The same without flags, where nobody can be reaped and how urgent it is does not matter.
    ///
    /// # Panics
    /// If somebody was reaped (EEVDF since 7.2).
    #[must_use]
    pub fn check_preempt_wakeup(&mut self, es: &mut Entities, now: u64, task: TaskId, need_resched: bool) -> bool {
        either!(self, rq => rq.check_preempt_wakeup(es, now, task, need_resched))
    }

    /// Gives the CPU to the task that should have it. The caller clears the need-resched flag.
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        either!(self, rq => rq.schedule(es, now, prev))
    }

    /// The periodic tick (`sched_tick()`): `lazy` requests become urgent, then the class looks.
    pub fn tick(&mut self, es: &mut Entities, now: u64, pending: Tick) -> Resched {
        let promoted = Resched::Now.when(pending.lazy && self.curr().is_some());
        promoted
            | match self {
                // "don't let the period tick interfere with the hrtick preemption"; EEVDF decides in the charge.
                FairRq::Cfs(rq) if pending.hrtick_active && !rq.rules().double_tick => {
                    rq.update_curr(es, now);
                    Resched::No
                }
                FairRq::Cfs(rq) => Resched::Now.when(rq.task_tick(es, now)),
                FairRq::Eevdf(rq) => rq.task_tick(es, now),
            }
    }

    /// The same with nothing pending. Returns whether to reschedule.
    #[must_use]
    pub fn task_tick(&mut self, es: &mut Entities, now: u64) -> bool {
        self.tick(es, now, Tick::default()).asked()
    }

    /// The hrtick has come: the slice is over (`hrtick()`, `entity_tick()` with `queued`).
    pub fn hrtick_tick(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.update_curr(es, now) | Resched::Now.when(self.curr().is_some())
    }

    /// The hrtick that the running task is to have: asked for at a switch and after an enqueue (`hrtick_start_fair()`).
    /// `irq_util` is the utilisation by interrupts, 0 to 1023, which stretches it (7.2).
    pub fn hrtick(&self, es: &Entities, irq_util: u64) -> Hrtick {
        match self {
            FairRq::Cfs(rq) => rq.hrtick(es),
            FairRq::Eevdf(rq) => rq.hrtick(es, irq_util),
        }
    }

    /// Whether a task that comes or goes has the hrtick started anew (`hrtick_update()`): not on a queue of CFS whose period
    /// grows with its tasks.
    pub fn hrtick_follows_tasks(&self) -> bool {
        match self {
            FairRq::Cfs(rq) => rq.nr_queued() < rq.params.nr_latency,
            FairRq::Eevdf(_) => true,
        }
    }

    /// Charges the running task up to `now`. CFS never asks for a reschedule here.
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        match self {
            FairRq::Cfs(rq) => {
                rq.update_curr(es, now);
                Resched::No
            }
            FairRq::Eevdf(rq) => rq.update_curr(es, now),
        }
    }

    /// The running task yields; a [`schedule`](Self::schedule) follows.
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        either!(self, rq => rq.yield_task(es, now))
    }

    /// Changes a task's nice value.
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
        }
    }

    /// Changes a task's policy; its nice value stays. CFS never asks for a reschedule here.
    pub fn set_policy(&mut self, es: &mut Entities, now: u64, task: TaskId, policy: Policy) -> Resched {
        match self {
            FairRq::Cfs(rq) => {
                rq.set_policy(es, now, task, policy);
                Resched::No
            }
            FairRq::Eevdf(rq) => rq.set_policy(es, now, task, policy),
        }
    }

    /// Whether [`set_custom_slice`](Self::set_custom_slice) would change anything.
    pub fn changes_slice(&self, es: &Entities, task: TaskId, slice: u64) -> bool {
        match self {
            FairRq::Cfs(_) => false,
            FairRq::Eevdf(rq) => rq.changes_slice(es, task, slice),
        }
    }

    /// Changes the slice a task asks for, ns (0: the queue's; else 0.1 to 100 ms). CFS has no such thing.
    pub fn set_custom_slice(&mut self, es: &mut Entities, now: u64, task: TaskId, slice: u64) -> Resched {
        match self {
            FairRq::Cfs(_) => Resched::No,
            FairRq::Eevdf(rq) => rq.set_custom_slice(es, now, task, slice),
        }
    }

    /// Checks trees and sums against the entities, in O(n); for tests.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        either!(self, rq => rq.validate(es))
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
