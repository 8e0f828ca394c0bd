//! The update that every enqueue, dequeue and tick makes.

use bitflags::bitflags;

use super::attach::{attach_entity_load_avg, detach_entity_load_avg};
use super::avg::SchedAvg;
use super::cfs_rq::{CfsRqPelt, Queue, update_cfs_rq_load_avg};
use super::entity::{__update_load_avg_se, Entity};
use super::util_est::v7_3::util_est_update;

bitflags! {
    /// What [`update_load_avg`] is to do besides ageing (`fair.c`, 7.3). `UPDATE_TG` only concerns groups and is left out.
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
        util_est_update(se);
    }
    changed
}
