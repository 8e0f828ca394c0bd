//! EEVDF, as in 6.12 (checked against 6.12.107).
//!
//! Each task asks for `slice` ns of run time and has a virtual deadline by which it should have had them. Of the
//! tasks that are owed time (`vruntime` not after the average V), the one with the earliest deadline runs.
//!
//! | file | holds |
//! |---|---|
//! | [`params`](EevdfParams) | tunables and feature switches |
//! | `avg` | V: the zero point, the sums, lag, eligibility |
//! | `place` | where a task joins |
//! | `charge` | run time into virtual time, the end of a request |
//! | `queue` | enqueue, dequeue and its delay, requeue |
//! | `pick` | who should run |
//! | `preempt` | whether a wake-up preempts |
//! | `schedule` | switching tasks, yield, tick |
//! | `change` | nice values and slices |

mod avg;
mod change;
mod charge;
mod params;
mod pick;
mod place;
mod preempt;
mod queue;
mod schedule;

pub use params::EevdfParams;

use super::tree::{ByDeadline, Timeline};
use super::{Entities, TaskId};

/// One CPU's run queue (`struct cfs_rq`, 6.12).
#[derive(Clone, Debug)]
pub struct EevdfRq {
    /// Tunables and feature switches. They may change at any time.
    pub params: EevdfParams,
    curr: Option<TaskId>,
    waiting: Timeline<ByDeadline>,
    /// `cfs_rq->zero_vruntime`.
    zero_vruntime: u64,
    /// `cfs_rq->avg_vruntime`: the sum of weight * (vruntime - zero_vruntime) over the waiting tasks.
    key_sum: i64,
    /// `cfs_rq->avg_load`: the sum of weight over the waiting tasks.
    load_sum: i64,
    nr_queued: u32,
    nr_delayed: u32,
    nr_idle: u32,
}

impl EevdfRq {
    /// An empty run queue. `zero_vruntime` is the virtual time it starts at, ns; the kernel's is -2^20
    /// (`init_cfs_rq()`, 6.12).
    pub fn new(params: EevdfParams, zero_vruntime: u64) -> Self {
        EevdfRq {
            params,
            curr: None,
            waiting: Timeline::new(),
            zero_vruntime,
            key_sum: 0,
            load_sum: 0,
            nr_queued: 0,
            nr_delayed: 0,
            nr_idle: 0,
        }
    }

    /// The task that has the CPU; it does not wait in the tree. `None`: the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        self.curr
    }

    /// Tasks on the queue, the running one and delayed ones included (`h_nr_queued`, 6.12).
    #[inline]
    pub fn nr_queued(&self) -> u32 {
        self.nr_queued
    }

    /// Delayed tasks: those that sleep but are still queued (`h_nr_delayed`, 6.12).
    #[inline]
    pub fn nr_delayed(&self) -> u32 {
        self.nr_delayed
    }

    /// Tasks of policy IDLE on the queue (`idle_h_nr_running`, 6.12).
    #[inline]
    pub fn nr_idle(&self) -> u32 {
        self.nr_idle
    }

    /// The virtual time relative to which the sums are kept, ns (`zero_vruntime`, 6.12).
    pub fn zero_vruntime(&self) -> u64 {
        self.zero_vruntime
    }

    /// The sum of weight * (vruntime - zero) over the waiting tasks, ns (the field `avg_vruntime`, 6.12).
    pub fn key_sum(&self) -> i64 {
        self.key_sum
    }

    /// The sum of the waiting tasks' weights (the field `avg_load`, 6.12).
    pub fn load_sum(&self) -> i64 {
        self.load_sum
    }

    /// The waiting tasks by deadline. The running task is not among them, delayed ones are.
    pub fn waiting<'a>(&self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        self.waiting.iter(es)
    }

    /// Checks tree and sums against the entities, in O(n); for tests.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        let waiting = self.waiting.validate(es)?;
        let curr = self.queued_curr(es);
        let on_rq = waiting + usize::from(curr.is_some());
        if on_rq != self.nr_queued as usize {
            return Err(format!("{on_rq} tasks are queued, nr_queued is {}", self.nr_queued));
        }
        let (mut key_sum, mut load_sum) = (0i64, 0);
        for task in self.waiting.iter(es) {
            let weight = i64::from(es[task].load.weight);
            key_sum = key_sum.wrapping_add(self.entity_key(es, task).wrapping_mul(weight));
            load_sum += weight;
        }
        if (key_sum, load_sum) != (self.key_sum, self.load_sum) {
            return Err(format!("sums are {key_sum} and {load_sum}, not {} and {}", self.key_sum, self.load_sum));
        }
        let count =
            |of: fn(&super::Entity) -> bool| self.waiting.iter(es).chain(curr).filter(|&task| of(&es[task])).count();
        if count(|e| e.sched_delayed) != self.nr_delayed as usize || count(|e| e.is_idle()) != self.nr_idle as usize {
            return Err(format!("nr_delayed {} or nr_idle {} is wrong", self.nr_delayed, self.nr_idle));
        }
        Ok(())
    }

    /// The running task, if it is still queued (the `curr && curr->on_rq` of 6.12).
    #[inline]
    fn queued_curr(&self, es: &Entities) -> Option<TaskId> {
        self.curr.filter(|&curr| es[curr].on_rq)
    }
}
