//! Listens to a run.

use crate::idle::IdleTime;
use crate::log2::Log2;
use crate::regret::Regret;
use crate::state::{Detector, state_at};
use crate::{Latency, RunStats, SearchStats};
use hdrhistogram::Histogram;
use wakelab_events::sim::{Event, Queued, Sink};

/// What a frame may take, ns.
const FRAME_NS: u64 = 16_000_000;

/// The longest latency that is told apart from longer ones, ns: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// Counts what happens in a run.
///
/// An event counts where its time lies in \[settle, end); only the state is followed from the start. Search statistics
/// are of every wake-up that had a choice, the background's too, as the kernel's counters are; the numbers of wake-ups
/// are the workload's. It allocates nothing while it listens, but for a change of state.
#[derive(Clone, Debug)]
pub struct Measure {
    seed: u64,
    settle_ns: u64,
    end_ns: u64,
    nr_cpus: u32,
    search: SearchStats,
    walks: Log2,
    wakeups: u64,
    wakeups_on_cpu: u64,
    wakeups_claimed: u64,
    migrations: u64,
    latencies: Histogram<u64>,
    latency_sum: u64,
    latency_max: u64,
    missed_16ms: u64,
    /// When the first transaction that was done began, ns.
    first_begin: Option<u64>,
    idle: IdleTime,
    /// What CPUs waited for run queues' locks, ns.
    lock_wait: u64,
    /// Switches away from a task that could not go on, and from one that could.
    switches: [u64; 2],
    /// Summed utilisation that the balances saw, and what it could have been at most.
    util: (u64, u64),
    states: Detector,
    regret: Option<Box<Regret>>,
}

impl Measure {
    /// Measures \[`settle_ns`, `end_ns`) of a run with that seed on that many CPUs.
    pub fn new(seed: u64, settle_ns: u64, end_ns: u64, nr_cpus: u32) -> Self {
        Measure {
            seed,
            settle_ns,
            end_ns,
            nr_cpus,
            search: SearchStats::default(),
            walks: Log2::new(),
            wakeups: 0,
            wakeups_on_cpu: 0,
            wakeups_claimed: 0,
            migrations: 0,
            latencies: Histogram::new_with_max(LONGEST_NS, 3).expect("the bounds are right"),
            latency_sum: 0,
            latency_max: 0,
            missed_16ms: 0,
            first_begin: None,
            idle: IdleTime::new(settle_ns..end_ns, nr_cpus),
            lock_wait: 0,
            switches: [0; 2],
            util: (0, 0),
            states: Detector::new(),
            regret: None,
        }
    }

    /// What is to listen beside it, where perfect knowledge is wanted: whoever runs the simulator takes it out for the run and
    /// puts it back after it.
    pub fn regret(&mut self) -> &mut Option<Box<Regret>> {
        &mut self.regret
    }

    /// Wants perfect knowledge.
    pub fn with_regret(mut self) -> Self {
        self.regret = Some(Box::new(Regret::new(self.settle_ns, self.end_ns, self.nr_cpus)));
        self
    }

    /// When measuring begins, ns.
    pub fn settle_ns(&self) -> u64 {
        self.settle_ns
    }

    /// The numbers of a run that ended at `ended_ns` (`Outcome::ended`): earlier than was asked for where all tasks had
    /// exited.
    pub fn finish(self, ended_ns: u64) -> RunStats {
        let end = ended_ns.min(self.end_ns);
        let measured_ns = end.saturating_sub(self.settle_ns);
        let latency = self.latency();
        let changes = self.states.finish(end);
        let cpu_ns = measured_ns as f64 * f64::from(self.nr_cpus);
        let idle = self.idle.until(end) as f64;
        let busy = cpu_ns - idle;
        RunStats {
            seed: self.seed,
            measured_ns,
            done: latency.n,
            span_ns: self.first_begin.map(|begin| end.saturating_sub(begin)),
            latency,
            wakeups: self.wakeups,
            wakeups_on_cpu: self.wakeups_on_cpu,
            wakeups_claimed: self.wakeups_claimed,
            cpu_ns_per_wakeup: if self.search.sis_search == 0 { 0.0 } else { cpu_ns / self.search.sis_search as f64 },
            migrations: self.migrations,
            idle_pct: if measured_ns == 0 { 0.0 } else { 100.0 * idle / cpu_ns },
            rq_lock_pct: if busy > 0.0 { 100.0 * self.lock_wait as f64 / busy } else { 0.0 },
            switches_voluntary: self.switches[0],
            switches_involuntary: self.switches[1],
            search: self.search,
            select_idle_cpu_ns: self.walks.buckets(),
            llc_util: (self.util.1 > 0).then(|| self.util.0 as f64 / self.util.1 as f64),
            state: state_at(&changes, self.settle_ns),
            regret: self.regret.map(|regret| regret.finish(ended_ns, &changes)),
            changes,
            power: None,
        }
    }

    fn latency(&self) -> Latency {
        let n = self.latencies.len();
        // A bucket's value is the highest in it, which may lie above the highest that came.
        let at = |quantile| self.latencies.value_at_quantile(quantile).min(self.latency_max);
        Latency {
            n,
            mean: if n == 0 { 0.0 } else { self.latency_sum as f64 / n as f64 },
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p995: at(0.995),
            p999: at(0.999),
            max: self.latency_max,
            missed_16ms: self.missed_16ms,
        }
    }

    #[inline]
    fn measures(&self, time: u64) -> bool {
        (self.settle_ns..self.end_ns).contains(&time)
    }
}

impl Sink for Measure {
    const ON: bool = true;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Wakeup { ref decision, queued, scan_began, scan_ended, claimed, workload, .. } => {
                if let (Some(decision), true) = (decision, workload) {
                    let failed = decision.reason.is_failed_search();
                    self.states.wakeup(time, decision.count.domain_search > 0, failed);
                }
                if !self.measures(time) {
                    return;
                }
                if let Some(decision) = decision {
                    self.search.add(&decision.count);
                }
                if let (Some(began), Some(ended)) = (scan_began, scan_ended) {
                    self.walks.record(ended - began);
                }
                if workload {
                    self.wakeups += 1;
                    self.wakeups_on_cpu += u64::from(queued == Queued::OnCpu);
                    self.wakeups_claimed += u64::from(claimed);
                }
            }
            Event::Done { latency, .. } if self.measures(time) => {
                self.latencies.saturating_record(latency);
                self.latency_sum += latency;
                self.latency_max = self.latency_max.max(latency);
                self.missed_16ms += u64::from(latency > FRAME_NS);
                let begin = time.saturating_sub(latency);
                self.first_begin = Some(self.first_begin.map_or(begin, |first| first.min(begin)));
            }
            Event::Switch { cpu, prev, prev_sleeps, next } => {
                self.idle.switch(time, cpu, prev.is_none(), next.is_none());
                if prev.is_some() && self.measures(time) {
                    self.switches[usize::from(!prev_sleeps)] += 1;
                }
            }
            Event::LockWait { ns, .. } if self.measures(time) => self.lock_wait += ns,
            Event::Migrate { .. } if self.measures(time) => self.migrations += 1,
            Event::IdleScan { sum_util, weight, .. } if self.measures(time) => {
                self.util.0 += sum_util;
                self.util.1 += u64::from(weight) * 1024;
            }
            _ => {}
        }
    }
}
