//! Run queues of the fair class: [CFS](cfs) as in 5.10, 5.18 and 6.1, and [EEVDF](eevdf) as in 6.12, 7.2 and 7.3.
//!
//! Which one a queue is, it is told when it is made: [`FairRules::of`] a kernel preset, then [`FairRq::of`]. 6.1 and 6.12
//! are held against the kernel's own code by vectors; the other versions are written from their sources, which the
//! fields of [`CfsRules`] and [`EevdfRules`] name, and held against a second, slow writing of them.
//!
//! A run queue is one CPU's `cfs_rq`: flat, without cgroups. What it knows about a task is the task's [`Entity`]
//! (`struct sched_entity`). The entities of all tasks live in one [`Entities`], owned by the caller and passed to every
//! operation; a run queue links those that wait on it into its tree and stores only task numbers. Migrating a task
//! is therefore a dequeue from one queue and an enqueue on another, as in the kernel, and nothing is copied or
//! allocated.
//!
//! **Time** is `now`, in nanoseconds of the CPU's `rq_clock_task()`, and is passed in. Between two operations on a run
//! queue it must not go back.
//!
//! **Rescheduling.** The need-resched flags of the running task belong to the caller. An operation returns whether
//! it asks for a reschedule, and how urgently ([`Resched`]); where its decision depends on a flag that is already set, it
//! takes the flag. The caller answers with `schedule()`, then or later, and clears the flags.
//!
//! **Virtual times** are `u64` that wrap, and are ordered by the sign of their difference ([`before`]), so that
//! any instant may be the first one. Orders hold as long as the virtual times on one queue span less than 2^63.
//!
//! **Delayed tasks** that are picked leave the queue: at a schedule ([`Switch::reaped`]), since 7.2 also when a task that
//! joins is compared with the running one ([`Preempted::reaped`]). The caller's own counts have to follow.
//!
//! What is not here: cgroups, bandwidth control, core scheduling, the deadline server, proxy execution,
//! `yield_to_task_fair()`. The hrtick's timer is the caller's: [`FairRq::hrtick`] says for when.

pub mod cfs;
pub mod eevdf;
mod enqueue_flags;
mod fair_rq;
pub mod load_weight;
mod resched_curr;
mod rules;
mod sched_entity;
mod tasks_timeline;

pub use cfs::{CfsParams, CfsRq, CfsRules};
pub use eevdf::{EevdfParams, EevdfRq, EevdfRules, LagLimit, WakeupPreempt};
pub use enqueue_flags::{DequeueFlags, Dequeued, EnqueueFlags, Prev, Switch};
pub use fair_rq::FairRq;
pub use load_weight::{LoadWeight, Policy};
pub use resched_curr::{Hrtick, Preempted, Resched, Tick};
pub use rules::{FairRules, NoTunable};
pub use sched_entity::{Entities, Entity, TaskId};

/// Whether virtual time `a` is before `b` (`entity_before()`, `min_vruntime()` and their like, all versions).
#[inline]
pub fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}
