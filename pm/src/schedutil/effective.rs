//! A CPU's utilisation by all classes.

use super::uclamp::rq_clamps;
use wakelab_sched::energy::{CpuUtilType, EffectiveUtil, RqUtil, effective_cpu_util_of_type};
use wakelab_sched::select::Uclamp;

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

    /// The same as energy-aware placement sees it, which goes by the same functions.
    fn rq(&self) -> RqUtil {
        RqUtil {
            irq: self.irq,
            rt: self.rt,
            dl: self.dl,
            bw_dl: self.cpu_bw_dl(),
            rt_runnable: self.rt_runnable,
            ..rq_clamps(&self.uclamp)
        }
    }
}

/// The CPU's utilisation, up to 6.7 (`effective_cpu_util()`, 6.1; `schedutil_cpu_util()` in 5.3 and 5.10). At most the
/// capacity.
pub fn effective_cpu_util_6_1(cpu: &CpuUtil, kind: CpuUtilType) -> u64 {
    effective_cpu_util_of_type(kind, cpu.util_cfs, cpu.capacity, &cpu.rq(), cpu.uclamp.used, None)
}

/// The CPU's utilisation, since 6.8 (`effective_cpu_util()`, 6.12 to 7.3), with the bounds within which its performance is to be.
/// The minimum can be above the maximum, and above the capacity.
pub fn effective_cpu_util(cpu: &CpuUtil) -> EffectiveUtil {
    wakelab_sched::energy::effective_cpu_util(cpu.util_cfs, cpu.capacity, &cpu.rq(), cpu.uclamp.used)
}
