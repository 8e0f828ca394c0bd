//! `cpu_overutilized()` (`kernel/sched/fair.c`): a CPU has so little capacity left that energy-aware placement is
//! suspended.
//!
//! ```text
//! cpu_overutilized(cpu) = !util_fits_cpu(cpu_util_cfs(cpu), rq_util_min, rq_util_max, cpu)
//! ```
//!
//! The root domain's flag (`rd->overutilized`, [`EnergyView::overutilized`]) is kept by the caller.
//! [`Balance::becomes_overutilized`](crate::balance::Balance::becomes_overutilized) sets it, and only a load-balancing
//! pass clears it ([`Plan::overutilized`](crate::balance::Plan::overutilized)).

use crate::cpumask::Cpu;
use crate::select::{AsymView, CpuCapacity, EnergyView, Fit, RqView, Uclamp, UtilView, util_fits};
use crate::util::CpuSums;
use crate::util_est_faster::FasterSite;
use wakelab_kernel::UtilFits;

/// `cpu_overutilized()` with the version's form of `util_fits_cpu()`. `uclamp_used` is `uclamp_is_used()`. `min_counts`
/// is false since 7.2, which ignores the run queue's minimum clamp.
pub(crate) fn cpu_overutilized<V: RqView + AsymView + UtilView + EnergyView>(
    form: UtilFits,
    view: &V,
    cpu: Cpu,
    uclamp_used: bool,
    min_counts: bool,
) -> bool {
    let sums = CpuSums {
        util_avg: view.cpu_util_avg(cpu).max(view.util_est_faster(cpu, FasterSite::Ou)),
        runnable_avg: 0,
        util_est: view.cpu_util_est(cpu),
        capacity: view.arch_scale_cpu_capacity(cpu),
    };
    let rq = view.rq_util(cpu);
    // 5.18 applies no clamps here.
    let used = uclamp_used && form != UtilFits::Clamped;
    let min = if min_counts { rq.uclamp_min } else { 0 };
    let clamps = if used { Uclamp { used, min, max: rq.uclamp_max } } else { Uclamp::UNUSED };
    util_fits(form, sums.cpu_util(None, None), clamps, &CpuCapacity::of(cpu, view)) == Fit::Misses
}
