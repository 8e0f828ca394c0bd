//! `update_load_avg()`: the update that every enqueue, dequeue and tick makes, of a task and of its run queue
//! (`kernel/sched/fair.c`).
//!
//! ```text
//! update_load_avg():
//!     __update_load_avg_se()              age the task, unless it has just migrated here
//!     update_cfs_rq_load_avg():
//!         subtract cfs_rq->removed        what tasks took along that migrated while asleep
//!         __update_load_avg_cfs_rq()      age the run queue
//!     DO_ATTACH and a newcomer            attach_entity_load_avg()
//!     DO_DETACH                           detach_entity_load_avg()
//!     anything changed                    cfs_rq_util_change(): the governor is notified
//! ```

use super::accumulate_sum::{
    ___update_load_avg, ___update_load_sum, __update_load_avg_cfs_rq, __update_load_avg_se, EntityState, SchedAvg,
    get_pelt_divider,
};
use super::attach_entity_load_avg::{
    attach_entity_load_avg, detach_entity_load_avg, sub_bound32, sub_plain, sub_resync, update_sa,
};
use super::task_h_load::RunnableLoad;
use super::{PeltRules, SumRule};
use bitflags::bitflags;

/// The state of a run queue since its last update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CfsRqState {
    /// Weight of the queued tasks and the current one, nice 0 being 1024 (`scale_load_down(cfs_rq->load.weight)`).
    pub weight: u64,
    /// Number of runnable tasks (`h_nr_runnable`; in 6.12 `h_nr_queued - h_nr_delayed`, in 5.10 and 6.1
    /// `h_nr_running`).
    pub h_nr_runnable: u32,
    /// A fair task is running (`cfs_rq->curr`, in 7.3 `cfs_rq->h_curr`).
    pub curr: bool,
}

/// The PELT fields of `struct cfs_rq`, of a CPU's root run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CfsRqPelt {
    /// The averages.
    pub avg: SchedAvg,
    /// The averages to subtract at the next update.
    pub removed: Removed,
    /// The load of the queued tasks, if the rules have it.
    pub runnable_load: RunnableLoad,
    /// `load_avg` as of the jiffy in `last_h_load_update`.
    pub h_load: u64,
    /// The jiffy in which `h_load` was last refreshed.
    pub last_h_load_update: u64,
    /// The kernel version's rules.
    pub rules: PeltRules,
}

impl CfsRqPelt {
    /// A run queue at boot: all averages are 0.
    pub fn new(rules: PeltRules) -> Self {
        let (avg, removed) = (SchedAvg::default(), Removed::default());
        CfsRqPelt { avg, removed, runnable_load: RunnableLoad::default(), h_load: 0, last_h_load_update: 0, rules }
    }
}

/// The averages to subtract from a run queue at its next update (`cfs_rq->removed`, 7.3).
///
/// A CPU that migrates a sleeping task does not hold the lock of the run queue that the task leaves, so it can only add
/// the task's averages here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Removed {
    /// The number of tasks that left since the last update.
    pub nr: u32,
    /// Sum of their `load_avg`.
    pub load_avg: u64,
    /// Sum of their `util_avg`.
    pub util_avg: u64,
    /// Sum of their `runnable_avg`.
    pub runnable_avg: u64,
}

bitflags! {
    /// The work of [`update_load_avg`] besides ageing (`fair.c`, 7.3). `SKIP_AGE_LOAD` is not modelled; `util_est` is
    /// updated by a call of its own.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct UpdateFlags: u32 {
        /// Adds to the group's load what has changed. Only groups have that.
        const UPDATE_TG = 0x01;
        /// Attaches a task that has just migrated here.
        const DO_ATTACH = 0x04;
        /// Detaches a task that migrates while it is queued.
        const DO_DETACH = 0x08;
    }
}

/// Ages a task and its run queue up to `now`, in ns of the run queue's PELT clock, and attaches or detaches the task
/// (`update_load_avg()`, 7.3).
///
/// `entity` and `state` are those up to `now`. Returns whether the run queue's averages changed; then the kernel
/// calls `cfs_rq_util_change()`, which notifies the governor.
pub fn update_load_avg(
    cfs_rq: &mut CfsRqPelt,
    state: &CfsRqState,
    se: &mut SchedAvg,
    entity: &EntityState,
    now: u64,
    flags: UpdateFlags,
) -> bool {
    if se.last_update_time != 0 {
        __update_load_avg_se(now, se, entity);
    }
    let mut changed = update_cfs_rq_load_avg(now, cfs_rq, state);

    if se.last_update_time == 0 && flags.contains(UpdateFlags::DO_ATTACH) {
        attach_entity_load_avg(cfs_rq, se, entity.weight);
        changed = true;
    } else if flags.contains(UpdateFlags::DO_DETACH) {
        detach_entity_load_avg(cfs_rq, se, entity.weight);
        changed = true;
    }
    changed
}

