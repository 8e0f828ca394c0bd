//! The numbers of one run.

use crate::regret::RegretStats;
use serde::{Deserialize, Serialize};
use wakelab_pm::power::PowerStats;

/// The search statistics of all wake-ups, as the counters of the kernel patch that introduced them count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchStats {
    /// Calls of `select_idle_sibling()`.
    pub sis_search: u64,
    /// Those that went past the fast path.
    pub sis_domain_search: u64,
    /// Run queues looked at; the fast path counts 1 whatever it looked at.
    pub sis_scanned: u64,
    /// Searches that fell through to the final `return target`.
    pub sis_failed: u64,
}

/// A bucket of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The lowest value in it.
    pub from: u64,
    /// The first value above it.
    pub below: u64,
    /// How many.
    pub count: u64,
}

/// Latencies of transactions, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 75th percentile.
    pub p75: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.5th percentile.
    pub p995: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Longest.
    pub max: u64,
    /// How many were longer than a frame may take, 16 ms.
    pub missed_16ms: u64,
}

impl Latency {
    /// A percentile, by the tenths of a per cent below it, ns; `None` for one that is not kept.
    pub fn at(&self, permille: u32) -> Option<u64> {
        match permille {
            500 => Some(self.p50),
            750 => Some(self.p75),
            900 => Some(self.p90),
            950 => Some(self.p95),
            990 => Some(self.p99),
            995 => Some(self.p995),
            999 => Some(self.p999),
            _ => None,
        }
    }
}

/// Which of its self-sustaining states the machine is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Wakees are put on CPUs that look idle.
    Migrating,
    /// Wakees are put on the busy CPU that their search started from.
    Stacked,
}

/// When the state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// ns from the start of the run.
    pub at_ns: u64,
    /// The state from then on.
    pub state: State,
}

/// The numbers of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStats {
    /// The run's seed.
    pub seed: u64,
    /// How long was measured, ns.
    pub measured_ns: u64,
    /// Transactions done.
    pub done: u64,
    /// From the begin of the first of them to the end of the run, ns; `None` if none was done.
    pub span_ns: Option<u64>,
    /// Their latencies.
    pub latency: Latency,
    /// Wake-ups of the workload's tasks.
    pub wakeups: u64,
    /// Of them, those on the wakelist of their own CPU without a choice.
    pub wakeups_on_cpu: u64,
    /// Of them, those that chose a CPU that another wake-up had claimed already.
    pub wakeups_claimed: u64,
    /// The machine's CPU time (CPUs × measured time) for each wake-up that searched (`sis_search`, as published
    /// counters have it), ns; 0 where there was none.
    pub cpu_ns_per_wakeup: f64,
    /// Migrations by balancing.
    pub migrations: u64,
    /// Share of the machine's CPU time that was idle, %: from a CPU's switch to the idle task to its switch away from it,
    /// so that entering and leaving an idle state count as idle, as in the kernel's own accounting. 0 to 100.
    pub idle_pct: f64,
    /// Share of the CPU time that was not idle which went into waiting for run queues' locks, %: what a profiler shows in the
    /// slow path of the spin lock. Taking a lock that is free counts as nothing here.
    pub rq_lock_pct: f64,
    /// Switches away from a task that sleeps or exits (`nr_voluntary_switches`).
    pub switches_voluntary: u64,
    /// Switches away from a task that could go on: it was preempted, or yielded (`nr_involuntary_switches`).
    pub switches_involuntary: u64,
    /// Search statistics.
    pub search: SearchStats,
    /// Durations of `select_idle_cpu()`, ns, by powers of two.
    pub select_idle_cpu_ns: Vec<Bucket>,
    /// Mean utilisation of the LLCs as periodic balancing saw it, 0 to 1; `None` if no balance came.
    pub llc_util: Option<f64>,
    /// The state at the start of the measured time.
    pub state: State,
    /// Every change of state in the whole run, the time before measuring included.
    pub changes: Vec<StateChange>,
    /// What perfect knowledge would have changed; `None` where that was not wanted.
    pub regret: Option<RegretStats>,
    /// Frequencies, idle states and energy; `None` where nothing governed them. Whoever ran it adds them.
    pub power: Option<PowerStats>,
}
