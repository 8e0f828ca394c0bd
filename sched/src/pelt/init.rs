//! The averages of a new task.

use super::SCHED_CAPACITY_SHIFT;
use super::avg::SchedAvg;
use super::cfs_rq::CfsRqPelt;
use super::rules::InitWeight;

/// A new task's averages before it is placed (`init_entity_runnable_average()`, 7.3): a full load, so that it counts
/// as heavy until it shows what it is.
pub fn init_entity_runnable_average(weight: u64) -> SchedAvg {
    SchedAvg { load_avg: weight, ..SchedAvg::default() }
}

/// A new fair task's first utilisation, once its CPU is chosen (`post_init_entity_util_avg()`, 7.3).
///
/// The task is given the run queue's utilisation per load times its weight, at most half of what the CPU has left,
/// and that half where the run queue has none. `cpu_scale` is the CPU's capacity, at most 1024. A task of
/// another class only has its `last_update_time` set in the kernel; do that instead of calling this.
pub fn post_init_entity_util_avg(se: &mut SchedAvg, weight: u64, cfs_rq: &CfsRqPelt, cpu_scale: u64) {
    let rq = &cfs_rq.avg;
    let cap = cpu_scale.wrapping_sub(rq.util_avg) as i64 / 2;
    if cap > 0 {
        let cap = cap as u64;
        se.util_avg = if rq.util_avg != 0 {
            let weight = match cfs_rq.rules.init_weight {
                InitWeight::ScaledUp => weight << SCHED_CAPACITY_SHIFT,
                InitWeight::SeWeight => weight,
            };
            (rq.util_avg.wrapping_mul(weight) / (rq.load_avg + 1)).min(cap)
        } else {
            cap
        };
    }
    se.runnable_avg = se.util_avg;
}