/// Subtracts the removed averages, then ages the run queue up to `now`. Returns whether the averages changed
/// (`update_cfs_rq_load_avg()`, 7.3; 5.10 and 6.1 by [`SumRule`]).
#[inline(always)]
pub fn update_cfs_rq_load_avg(now: u64, cfs_rq: &mut CfsRqPelt, state: &CfsRqState) -> bool {
    let has_removed = cfs_rq.removed.nr != 0;
    if has_removed {
        subtract_removed(cfs_rq);
    }
    if cfs_rq.rules.runnable_load {
        cfs_rq.runnable_load.age(now, &cfs_rq.avg, state.weight);
    }
    let decayed = __update_load_avg_cfs_rq(now, &mut cfs_rq.avg, state);
    has_removed | decayed
}

/// Subtracts `cfs_rq->removed` from the averages and the sums.
fn subtract_removed(cfs_rq: &mut CfsRqPelt) {
    let removed = std::mem::take(&mut cfs_rq.removed);
    let sa = &mut cfs_rq.avg;
    let divider = get_pelt_divider(sa);
    let sum = |avg: u64| avg.wrapping_mul(u64::from(divider));
    let Removed { load_avg, util_avg, runnable_avg, .. } = removed;

    match cfs_rq.rules.sums {
        SumRule::Plain => {
            sub_plain(&mut sa.load_avg, &mut sa.load_sum, load_avg, sum(load_avg));
            sub_plain(&mut sa.util_avg, &mut sa.util_sum, util_avg, sum(util_avg));
            sub_plain(&mut sa.runnable_avg, &mut sa.runnable_sum, runnable_avg, sum(runnable_avg));
        }
        SumRule::Resync | SumRule::ResyncLoad => {
            sub_resync(&mut sa.load_avg, &mut sa.load_sum, load_avg, divider);
            sub_bound32(&mut sa.util_avg, &mut sa.util_sum, util_avg, sum(util_avg));
            sub_resync(&mut sa.runnable_avg, &mut sa.runnable_sum, runnable_avg, divider);
        }
        SumRule::Bound32 => {
            sub_bound32(&mut sa.load_avg, &mut sa.load_sum, load_avg, sum(load_avg));
            sub_bound32(&mut sa.util_avg, &mut sa.util_sum, util_avg, sum(util_avg));
            sub_bound32(&mut sa.runnable_avg, &mut sa.runnable_sum, runnable_avg, sum(runnable_avg));
        }
        SumRule::Bound => {
            let minus = u64::wrapping_neg;
            update_sa(&mut sa.load_avg, &mut sa.load_sum, minus(load_avg), minus(sum(load_avg)));
            update_sa(&mut sa.util_avg, &mut sa.util_sum, minus(util_avg), minus(sum(util_avg)));
            update_sa(&mut sa.runnable_avg, &mut sa.runnable_sum, minus(runnable_avg), minus(sum(runnable_avg)));
        }
    }
}

impl RunnableLoad {
    /// Ages the load of the queued tasks up to `now`; `before` is the run queue before it is aged, and `weight` that of
    /// the tasks that were queued (`update_cfs_rq_load_avg()`, 5.3).
    fn age(&mut self, now: u64, before: &SchedAvg, weight: u64) {
        let mut sa = SchedAvg { load_sum: self.sum, load_avg: self.avg, ..*before };
        if ___update_load_sum(now, &mut sa, weight, 0, false) {
            ___update_load_avg(&mut sa, 1);
        }
        (self.avg, self.sum) = (sa.load_avg, sa.load_sum);
    }
}

/// Whether the periodic decay is still needed (`cfs_rq_has_blocked_load()`, 7.3; `cfs_rq_has_blocked()` before).
pub fn cfs_rq_has_blocked_load(cfs_rq: &CfsRqPelt) -> bool {
    cfs_rq.avg.load_avg != 0 || cfs_rq.avg.util_avg != 0
}
