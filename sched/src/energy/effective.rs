//! A CPU's utilisation with what other classes and interrupts add, and how fast it has to run for that.

use crate::select::Uclamp;

/// What is known of a run queue besides its fair tasks. The default is a CPU without any of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RqUtil {
    /// `cpu_util_irq()`: time in interrupts and stolen time, 0..=1024.
    pub irq: u64,
    /// `cpu_util_rt()`.
    pub rt: u64,
    /// `cpu_util_dl()`: measured time of deadline tasks.
    pub dl: u64,
    /// `cpu_bw_dl()`: the bandwidth that they have reserved.
    pub bw_dl: u64,
    /// `rt_rq_is_runnable()`.
    pub rt_runnable: bool,
    /// `uclamp_rq_get(UCLAMP_MIN)`: the largest of its runnable tasks; 0 without any.
    pub uclamp_min: u64,
    /// `uclamp_rq_get(UCLAMP_MAX)`: the largest of its runnable tasks, and of the last one while none is.
    pub uclamp_max: u64,
    /// `uclamp_rq_is_idle()`: no task is runnable, and the maximum is that of the last.
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

/// `enum cpu_util_type` (up to 6.7): what the utilisation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuUtilType {
    /// The frequency to be chosen.
    Frequency,
    /// The time that the CPU is busy.
    Energy,
}

/// `map_util_perf()`: a quarter of headroom.
#[inline]
pub fn map_util_perf(util: u64) -> u64 {
    util + (util >> 2)
}

/// `scale_irq_capacity()`: interrupts take their time from the tasks.
#[inline]
pub(super) fn scale_irq_capacity(util: u64, irq: u64, max: u64) -> u64 {
    util.wrapping_mul(max - irq) / max
}

/// `uclamp_rq_util_with()`: the utilisation within the clamps of the run queue, and of a task that would join. `task` has its
/// own clamps; `used` is `uclamp_is_used()`.
pub fn uclamp_rq_util_with(rq: &RqUtil, util: u64, used: bool, task: Option<Uclamp>) -> u64 {
    if !used {
        return util;
    }
    let (mut min, mut max) = task.map_or((0, 0), |task| (task.min, task.max));
    // The last task's maximum goes when another one comes.
    if task.is_none() || !rq.uclamp_idle {
        min = min.max(rq.uclamp_min);
        max = max.max(rq.uclamp_max);
    }
    if min >= max { min } else { util.clamp(min, max) }
}

/// `effective_cpu_util()` up to 6.7 (`schedutil_cpu_util()` in 5.10), of a CPU of capacity `max` (1 to 1024) whose fair tasks
/// use `util_cfs`. `task` has the clamps of one that would join; `used` is `uclamp_is_used()`.
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

/// What `effective_cpu_util()` says since 6.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EffectiveUtil {
    /// The utilisation.
    pub util: u64,
    /// The least performance that is asked for.
    pub min: u64,
    /// The most that is wanted.
    pub max: u64,
}

/// `effective_cpu_util()` since 6.8, of a CPU of capacity `scale` (1 to 1024) whose fair tasks use `util_cfs`; `used` is
/// `uclamp_is_used()`.
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

/// `sugov_effective_cpu_perf()`: the performance to be asked for, with headroom, between what is asked for and what is wanted.
pub fn sugov_effective_cpu_perf(actual: u64, min: u64, max: u64) -> u64 {
    min.max(max.min(map_util_perf(actual)))
}
