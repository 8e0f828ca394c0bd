//! `effective_cpu_util()` (`kernel/sched/core.c`, later `kernel/sched/syscalls.c`; in 5.10 `schedutil_cpu_util()` of
//! `kernel/sched/cpufreq_schedutil.c`): a CPU's utilisation with what other classes and interrupts add. schedutil uses
//! it to choose a frequency, and `compute_energy()` to predict that choice.
//!
//! ```text
//! util = util_cfs + util_rt + util_dl
//! util = util * (scale - irq) / scale + irq          interrupts take their share of the time first
//! min  = max(irq + bw_dl, uclamp_min)                since 6.8: what the frequency has to allow
//! max  = min(scale, uclamp_max)
//! sugov_effective_cpu_perf = max(min, min(max, 1.25 * util))
//! ```
//!
//! Up to 6.7 one function returned either the busy time or the utilisation for the frequency ([`CpuUtilType`]), and the
//! clamps applied to `util_cfs + util_rt`.

use crate::select::Uclamp;

/// The load of a run queue besides its fair tasks: interrupts, other classes and utilisation clamps. The default has
/// none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RqUtil {
    /// `cpu_util_irq()`: time in interrupts and stolen time, 0 to 1024.
    pub irq: u64,
    /// `cpu_util_rt()`: utilisation by real-time tasks, 0 to 1024.
    pub rt: u64,
    /// `cpu_util_dl()`: measured utilisation by deadline tasks, 0 to 1024.
    pub dl: u64,
    /// `cpu_bw_dl()`: bandwidth that deadline tasks have reserved, 0 to 1024.
    pub bw_dl: u64,
    /// `rt_rq_is_runnable()`: a real-time task is runnable.
    pub rt_runnable: bool,
    /// `uclamp_rq_get(UCLAMP_MIN)`: the largest minimum of the runnable tasks; 0 without any.
    pub uclamp_min: u64,
    /// `uclamp_rq_get(UCLAMP_MAX)`: the largest maximum of the runnable tasks; without any, the last task's.
    pub uclamp_max: u64,
    /// `uclamp_rq_is_idle()`: no task is runnable, and `uclamp_max` is the last task's.
    pub uclamp_idle: bool,
}

impl Default for RqUtil {
    fn default() -> Self {
        RqUtil {
            irq: 0,
            rt: 0,
            dl: 0,
            bw_dl: 0,
            rt_runnable: false,
            uclamp_min: 0,
            uclamp_max: 1024,
            uclamp_idle: false,
        }
    }
}

/// `enum cpu_util_type` (up to 6.7): the purpose of the utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuUtilType {
    /// To choose a frequency.
    Frequency,
    /// To estimate the time that the CPU is busy.
    Energy,
}

/// `map_util_perf()`: adds a headroom of a quarter to a utilisation (1024 is a CPU).
#[inline]
pub fn map_util_perf(util: u64) -> u64 {
    util + (util >> 2)
}

/// `scale_irq_capacity()`: scales a utilisation to the time that interrupts leave of `max`.
#[inline]
pub(super) fn scale_irq_capacity(util: u64, irq: u64, max: u64) -> u64 {
    util.wrapping_mul(max - irq) / max
}

/// `uclamp_rq_util_with()`: clamps `util` (1024 is a CPU) by the run queue's clamps, combined with those of a task that
/// would join it. `task` holds that task's own clamps; `used` is `uclamp_is_used()`.
pub fn uclamp_rq_util_with(rq: &RqUtil, util: u64, used: bool, task: Option<Uclamp>) -> u64 {
    if !used {
        return util;
    }
    let (mut min, mut max) = task.map_or((0, 0), |task| (task.min, task.max));
    // The last task's maximum lapses when another task is enqueued.
    if task.is_none() || !rq.uclamp_idle {
        min = min.max(rq.uclamp_min);
        max = max.max(rq.uclamp_max);
    }
    if min >= max { min } else { util.clamp(min, max) }
}

/// `effective_cpu_util()` up to 6.7 (`schedutil_cpu_util()` in 5.10): returns the effective utilisation, at most `max`,
/// of a CPU of capacity `max` (1 to 1024) whose fair tasks use `util_cfs`. `task` holds the clamps of a task that would
/// join; `used` is `uclamp_is_used()`.
pub fn effective_cpu_util_of_type(
    kind: CpuUtilType,
    util_cfs: u64,
    max: u64,
    rq: &RqUtil,
    used: bool,
    task: Option<Uclamp>,
) -> u64 {
    let frequency = kind == CpuUtilType::Frequency;
    if (!used && frequency && rq.rt_runnable) || rq.irq >= max {
        return max;
    }
    let mut util = util_cfs + rq.rt;
    if frequency {
        util = uclamp_rq_util_with(rq, util, used, task);
    }
    if util + rq.dl >= max {
        return max;
    }
    if !frequency {
        util += rq.dl;
    }
    util = scale_irq_capacity(util, rq.irq, max) + rq.irq;
    if frequency {
        util += rq.bw_dl;
    }
    util.min(max)
}

/// The result of `effective_cpu_util()` since 6.8, on the capacity scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EffectiveUtil {
    /// The utilisation, at most the CPU's capacity.
    pub util: u64,
    /// The lowest performance to request.
    pub min: u64,
    /// The highest performance to request.
    pub max: u64,
}

/// `effective_cpu_util()` since 6.8: computes the effective utilisation and its limits for a CPU of capacity `scale` (1
/// to 1024) whose fair tasks use `util_cfs`. `used` is `uclamp_is_used()`.
pub fn effective_cpu_util(util_cfs: u64, scale: u64, rq: &RqUtil, used: bool) -> EffectiveUtil {
    if rq.irq >= scale {
        return EffectiveUtil { util: scale, min: scale, max: scale };
    }
    let mut min = (rq.irq + rq.bw_dl).max(rq.uclamp_min);
    if !used && rq.rt_runnable {
        min = min.max(scale);
    }
    let max = scale.min(rq.uclamp_max);
    let util = util_cfs + rq.rt + rq.dl;
    let util = if util >= scale { scale } else { (scale_irq_capacity(util, rq.irq, scale) + rq.irq).min(scale) };
    EffectiveUtil { util, min, max }
}

/// `sugov_effective_cpu_perf()` (since 6.8): adds the headroom to `actual` and limits the result to `min..=max`; `min`
/// wins. All are on the capacity scale.
pub fn sugov_effective_cpu_perf(actual: u64, min: u64, max: u64) -> u64 {
    min.max(max.min(map_util_perf(actual)))
}
