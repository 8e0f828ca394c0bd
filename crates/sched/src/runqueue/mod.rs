//! Run queues of the fair class (`kernel/sched/fair.c`): [CFS](cfs) of 5.10, 5.18 and 6.1, and [EEVDF](eevdf) of 6.12,
//! 7.2 and 7.3.
//!
//! A preset decides which of the two a run queue is: [`FairRules::of`] reads the preset, and [`FairRq::new`] makes the
//! queue. 6.1 and 6.12 are compared with the kernel's own code by vectors. The other versions are written from their
//! sources, which the fields of [`CfsRules`] and [`EevdfRules`] name, and are compared with a second, slow
//! implementation.
//!
//! A run queue is one CPU's `struct cfs_rq`: flat, or with control groups ([`GroupedRq`]). What it knows about a task
//! is the task's [`Entity`] (`struct sched_entity`). The caller owns the entities of all tasks in one [`Entities`] and
//! passes them to every operation; a run queue links the waiting ones into its tree and stores only task numbers.
//! Migrating a task is therefore a dequeue from one queue and an enqueue on another, as in the kernel, and nothing is
//! copied or allocated.
//!
//! # Where the kernel's functions are
//!
//! | file | kernel |
//! |---|---|
//! | `fair_rq` | the methods of `fair_sched_class`, for either class |
//! | `task_group` | control groups: `for_each_sched_entity()`, `update_cfs_group()`, and [`GroupedRq`] |
//! | `queue_state` | a queue in a state that was recorded |
//! | `sched_entity` | `struct sched_entity` |
//! | `load_weight` | `struct load_weight`, `sched_prio_to_weight[]`, `__calc_delta()`, `calc_delta_fair()` |
//! | `cfs_bandwidth` | `cpu.max`: `account_cfs_rq_runtime()`, `throttle_cfs_rq()`, `distribute_cfs_runtime()` |
//! | `tasks_timeline` | `cfs_rq->tasks_timeline`: the tree of the waiting tasks |
//! | `enqueue_flags` | `ENQUEUE_*`, `DEQUEUE_*` |
//! | `resched_curr` | `resched_curr()`, `resched_curr_lazy()`, `hrtick_start()` |
//! | [`cfs`] | `update_curr()`, `place_entity()`, `enqueue_entity()`, `pick_next_entity()`, `check_preempt_wakeup()` |
//! | [`eevdf`] | `avg_vruntime()`, `update_curr()`, `place_entity()`, `pick_eevdf()`, `wakeup_preempt_fair()` |
//!
//! # Conventions
//!
//! **Time** is `now`, in nanoseconds of the CPU's `rq_clock_task()`, and is passed in. Between two operations on a run
//! queue it must not go back.
//!
//! **Rescheduling.** The need-resched flags of the running task belong to the caller. An operation returns whether
//! it requests a reschedule, and how urgently ([`Resched`]). If its decision depends on a flag that is set already, it
//! takes the flag as an argument. The caller answers with `schedule()`, then or later, and clears the flags.
//!
//! **Virtual times** are `u64` that wrap, and are ordered by the sign of their difference
//! (`(s64)(a - b) < 0`), so any instant may be the first one. The order holds if the virtual times on one queue
//! span less than 2^63.
//!
//! **Delayed tasks** that are picked leave the queue: at a schedule ([`Switch::reaped`]), and since 7.2 also when a
//! task that joins is compared with the running one ([`Preempted::reaped`]). The caller's own counts have to follow.
//!
//! Not modelled: core scheduling, the deadline server, proxy execution and
//! `yield_to_task_fair()`. The hrtick's timer is the caller's: [`FairRq::hrtick`] returns when it expires.

pub mod cfs;
mod cfs_bandwidth;
pub mod eevdf;
mod enqueue_flags;
mod fair_rq;
pub mod load_weight;
mod queue_state;
mod resched_curr;
mod rules;
mod sched_entity;
mod task_group;
mod tasks_timeline;

pub use cfs::{CfsParams, CfsRq, CfsRules, GroupedCfsRq};
pub use cfs_bandwidth::{
    Asks, Bandwidth, BandwidthStats, CFS_BANDWIDTH_SLICE, CfsBandwidth, Cpus, Quota, TimerStart, cfsb_csd_unthrottle,
    sched_cfs_period_timer, sched_cfs_slack_timer,
};
pub use eevdf::{EevdfParams, EevdfRq, EevdfRules, FlatEevdfRq, GroupedEevdfRq, IN_TASK, LagLimit, WakeupPreempt};
pub use enqueue_flags::{DequeueFlags, Dequeued, EnqueueFlags};
pub use fair_rq::FairRq;
pub use load_weight::{LoadWeight, Policy};
pub use queue_state::QueueState;
pub use resched_curr::{Hrtick, Preempted, Prev, Resched, Switch, Tick};
pub use rules::{FairRules, NoTunable};
pub use sched_entity::{Entities, Entity, TaskId};
pub use task_group::{Clocks, GroupParams, GroupedRq, Hierarchy, TaskGroup, TgShared};

/// Whether virtual time `a` is before `b`: the `(s64)(a - b) < 0` of `entity_before()` and `min_vruntime()`, in all
/// versions.
#[inline]
pub(crate) fn vtime_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}
