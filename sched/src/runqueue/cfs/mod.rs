//! CFS, as in 6.1 (checked against 6.1.192), or in the form of an older version ([`CfsRules`]).
//!
//! The task that has had the least weighted run time runs, for its share of a latency period.
//!
//! | file | holds |
//! |---|---|
//! | [`params`](CfsParams) | tunables and feature switches |
//! | [`rules`](CfsRules) | forms of the code, by version |
//! | `slice` | a task's share of the period |
//! | `charge` | run time into virtual time, `min_vruntime` |
//! | `place` | where a task joins |
//! | `queue` | enqueue, dequeue, migration |
//! | `pick` | who should run; buddies |
//! | `preempt` | whether a wake-up or the tick preempts |
//! | `schedule` | switching tasks, yield |
//! | `change` | nice values |

mod check_preempt_wakeup;
mod enqueue_entity;
mod pick_next_entity;
mod place_entity;
mod rules;
mod update_curr;

pub use rules::CfsRules;

use super::tasks_timeline::{ByVruntime, Timeline};
use super::{Entities, Entity, TaskId};

/// What a CFS run queue can be told (6.1; defaults are in the presets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfsParams {
    /// The period in which every task runs once, ns (`sysctl_sched_latency`; 6 to 24 ms by the number of CPUs).
    pub latency_ns: u64,
    /// The least slice, ns (`sysctl_sched_min_granularity`; 0.75 to 3 ms).
    pub min_granularity_ns: u64,
    /// The least slice of a task of policy IDLE beside others, ns (`sysctl_sched_idle_min_granularity`; 0.75 ms).
    pub idle_min_granularity_ns: u64,
    /// How far behind a waking task must be to preempt, ns at its own weight (`sysctl_sched_wakeup_granularity`; 1
    /// to 4 ms).
    pub wakeup_granularity_ns: u64,
    /// With more tasks than this the period grows (`sched_nr_latency`; 8).
    pub nr_latency: u32,
    /// `GENTLE_FAIR_SLEEPERS`: a sleeper is credited half of the latency, not all.
    pub gentle_fair_sleepers: bool,
    /// `START_DEBIT`: a new task joins one slice behind.
    pub start_debit: bool,
    /// `WAKEUP_PREEMPTION`: a wake-up may preempt.
    pub wakeup_preemption: bool,
    /// `BASE_SLICE`: a slice is at least the granularity, however small the share.
    pub base_slice: bool,
    /// A task that wins a wake-up preemption is preferred at the next pick (`set_next_buddy()` in
    /// `check_preempt_wakeup()`). Always so in the kernel; off is for comparison.
    pub next_marker: bool,
    /// `LAST_BUDDY`: with at least `nr_latency` tasks, the CPU returns to the task that was preempted.
    pub last_buddy: bool,
}

/// One CPU's run queue (`struct cfs_rq`, 6.1).
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// Tunables and feature switches. They may change at any time.
    pub params: CfsParams,
    rules: CfsRules,
    curr: Option<TaskId>,
    next: Option<TaskId>,
    last: Option<TaskId>,
    skip: Option<TaskId>,
    waiting: Timeline<ByVruntime>,
    min_vruntime: u64,
    load: u64,
    nr_queued: u32,
    nr_idle: u32,
}

impl CfsRq {
    /// An empty run queue of 6.1. `min_vruntime` is the virtual time it starts at, ns; the kernel's is -2^20
    /// (`init_cfs_rq()`, 6.1).
    pub fn new(params: CfsParams, min_vruntime: u64) -> Self {
        Self::with_rules(params, CfsRules::V6_1, min_vruntime)
    }

    /// The same of any version.
    pub fn with_rules(params: CfsParams, rules: CfsRules, min_vruntime: u64) -> Self {
        CfsRq {
            params,
            rules,
            curr: None,
            next: None,
            last: None,
            skip: None,
            waiting: Timeline::new(),
            min_vruntime,
            load: 0,
            nr_queued: 0,
            nr_idle: 0,
        }
    }

    /// The form of the code.
    pub fn rules(&self) -> &CfsRules {
        &self.rules
    }

    /// The task that has the CPU; it does not wait in the tree. `None`: the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        self.curr
    }

    /// Tasks on the queue, the running one included (`nr_running`, 6.1).
    #[inline]
    pub fn nr_queued(&self) -> u32 {
        self.nr_queued
    }

    /// Tasks of policy IDLE on the queue (`idle_nr_running`, 6.1).
    #[inline]
    pub fn nr_idle(&self) -> u32 {
        self.nr_idle
    }

    /// The queue's virtual time, ns (`min_vruntime`, 6.1). It never goes back.
    pub fn min_vruntime(&self) -> u64 {
        self.min_vruntime
    }

    /// The summed weight of the queued tasks, the running one included (`load.weight`, 6.1, scaled down).
    pub fn load(&self) -> u64 {
        self.load
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
    pub fn waiting<'a>(&self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        self.waiting.iter(es)
    }

    /// Checks tree and sums against the entities, in O(n); for tests.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        self.waiting.validate(es)?;
        let tasks: Vec<&Entity> = self.waiting.iter(es).chain(self.queued_curr(es)).map(|task| &es[task]).collect();
        let load: u64 = tasks.iter().map(|e| u64::from(e.load.weight)).sum();
        let nr_idle = tasks.iter().filter(|e| e.is_idle()).count();
        let kept = (self.nr_queued as usize, self.load, self.nr_idle as usize);
        if kept != (tasks.len(), load, nr_idle) {
            return Err(format!("nr_queued, load, nr_idle are {:?}, not {kept:?}", (tasks.len(), load, nr_idle)));
        }
        match [self.next, self.last, self.skip].into_iter().flatten().find(|&buddy| !es[buddy].on_rq) {
            Some(buddy) => Err(format!("{buddy:?} is marked but not queued")),
            None => Ok(()),
        }
    }

    /// The running task, if it is still queued (the `curr && curr->on_rq` of 6.1).
    #[inline]
    fn queued_curr(&self, es: &Entities) -> Option<TaskId> {
        self.curr.filter(|&curr| es[curr].on_rq)
    }
}
