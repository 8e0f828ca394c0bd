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

mod change;
mod charge;
mod params;
mod pick;
mod place;
mod preempt;
mod queue;
mod rules;
mod schedule;
mod slice;

pub use params::CfsParams;
pub use rules::CfsRules;

use super::tree::{ByVruntime, Timeline};
use super::{Entities, Entity, TaskId};

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
