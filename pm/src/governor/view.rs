//! What governors see.

use crate::Cpu;
use crate::schedutil::{Asked, CpuUtil, SugovRules};

/// An update of a CPU's utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// `rq_clock()`, ns.
    pub now: u64,
    /// Whose utilisation it is.
    pub cpu: Cpu,
    /// The CPU that runs the update: at a wake-up from another CPU, the waker's.
    pub from: Cpu,
    /// A task wakes up after I/O (SCHED_CPUFREQ_IOWAIT).
    pub iowait: bool,
}

/// The counters of a CPU at a moment, all from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CounterValues {
    /// Cycles at the actual frequency, in C0.
    pub aperf: u64,
    /// Cycles at the base frequency, in C0.
    pub mperf: u64,
    /// Cycles at the base frequency.
    pub tsc: u64,
}

/// The system at the moment of an update. A governor calls only what it needs: schedutil the first four, ondemand
/// [`idle_time_us`](Self::idle_time_us), intel_pstate [`counters`](Self::counters).
pub trait View {
    /// What the CPU's run queue shows.
    fn util(&self, cpu: Cpu) -> CpuUtil;

    /// How often the CPU went idle since boot (`tick_nohz_get_idle_calls_cpu()`).
    fn idle_calls(&self, cpu: Cpu) -> u64;

    /// `cpu_bw_dl()`, for systems with deadline tasks; it is asked at every update.
    fn bw_dl(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// `uclamp_rq_is_capped()` ([`uclamp_rq_is_capped`](crate::schedutil::uclamp_rq_is_capped)), for systems with clamps.
    fn capped(&self, _cpu: Cpu) -> bool {
        false
    }

    /// How long the CPU was idle since boot, µs; waiting for I/O is idle time unless `io_is_busy`
    /// (`get_cpu_idle_time()`).
    fn idle_time_us(&self, cpu: Cpu, io_is_busy: bool) -> u64;

    /// The CPU's counters.
    fn counters(&self, cpu: Cpu) -> CounterValues;

    /// What the run queue asks for: [`util`](Self::util) by the version's arithmetic.
    fn asked(&self, rules: &SugovRules, cpu: Cpu) -> Asked {
        Asked::of(rules, &self.util(cpu))
    }
}
