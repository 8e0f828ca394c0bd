//! CFS, as in 6.1 (checked against 6.1.192), or in the form of an older version ([`CfsRules`]).
//!
//! The task that has had the least weighted run time runs, for its share of a latency period:
//!
//! ```text
//! vruntime += delta_exec * NICE_0_LOAD / weight         update_curr()
//! slice     = period * weight / sum of weights          sched_slice()
//! ```
//!
//! | file | kernel functions |
//! |---|---|
//! | `update_curr` | `update_curr()`, `update_min_vruntime()`, `sched_slice()` |
//! | `place_entity` | `place_entity()`, `task_fork_fair()` |
//! | `enqueue_entity` | `enqueue_entity()`, `dequeue_entity()`, `migrate_task_rq_fair()`, `set_user_nice()` |
//! | `pick_next_entity` | `pick_next_entity()`, `set_next_entity()`, `put_prev_entity()`, `yield_task_fair()` |
//! | `task_group` | control groups: `for_each_sched_entity()`, `find_matching_se()`, `update_cfs_group()` |
//! | `check_preempt_wakeup` | `check_preempt_wakeup()`, `wakeup_preempt_entity()`, `check_preempt_tick()` |

mod check_preempt_wakeup;
mod enqueue_entity;
mod pick_next_entity;
mod place_entity;
mod task_group;
mod update_curr;

pub use task_group::GroupedCfsRq;
pub use wakelab_kernel::CfsRules;

use super::tasks_timeline::{ByVruntime, Timeline};
use super::{Entities, Entity, QueueState, TaskId};
use std::sync::Arc;

/// Tunables and feature switches of a CFS run queue (6.1; the presets have the defaults).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfsParams {
    /// The period in which every task runs once, ns (`sysctl_sched_latency`; 6 to 24 ms by the number of CPUs).
    pub latency_ns: u64,
    /// The least slice, ns (`sysctl_sched_min_granularity`; 0.75 to 3 ms).
    pub min_granularity_ns: u64,
    /// The least slice of a `SCHED_IDLE` task if others are queued, ns (`sysctl_sched_idle_min_granularity`; 0.75 ms).
    pub idle_min_granularity_ns: u64,
    /// How much less vruntime a waking task must have to preempt, ns at its own weight
    /// (`sysctl_sched_wakeup_granularity`; 1 to 4 ms).
    pub wakeup_granularity_ns: u64,
    /// With more tasks than this the period grows (`sched_nr_latency`; 8).
    pub nr_latency: u32,
    /// `GENTLE_FAIR_SLEEPERS`: a sleeper is credited half of the latency, not all.
    pub gentle_fair_sleepers: bool,
    /// `START_DEBIT`: a new task is placed one slice after `min_vruntime`.
    pub start_debit: bool,
    /// `WAKEUP_PREEMPTION`: a wake-up may preempt.
    pub wakeup_preemption: bool,
    /// `BASE_SLICE`: a slice is at least the granularity, however small the share.
    pub base_slice: bool,
    /// `ALT_PERIOD`: the period goes by the number of tasks of all groups, not by that of the entity's own.
    pub alt_period: bool,
    /// A task that wins a wake-up preemption is preferred at the next pick (`set_next_buddy()` in
    /// `check_preempt_wakeup()`). Always on in the kernel; off is for comparison.
    pub next_marker: bool,
    /// `LAST_BUDDY`: with at least `nr_latency` tasks, the CPU returns to the task that was preempted.
    pub last_buddy: bool,
    /// `NEXT_BUDDY`: with at least `nr_latency` tasks, a wakee is marked to be picked next even if it does not preempt.
    pub next_buddy: bool,
    /// `HRTICK`: a timer ends the slice.
    pub hrtick: bool,
    /// `DOUBLE_TICK`: the periodic tick checks for preemption beside the hrtick.
    pub double_tick: bool,
}

/// One CPU's run queue (`struct cfs_rq`, 6.1).
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// Tunables and feature switches, which all run queues share that were cloned from one.
    pub(super) params: Arc<CfsParams>,
    pub(super) rules: CfsRules,
    curr: Option<TaskId>,
    next: Option<TaskId>,
    last: Option<TaskId>,
    skip: Option<TaskId>,
    tasks_timeline: Timeline<ByVruntime>,
    min_vruntime: u64,
    /// `load.weight`, of full resolution.
    load: u64,
    nr_queued: u32,
    nr_idle: u32,
}

