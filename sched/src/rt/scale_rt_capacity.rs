//! `scale_rt_capacity()`: what realtime tasks, deadline tasks, heat and interrupts leave of a CPU for the fair class.
//!
//! ```text
//! capacity = (max - rt - dl - thermal) * (max - irq) / max        1 if nothing is left
//! ```
//!
//! 6.12 takes thermal pressure, and cpufreq's, off `max` first (`get_actual_cpu_capacity()`).

use crate::pelt::{___update_load_avg, ___update_load_sum, SchedAvg};

/// Returns the capacity that is left for the fair class, 1 to `max`. `max` is the CPU's capacity, in 6.12 less its
/// pressure; `used` the sum of `avg_rt`, `avg_dl` and, up to 6.9, of thermal pressure; `irq` is `cpu_util_irq()`.
pub fn scale_rt_capacity(max: u64, used: u64, irq: u64) -> u64 {
    if irq >= max || used >= max {
        return 1;
    }
    // update_cpu_capacity() makes 1 of 0.
    ((max - used) * (max - irq) / max).max(1)
}

/// `update_rt_rq_load_avg()`: ages `rq->avg_rt` up to `now`, ns of the run queue's PELT clock. `running`: a realtime
/// task has run since the last update. Returns whether the averages were taken.
pub fn update_rt_rq_load_avg(now: u64, avg: &mut SchedAvg, running: bool) -> bool {
    let taken = ___update_load_sum(now, avg, u64::from(running), u64::from(running), running);
    if taken {
        ___update_load_avg(avg, 1);
    }
    taken
}
