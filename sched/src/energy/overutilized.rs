//! Whether a CPU has too much to do for placement by energy (`cpu_overutilized()`), and the root domain's flag.
//!
//! The flag (`rd->overutilized`, [`View::overutilized`]) is the caller's. It is set by [`becomes_overutilized`] when a task is
//! enqueued that is not new (`enqueue_task_fair()`) and at the tick of a running fair task (`task_tick_fair()`), and by a
//! balance pass as [`Plan::overutilized`](crate::balance::Plan::overutilized) says, which alone clears it.

use crate::cpumask::Cpu;
use crate::select::{CpuCapacity, Fit, Uclamp, View, util_fits};
use crate::util::CpuSums;
use wakelab_kernel::UtilFits;

/// `cpu_overutilized()`, by the version's form of `util_fits_cpu()`. `uclamp_used` is `uclamp_is_used()`; `asks_minimum`:
/// run queues' minimum counts (not in 7.2).
pub fn cpu_overutilized<V: View>(form: UtilFits, view: &V, cpu: Cpu, uclamp_used: bool, asks_minimum: bool) -> bool {
    let sums = CpuSums {
        util_avg: view.cpu_util_avg(cpu),
        runnable_avg: 0,
        util_est: view.cpu_util_est(cpu),
        capacity: view.arch_scale_cpu_capacity(cpu),
    };
    let rq = view.rq_util(cpu);
    // 5.18 has no clamps here.
    let used = uclamp_used && form != UtilFits::Clamped;
    let min = if asks_minimum { rq.uclamp_min } else { 0 };
    let clamps = if used { Uclamp { used, min, max: rq.uclamp_max } } else { Uclamp::UNUSED };
    util_fits(form, sums.cpu_util(None, None), clamps, &CpuCapacity::of(cpu, view)) == Fit::Misses
}

/// `update_overutilized_status()`, `check_update_overutilized_status()` since 6.10: whether the flag is to be set now. Asked
/// only on a machine that is placed on by energy.
pub fn becomes_overutilized<V: View>(
    form: UtilFits,
    view: &V,
    cpu: Cpu,
    uclamp_used: bool,
    asks_minimum: bool,
) -> bool {
    !view.overutilized() && cpu_overutilized(form, view, cpu, uclamp_used, asks_minimum)
}