impl CfsRq {
    /// An empty run queue. Its virtual time starts at `min_vruntime`, ns; the kernel's starts at -2^20
    /// (`init_cfs_rq()`, 6.1).
    pub fn new(params: CfsParams, rules: CfsRules, min_vruntime: u64) -> Self {
        CfsRq {
            params: Arc::new(params),
            rules,
            curr: None,
            next: None,
            last: None,
            skip: None,
            tasks_timeline: Timeline::new(),
            min_vruntime,
            load: 0,
            nr_queued: 0,
            nr_idle: 0,
        }
    }

    /// The run queue in this state ([`FairRq::in_state`](super::FairRq::in_state)).
    pub(super) fn in_state(params: CfsParams, rules: CfsRules, es: &mut Entities, state: &QueueState<'_>) -> Self {
        let mut rq = CfsRq::new(params, rules, state.virtual_time);
        for &task in state.waiting {
            rq.tasks_timeline.insert(es, task);
        }
        for task in state.waiting.iter().copied().chain(state.curr.filter(|&curr| es[curr].on_rq)) {
            rq.nr_queued += 1;
            rq.nr_idle += u32::from(es[task].is_idle());
            rq.load += es[task].full_weight();
        }
        (rq.curr, rq.next, rq.last) = (state.curr, state.next, state.last);
        rq
    }

    /// The running task, which does not wait in the tree; `None` if the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        self.curr
    }

    /// The number of queued tasks, including the running one (`nr_running`, 6.1).
    #[inline]
    pub fn nr_queued(&self) -> u32 {
        self.nr_queued
    }

    /// The number of queued tasks of policy `SCHED_IDLE` (`idle_nr_running`, 6.1).
    #[inline]
    pub fn nr_idle(&self) -> u32 {
        self.nr_idle
    }

    /// The queue's virtual time, ns (`min_vruntime`, 6.1). It never goes back.
    pub fn min_vruntime(&self) -> u64 {
        self.min_vruntime
    }

    /// The sum of the queued tasks' weights, including the running one (`load.weight`, 6.1, scaled down).
    pub fn load(&self) -> u64 {
        self.load >> 10
    }

    /// The task to prefer at the next pick: it won a wake-up preemption (`cfs_rq->next`, 6.1).
    pub fn next(&self) -> Option<TaskId> {
        self.next
    }

    /// The task that was preempted last (`cfs_rq->last`, 6.1).
    pub fn last(&self) -> Option<TaskId> {
        self.last
    }

    /// The task to pass over at the next pick: it yielded (`cfs_rq->skip`, 6.1).
    pub fn skip(&self) -> Option<TaskId> {
        self.skip
    }

    /// The waiting tasks by vruntime. The running task is not among them.
    pub fn waiting<'a>(&'a self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        self.tasks_timeline.iter(es)
    }

    /// Checks tree and sums against the entities, in O(n). Tests call it after each operation.
    ///
    /// # Errors
    /// Describes the first invariant that does not hold.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        self.tasks_timeline.validate(es)?;
        let queued = self.tasks_timeline.iter(es).chain(self.queued_curr(es));
        let queued: Vec<&Entity> = queued.map(|task| &es[task]).collect();
        let load: u64 = queued.iter().map(|e| e.full_weight()).sum();
        let nr_idle = queued.iter().filter(|e| e.is_idle()).count();
        let expected = (queued.len(), load, nr_idle);
        let actual = (self.nr_queued as usize, self.load, self.nr_idle as usize);
        if actual != expected {
            return Err(format!("nr_queued, load, nr_idle are {actual:?}, not {expected:?}"));
        }
        match [self.next, self.last, self.skip].into_iter().flatten().find(|&buddy| !es[buddy].on_rq) {
            Some(buddy) => Err(format!("{buddy:?} is a buddy but not queued")),
            None => Ok(()),
        }
    }

    /// The running task, if it is still queued (the `curr && curr->on_rq` of 6.1).
    #[inline]
    fn queued_curr(&self, es: &Entities) -> Option<TaskId> {
        self.curr.filter(|&curr| es[curr].on_rq)
    }
}
