//! Utilisation clamps.

use wakelab_sched::energy::{RqUtil, uclamp_rq_util_with};
use wakelab_sched::select::Uclamp;

/// A run queue of which nothing but its clamps is known: none where nobody uses them.
pub(super) fn rq_clamps(rq: &Uclamp) -> RqUtil {
    let Uclamp { min, max, .. } = if rq.used { *rq } else { Uclamp::UNUSED };
    RqUtil { uclamp_min: min, uclamp_max: max, ..RqUtil::default() }
}

/// `util` within the clamps of the run queue (`uclamp_rq_util_with()` without a task that is to join it).
pub(super) fn within(rq: &Uclamp, util: u64) -> u64 {
    uclamp_rq_util_with(&rq_clamps(rq), util, rq.used, None)
}
