//! Utilisation clamps.

use crate::SCHED_CAPACITY_SCALE;

/// A run queue's clamps (`rq->uclamp[]`), 0 to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uclamp {
    /// Somebody has set a clamp since boot (`uclamp_is_used()`); if not, the values are not read.
    pub used: bool,
    /// The largest minimum of the runnable tasks.
    pub min: u64,
    /// The largest maximum of the runnable tasks.
    pub max: u64,
}

impl Uclamp {
    /// Nobody uses clamps.
    pub const UNUSED: Uclamp = Uclamp { used: false, min: 0, max: SCHED_CAPACITY_SCALE };
}

impl Default for Uclamp {
    fn default() -> Self {
        Self::UNUSED
    }
}

/// The clamps of a task that is about to be enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskClamp {
    /// `uclamp_eff_value(p, UCLAMP_MIN)`, 0 to 1024.
    pub min: u64,
    /// `uclamp_eff_value(p, UCLAMP_MAX)`, 0 to 1024.
    pub max: u64,
    /// Nothing runs on the run queue, so that its own clamps are a leftover (`uclamp_rq_is_idle()`).
    pub rq_idle: bool,
}

/// `util` within the clamps of the run queue and of the task that is to join it (`uclamp_rq_util_with()`, 6.1; 5.3 and
/// 5.10 do not have [`TaskClamp::rq_idle`]). Clamps that contradict one another give the minimum.
pub fn uclamp_rq_util_with(rq: &Uclamp, util: u64, task: Option<&TaskClamp>) -> u64 {
    if !rq.used {
        return util;
    }
    let (min, max) = match task {
        Some(task) if task.rq_idle => (task.min, task.max),
        Some(task) => (task.min.max(rq.min), task.max.max(rq.max)),
        None => (rq.min, rq.max),
    };
    if min >= max { min } else { util.clamp(min, max) }
}

/// Whether a maximum keeps the run queue below what it would ask for (`uclamp_rq_is_capped()`, 6.1 and 7.3).
/// `util_cfs` is not boosted by `runnable_avg`.
pub fn uclamp_rq_is_capped(rq: &Uclamp, util_cfs: u64, util_rt: u64) -> bool {
    rq.used && rq.max != SCHED_CAPACITY_SCALE && util_cfs + util_rt >= rq.max
}
