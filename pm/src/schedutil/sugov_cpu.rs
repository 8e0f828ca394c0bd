//! What schedutil keeps of a CPU.

use super::effective::{CpuUtil, effective_cpu_util, effective_cpu_util_6_1};
use super::iowait::IowaitBoost;
use super::uclamp::within;
use super::{Headroom, SugovRules};
use wakelab_sched::energy::{CpuUtilType, EffectiveUtil, sugov_effective_cpu_perf};
use wakelab_sched::select::Uclamp;

/// What a CPU's run queue asks for at a moment, before boost and headroom.
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
    /// What it last asked for; since 6.8 with headroom.
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
