//! A CPU's utilisation by all classes.

use super::next_freq::map_util_perf;
use super::uclamp::{TaskClamp, Uclamp, uclamp_rq_util_with};

/// What a run queue shows. All but `dl_running_bw` is on the scale on which 1024 is the machine's fastest CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUtil {
    /// `arch_scale_cpu_capacity()`, 1 to 1024.
    pub capacity: u64,
    /// `cpu_util_cfs()`, or `cpu_util_cfs_boost()` where RUNNABLE_BOOST is on (schedutil's site, since 6.5,
    /// 7d0583cf9ec7).
    pub util_cfs: u64,
    /// `cpu_util_irq()`.
    pub irq: u64,
    /// `cpu_util_rt()`.
    pub rt: u64,
    /// `cpu_util_dl()`.
    pub dl: u64,
    /// `rq->dl.running_bw`; 2^20 is one CPU.
    pub dl_running_bw: u64,
    /// The run queue's clamps.
    pub uclamp: Uclamp,
    /// A realtime task is runnable (`rt_rq_is_runnable()`).
    pub rt_runnable: bool,
}

impl CpuUtil {
    /// `cpu_bw_dl()`: the share that deadline tasks have reserved, 1024 being one CPU.
    pub fn cpu_bw_dl(&self) -> u64 {
        (self.dl_running_bw * 1024) >> 20
    }

    /// Without uclamp, a realtime task asks for all there is.
    fn rt_asks_for_all(&self) -> bool {
        !self.uclamp.used && self.rt_runnable
    }
}

/// What the utilisation is wanted for (`enum cpu_util_type`, up to 6.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UtilType {
    /// To choose a frequency: clamped, with the reserved share of deadline tasks.
    Frequency,
    /// To estimate energy: what will be used, whoever asked for it.
    Energy,
}

/// What interrupts leave of `util` (`scale_irq_capacity()`, 5.10 to 7.3). `irq` is at most `max`, which is not 0.
pub fn scale_irq_capacity(util: u64, irq: u64, max: u64) -> u64 {
    util * (max - irq) / max
}

/// The CPU's utilisation, up to 6.7 (`effective_cpu_util()`, 6.1; `schedutil_cpu_util()` in 5.3 and 5.10). At most the
/// capacity. `task` is one that is about to be enqueued, for energy-aware placement.
pub fn effective_cpu_util_6_1(cpu: &CpuUtil, kind: UtilType, task: Option<&TaskClamp>) -> u64 {
    let max = cpu.capacity;
    let for_frequency = kind == UtilType::Frequency;
    if for_frequency && cpu.rt_asks_for_all() {
        return max;
    }
    if cpu.irq >= max {
        return max;
    }
    let mut util = cpu.util_cfs + cpu.rt;
    if for_frequency {
        util = uclamp_rq_util_with(&cpu.uclamp, util, task);
    }
    // No idle time is left, whatever the deadline class has reserved.
    if util + cpu.dl >= max {
        return max;
    }
    if !for_frequency {
        util += cpu.dl;
    }
    util = scale_irq_capacity(util, cpu.irq, max) + cpu.irq;
    if for_frequency {
        util += cpu.cpu_bw_dl();
    }
    util.min(max)
}

/// A CPU's utilisation with the bounds within which its performance is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EffectiveUtil {
    /// The utilisation, at most the capacity.
    pub util: u64,
    /// The least that is to be given. It can be above `max`, and above the capacity.
    pub min: u64,
    /// The most that is wanted, at most the capacity.
    pub max: u64,
}

/// The CPU's utilisation, since 6.8 (`effective_cpu_util()`, 6.12 to 7.3).
pub fn effective_cpu_util(cpu: &CpuUtil) -> EffectiveUtil {
    let scale = cpu.capacity;
    if cpu.irq >= scale {
        return EffectiveUtil { util: scale, min: scale, max: scale };
    }
    let clamps = if cpu.uclamp.used { cpu.uclamp } else { Uclamp::UNUSED };
    let mut min = (cpu.irq + cpu.cpu_bw_dl()).max(clamps.min);
    if cpu.rt_asks_for_all() {
        min = min.max(scale);
    }
    let max = scale.min(clamps.max);
    let util = cpu.util_cfs + cpu.rt + cpu.dl;
    if util >= scale {
        return EffectiveUtil { util: scale, min, max };
    }
    let util = scale_irq_capacity(util, cpu.irq, scale) + cpu.irq;
    EffectiveUtil { util: util.min(scale), min, max }
}

/// The performance to ask for: the utilisation with headroom, within the bounds; the minimum comes first
/// (`sugov_effective_cpu_perf()`, 6.12 to 7.3).
pub fn sugov_effective_cpu_perf(actual: u64, min: u64, max: u64) -> u64 {
    min.max(map_util_perf(actual).min(max))
}
