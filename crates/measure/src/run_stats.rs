//! [`RunStats`]: the numbers of one run.

use crate::machine_state::state_at;
use crate::regret::RegretStats;
use crate::{Activity, Bucket, Latency, NeverRan, Rates, SearchStats, State, StateChange, ThreadPeriods};
use serde::{Deserialize, Serialize};
use wakelab_pm::power::PowerStats;
use wakelab_workload::{
    FRAME_MAX, FRAME_MEAN, LATENCY_50PCT, LATENCY_90PCT, LATENCY_99_9PCT, LATENCY_99PCT, LATENCY_MAX, LATENCY_MEAN,
    MISSED_16MS, MISSED_PERIODS, RATE_20PCT, RATE_50PCT, RATE_90PCT, RATE_MAX, SLACK_MEAN, TIME,
};

/// The numbers of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStats {
    /// The run's seed.
    pub seed: u64,
    /// The length of the measured time, ns.
    pub measured_ns: u64,
    /// The number of transactions done.
    pub done: u64,
    /// From the start of the first of them to the end of the run, ns; `None` if none was done.
    pub span_ns: Option<u64>,
    /// Their latencies.
    pub latency: Latency,
    /// The number that were done in each second.
    pub rates: Rates,
    /// Wake-ups of the workload's tasks.
    pub wakeups: u64,
    /// The wake-ups of them that went to the wakelist of their own CPU without a choice.
    pub wakeups_on_cpu: u64,
    /// The wake-ups of them that chose a CPU which another wake-up had claimed already.
    pub wakeups_claimed: u64,
    /// The machine's CPU time (CPUs × measured time) per wake-up that searched (`sis_search`, as in the published
    /// counters), ns; 0 if there was none.
    pub cpu_ns_per_wakeup: f64,
    /// From the start of a wake-up of a task of the workload to the switch to that task, ns, for wake-ups that began
    /// and ended while the run was measured.
    pub wakeup_latency: Latency,
    /// The threads that wait for periodic timers; empty if there is none.
    pub threads: Vec<ThreadPeriods>,
    /// The CPU time that was not idle per wake-up of a task of the workload, ns; `None` if there was none.
    pub busy_ns_per_wakeup: Option<f64>,
    /// Migrations by load balancing.
    pub migrations: u64,
    /// The idle share of the machine's CPU time, 0 to 100 %. A CPU is idle from its switch to the idle task to its
    /// switch away from it, so entering and leaving an idle state count as idle, as in the kernel's own accounting.
    pub idle_pct: f64,
    /// The share of the CPU time that was not idle which was spent waiting for run queues' locks, %: a profiler shows
    /// it in the slow path of the spin lock. Taking a free lock counts as 0 here.
    pub rq_lock_pct: f64,
    /// Switches away from a task that sleeps or exits (`nr_voluntary_switches`).
    pub switches_voluntary: u64,
    /// Switches away from a task that was preempted or yielded (`nr_involuntary_switches`).
    pub switches_involuntary: u64,
    /// Tasks of the workload that could run and got no CPU in the measured time. The caller that ran the simulation
    /// adds them ([`Measure::never_ran`](crate::Measure::never_ran)).
    pub never_ran: NeverRan,
    /// Search statistics.
    pub search: SearchStats,
    /// Durations of `select_idle_cpu()`, ns, by powers of two.
    pub select_idle_cpu_ns: Vec<Bucket>,
    /// Mean utilisation of the LLCs in periodic load balancing, 0 to 1; `None` if there was none.
    pub llc_util: Option<f64>,
    /// The state at the start of the measured time.
    pub state: State,
    /// All changes of state in the whole run, including the time before measuring.
    pub changes: Vec<StateChange>,
    /// How often the code that features and tunables switch ran.
    pub activity: Activity,
    /// The effect that perfect knowledge would have had; `None` if it was not requested.
    pub regret: Option<RegretStats>,
    /// Frequencies, idle states and energy; `None` if the run has no power management. The caller that ran the
    /// simulation adds them.
    pub power: Option<PowerStats>,
    /// Counts of the whole run under a scheduler of sched_ext, by name; empty without one. The caller that ran the
    /// simulation adds them.
    pub scheduler: Vec<(String, u64)>,
    /// Calls of that scheduler's operations in the whole run. The caller that ran the simulation adds them.
    pub scheduler_ops: Vec<OpTime>,
}

/// Calls of an operation of a sched_ext scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpTime {
    /// Its member of `struct sched_ext_ops`, such as `select_cpu`.
    pub op: String,
    /// The number of calls.
    pub calls: u64,
    /// The time that they took, ns at full speed, with waits for the locks of queues and without operations that they
    /// called in turn.
    pub ns: u64,
}

impl RunStats {
    /// The state at the end of the run.
    pub fn state_at_end(&self) -> State {
        state_at(&self.changes, u64::MAX)
    }

    /// A metric of the run in its own unit, by the name that a workload has for it (`Workload::metric`). A name that is
    /// none of [`METRICS`](wakelab_workload::METRICS) is taken for the throughput, transactions a second.
    pub fn metric(&self, name: &str) -> f64 {
        match (name, self.span_ns) {
            (TIME, Some(span)) => span as f64 / 1e9,
            (LATENCY_50PCT, _) => self.latency.p50 as f64 / 1e3,
            (LATENCY_90PCT, _) => self.latency.p90 as f64 / 1e3,
            (LATENCY_99PCT, _) => self.latency.p99 as f64 / 1e3,
            (LATENCY_99_9PCT, _) => self.latency.p999 as f64 / 1e3,
            (LATENCY_MAX, _) => self.latency.max as f64 / 1e3,
            (RATE_20PCT, _) => self.rates.p20,
            (RATE_50PCT, _) => self.rates.p50,
            (RATE_90PCT, _) => self.rates.p90,
            (RATE_MAX, _) => self.rates.max,
            (LATENCY_MEAN, _) => self.latency.mean / 1e3,
            (FRAME_MEAN, _) => self.latency.mean / 1e6,
            (FRAME_MAX, _) => self.latency.max as f64 / 1e6,
            (MISSED_16MS, _) => 100.0 * self.latency.missed_16ms as f64 / self.done as f64,
            (MISSED_PERIODS, _) => 100.0 * self.of_periods(|thread| thread.missed as f64),
            (SLACK_MEAN, _) => self.of_periods(|thread| thread.slack_mean_ns / 1e3 * thread.periods as f64),
            _ => self.done as f64 * 1e9 / self.measured_ns as f64,
        }
    }

    /// A sum over threads, for each of their periods.
    fn of_periods(&self, of: impl Fn(&ThreadPeriods) -> f64) -> f64 {
        let periods: u64 = self.threads.iter().map(|thread| thread.periods).sum();
        self.threads.iter().map(of).sum::<f64>() / periods as f64
    }
}
