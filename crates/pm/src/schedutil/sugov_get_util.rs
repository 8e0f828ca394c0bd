//! `sugov_get_util()`: a CPU's utilisation by all classes, and what schedutil keeps of the CPU.

use super::sugov_iowait_boost::IowaitBoost;
use super::{Headroom, SugovRules};
use wakelab_sched::energy::{
    CpuUtilType, EffectiveUtil, RqUtil, effective_cpu_util_of_type, sugov_effective_cpu_perf, uclamp_rq_util_with,
};
use wakelab_sched::select::Uclamp;

/// The request of a CPU's run queue at a moment, before boost and headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    /// `effective_cpu_util()`.
    pub actual: u64,
    /// The least to be given: `cpu_bw_dl()` up to 6.7, since with interrupts and clamps.
    pub min: u64,
    /// The most that is wanted. Not read up to 6.7.
    pub max: u64,
    /// The CPU's capacity, not 0.
    pub capacity: u64,
    /// The run queue's clamps.
    pub uclamp: Uclamp,
}

impl Asked {
    /// Of a run queue, by the version's form.
    pub fn of(rules: &SugovRules, cpu: &CpuUtil) -> Asked {
        let (capacity, uclamp) = (cpu.capacity, cpu.uclamp);
        if rules.headroom == Headroom::InPerf {
            let EffectiveUtil { util, min, max } = effective_cpu_util(cpu);
            return Asked { actual: util, min, max, capacity, uclamp };
        }
        let actual = effective_cpu_util_6_1(cpu, CpuUtilType::Frequency);
        Asked { actual, min: cpu.cpu_bw_dl(), max: capacity, capacity, uclamp }
    }
}

/// A CPU of a policy (`struct sugov_cpu`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SugovCpu {
    /// The boost of tasks that come back from I/O.
    pub iowait: IowaitBoost,
    /// Its last request; since 6.8 with headroom.
    pub util: u64,
    /// The least it last asked for: `bw_dl` up to 6.7, `bw_min` since.
    pub bw_min: u64,
    /// The most it last asked for (`bw_max`, 7.3).
    pub bw_max: u64,
    /// Its capacity.
    pub max: u64,
    /// `tick_nohz_get_idle_calls_cpu()` when last asked.
    pub saved_idle_calls: u64,
}

impl SugovCpu {
    /// Takes over what the run queue asks for (`sugov_get_util()` with `sugov_iowait_apply()`, whose order differs by
    /// version and does not matter).
    pub(super) fn get_util(&mut self, rules: &SugovRules, asked: &Asked, time: u64, tick_ns: u64) {
        let mut boost = self.iowait.apply(time, tick_ns, asked.capacity);
        if rules.iowait_clamped && boost != 0 {
            boost = within(&asked.uclamp, boost);
        }
        let util = asked.actual.max(boost);
        self.util = match rules.headroom {
            Headroom::InPerf => sugov_effective_cpu_perf(util, asked.min, asked.max),
            Headroom::InFreq | Headroom::InUtil => util,
        };
        (self.bw_min, self.bw_max, self.max) = (asked.min, asked.max, asked.capacity);
    }

    /// The CPU has not been idle since this was last asked (`sugov_cpu_is_busy()`; in `sugov_hold_freq()` since 6.8).
    pub(super) fn is_busy(&mut self, idle_calls: u64) -> bool {
        let busy = idle_calls == self.saved_idle_calls;
        self.saved_idle_calls = idle_calls;
        busy
    }
}

/// The utilisation of a run queue. All but `dl_running_bw` is on the scale on which 1024 is the machine's fastest CPU.
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

/// The CPU's utilisation, since 6.8 (`effective_cpu_util()`, 6.12 to 7.3), with the bounds within which its performance
/// is to be. The minimum can be above the maximum, and above the capacity.
pub fn effective_cpu_util(cpu: &CpuUtil) -> EffectiveUtil {
    wakelab_sched::energy::effective_cpu_util(cpu.util_cfs, cpu.capacity, &cpu.rq(), cpu.uclamp.used)
}

/// A run queue of which nothing but its clamps is known: none where nobody uses them.
pub(super) fn rq_clamps(rq: &Uclamp) -> RqUtil {
    let Uclamp { min, max, .. } = if rq.used { *rq } else { Uclamp::UNUSED };
    RqUtil { uclamp_min: min, uclamp_max: max, ..RqUtil::default() }
}

/// `util` within the clamps of the run queue (`uclamp_rq_util_with()` without a task that is to join it).
pub(super) fn within(rq: &Uclamp, util: u64) -> u64 {
    uclamp_rq_util_with(&rq_clamps(rq), util, rq.used, None)
}
