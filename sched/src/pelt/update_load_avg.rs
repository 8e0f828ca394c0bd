//! A run queue's averages.

use super::accumulate_sum::{
    ___update_load_avg, ___update_load_sum, __update_load_avg_se, Entity, SchedAvg, get_pelt_divider,
};
use super::attach_entity_load_avg::{
    attach_entity_load_avg, detach_entity_load_avg, sub_bound32, sub_plain, sub_resync, update_sa,
};
use super::rules::{PeltRules, SumRule};
use super::task_h_load::RunnableLoad;
use super::util_est::util_est_update_v7_3;
use bitflags::bitflags;

/// What a run queue held since its last update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Weight of the queued tasks and the current one, nice 0 being 1024 (`scale_load_down(cfs_rq->load.weight)`).
    pub weight: u64,
    /// Number of runnable tasks (`h_nr_runnable`; in 6.12 `h_nr_queued - h_nr_delayed`, in 5.10 and 6.1
    /// `h_nr_running`).
    pub h_nr_runnable: u32,
    /// A fair task is running (`cfs_rq->curr`, in 7.3 `cfs_rq->h_curr`).
    pub curr: bool,
}

/// The part of `struct cfs_rq` that PELT keeps, of a CPU's root run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CfsRqPelt {
    /// The averages.
    pub avg: SchedAvg,
    /// What is to be taken off at the next update.
    pub removed: Removed,
    /// The load of the queued tasks, where the rules have it.
    pub runnable_load: RunnableLoad,
    /// `load_avg` as of the jiffy in `last_h_load_update`.
    pub h_load: u64,
    /// Jiffy of the last refresh of `h_load`.
    pub last_h_load_update: u64,
    /// The kernel version's rules.
    pub rules: PeltRules,
}

impl CfsRqPelt {
    /// A run queue at boot: everything 0.
    pub fn new(rules: PeltRules) -> Self {
        let (avg, removed) = (SchedAvg::default(), Removed::default());
        CfsRqPelt { avg, removed, runnable_load: RunnableLoad::default(), h_load: 0, last_h_load_update: 0, rules }
    }
}

/// Ages the run queue up to `now`, in ns of its PELT clock. Returns whether the averages were taken
/// (`__update_load_avg_cfs_rq()`, 7.3).
#[inline]
pub fn __update_load_avg_cfs_rq(now: u64, avg: &mut SchedAvg, queue: &Queue) -> bool {
    let crossed = ___update_load_sum(now, avg, queue.weight, u64::from(queue.h_nr_runnable), queue.curr);
    if crossed {
        ___update_load_avg(avg, 1);
    }
    crossed
}

/// Takes the removed load off, then ages the run queue up to `now`. Returns whether the averages changed
/// (`update_cfs_rq_load_avg()`, 7.3; 5.10 and 6.1 by [`SumRule`]).
#[inline]
pub fn update_cfs_rq_load_avg(now: u64, cfs_rq: &mut CfsRqPelt, queue: &Queue) -> bool {
    let had_removed = cfs_rq.removed.nr != 0;
    if had_removed {
        apply_removed(cfs_rq);
    }
    if cfs_rq.rules.runnable_load {
        cfs_rq.runnable_load.age(now, &cfs_rq.avg, queue.weight);
    }
    let aged = __update_load_avg_cfs_rq(now, &mut cfs_rq.avg, queue);
    had_removed | aged
}

fn apply_removed(cfs_rq: &mut CfsRqPelt) {
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
        SumRule::Resync => {
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

/// Whether nothing is left of the averages (`load_avg_is_decayed()`, 7.3).
pub fn load_avg_is_decayed(sa: &SchedAvg) -> bool {
    sa.load_sum == 0 && sa.util_sum == 0 && sa.runnable_sum == 0
}

/// Whether the run queue is empty and nothing is left of its averages (`cfs_rq_is_decayed()`, 7.3, without groups).
pub fn cfs_rq_is_decayed(cfs_rq: &CfsRqPelt, queue: &Queue) -> bool {
    queue.weight == 0 && load_avg_is_decayed(&cfs_rq.avg)
}

/// Whether the periodic decay is still needed (`cfs_rq_has_blocked_load()`, 7.3; `cfs_rq_has_blocked()` before).
pub fn cfs_rq_has_blocked_load(cfs_rq: &CfsRqPelt) -> bool {
    cfs_rq.avg.load_avg != 0 || cfs_rq.avg.util_avg != 0
}

/// What [`__update_blocked_fair`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The averages changed, so the governor is told.
    pub decayed: bool,
    /// Nothing is left to decay.
    pub done: bool,
}

/// Ages a run queue that nothing else may be updating (`__update_blocked_fair()`, 7.3, root run queue only; the other
/// classes' averages, which the kernel's caller also asks, are not modelled).
pub fn __update_blocked_fair(now: u64, cfs_rq: &mut CfsRqPelt, queue: &Queue) -> Blocked {
    let decayed = update_cfs_rq_load_avg(now, cfs_rq, queue);
    Blocked { decayed, done: !cfs_rq_has_blocked_load(cfs_rq) }
}

/// The averages to be taken off a run queue at its next update (`cfs_rq->removed`, 7.3).
///
/// Who migrates a sleeping task does not hold the lock of the run queue it leaves, so what it takes along is only
/// noted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Removed {
    /// Tasks that left since the last update.
    pub nr: u32,
    /// Sum of their `load_avg`.
    pub load_avg: u64,
    /// Sum of their `util_avg`.
    pub util_avg: u64,
    /// Sum of their `runnable_avg`.
    pub runnable_avg: u64,
}

bitflags! {
    /// What [`update_load_avg`] is to do besides ageing (`fair.c`, 7.3). `UPDATE_TG` only concerns groups and is left
    /// out.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct UpdateFlags: u32 {
        /// Does not age the task, which is about to join or to move between groups.
        const SKIP_AGE_LOAD = 0x02;
        /// Attaches a task that has just migrated here.
        const DO_ATTACH = 0x04;
        /// Detaches a task that migrates while queued.
        const DO_DETACH = 0x08;
        /// Updates the task's `util_est` (7.2 and 7.3; before, a call of its own). Only where the feature `UTIL_EST` is
        /// on.
        const UPDATE_UTIL_EST = 0x10;
    }
}

/// Ages a task and its run queue up to `now`, in ns of the run queue's PELT clock, and attaches or detaches the task
/// (`update_load_avg()`, 7.3).
///
/// `entity` and `queue` are what held until now. Returns whether the run queue's averages changed, which is
/// where the kernel calls `cfs_rq_util_change()` and so the governor.
pub fn update_load_avg(
    cfs_rq: &mut CfsRqPelt,
    queue: &Queue,
    se: &mut SchedAvg,
    entity: &Entity,
    now: u64,
    flags: UpdateFlags,
) -> bool {
    if se.last_update_time != 0 && !flags.contains(UpdateFlags::SKIP_AGE_LOAD) {
        __update_load_avg_se(now, se, entity);
    }
    let mut changed = update_cfs_rq_load_avg(now, cfs_rq, queue);

    if se.last_update_time == 0 && flags.contains(UpdateFlags::DO_ATTACH) {
        attach_entity_load_avg(cfs_rq, se, entity.weight);
        changed = true;
    } else if flags.contains(UpdateFlags::DO_DETACH) {
        detach_entity_load_avg(cfs_rq, se, entity.weight);
        changed = true;
    }

    if flags.contains(UpdateFlags::UPDATE_UTIL_EST) {
        util_est_update_v7_3(se);
    }
    changed
}
