//! [`Measure`]: counts the events of a run.

use crate::activity::Counting;
use crate::latency::Waits;
use crate::log2_histogram::Log2Histogram;
use crate::machine_state::{StateDetector, state_at};
use crate::periods::Periods;
use crate::rates::Seconds;
use crate::regret::Regret;
use crate::starved::{NeverRan, Turns};
use crate::{RunStats, SearchStats, StateChange};
use std::ops::Range;
use wakelab_events::sim::{Event, Queued, Sink, Task};
use wakelab_sched::cpumask::Cpu;

/// In place of the time of a wake-up that is over.
const NOT_WOKEN: u64 = u64::MAX;

/// Counts the events of a run.
///
/// An event counts if its time is in \[settle, end); only the state is followed from the start. Search statistics are
/// those of all wake-ups that had a choice, including the background's, as the kernel's counters are; the numbers of
/// wake-ups are the workload's. While it receives events it allocates nothing, except at a change of state, at a second
/// of simulated time and at the first wake-up and the first period of a task.
#[derive(Clone, Debug)]
pub struct Measure {
    seed: u64,
    settle_ns: u64,
    end_ns: u64,
    nr_cpus: u32,
    search: SearchStats,
    select_idle_cpu_ns: Log2Histogram,
    wakeups: u64,
    wakeups_on_cpu: u64,
    wakeups_claimed: u64,
    migrations: u64,
    /// The latencies of transactions.
    latencies: Waits,
    /// By task: when its wake-up began, ns; [`NOT_WOKEN`] once it has run.
    woken: Vec<u64>,
    wakeup_latencies: Waits,
    turns: Turns,
    periods: Periods,
    seconds: Seconds,
    /// The begin of the first transaction that was done, ns.
    first_begin: Option<u64>,
    idle: IdleTime,
    /// The time for which CPUs waited for run queues' locks, ns.
    lock_wait: u64,
    switches_voluntary: u64,
    switches_involuntary: u64,
    /// The sum of the LLCs' utilisations in load balancing.
    sum_util: u64,
    /// The sum of the largest utilisations that they could have had.
    sum_max_util: u64,
    states: StateDetector,
    activity: Counting,
    regret: Option<Box<Regret>>,
}

impl Measure {
    /// Measures \[`settle_ns`, `end_ns`) of a run with this seed on `nr_cpus` CPUs.
    pub fn new(seed: u64, settle_ns: u64, end_ns: u64, nr_cpus: u32) -> Self {
        Measure {
            seed,
            settle_ns,
            end_ns,
            nr_cpus,
            search: SearchStats::default(),
            select_idle_cpu_ns: Log2Histogram::new(),
            wakeups: 0,
            wakeups_on_cpu: 0,
            wakeups_claimed: 0,
            migrations: 0,
            latencies: Waits::preallocated(),
            woken: Vec::new(),
            wakeup_latencies: Waits::preallocated(),
            turns: Turns::default(),
            periods: Periods::default(),
            seconds: Seconds::default(),
            first_begin: None,
            idle: IdleTime::new(settle_ns..end_ns, nr_cpus),
            lock_wait: 0,
            switches_voluntary: 0,
            switches_involuntary: 0,
            sum_util: 0,
            sum_max_util: 0,
            states: StateDetector::new(),
            activity: Counting::new(settle_ns, end_ns, nr_cpus),
            regret: None,
        }
    }

    /// The sink for regret, `None` if regret is not requested. The caller that runs the simulator takes it out, runs it
    /// as a second sink and puts it back before [`finish`](Self::finish).
    pub fn regret(&mut self) -> &mut Option<Box<Regret>> {
        &mut self.regret
    }

    /// Requests regret.
    pub fn with_regret(mut self) -> Self {
        self.regret = Some(Box::new(Regret::new(self.settle_ns, self.end_ns, self.nr_cpus)));
        self
    }

    /// The start of the measured time, ns.
    pub fn settle_ns(&self) -> u64 {
        self.settle_ns
    }

    /// All changes of state of a run that is at `time`, ns from the start, and may go on. A change shows after the
    /// windows that make it.
    pub fn changes_by(&self, time: u64) -> Vec<StateChange> {
        self.states.clone().finish(time)
    }

    /// Returns the tasks that never ran in the measured time of a run that ended at `ended_ns`, out of the tasks that
    /// wait for a CPU then (`Outcome::waiting`) and `of` tasks in all (`Outcome::nr_tasks`).
    pub fn never_ran<'a>(
        &self,
        ended_ns: u64,
        of: u64,
        waiting: impl IntoIterator<Item = (Task, &'a str)>,
    ) -> NeverRan {
        self.turns.never_ran(self.settle_ns..ended_ns.min(self.end_ns), of, waiting)
    }

    /// The numbers of a run that ended at `ended_ns` (`Outcome::ended`), which is before the requested end if all tasks
    /// exited.
    pub fn finish(self, ended_ns: u64) -> RunStats {
        let end = ended_ns.min(self.end_ns);
        let measured_ns = end.saturating_sub(self.settle_ns);
        let latency = self.latencies.latency();
        let changes = self.states.finish(end);
        let cpu_ns = measured_ns as f64 * f64::from(self.nr_cpus);
        let idle = self.idle.total(end) as f64;
        let busy = cpu_ns - idle;
        RunStats {
            seed: self.seed,
            measured_ns,
            done: latency.n,
            span_ns: self.first_begin.map(|begin| end.saturating_sub(begin)),
            latency,
            rates: self.seconds.rates(measured_ns),
            wakeups: self.wakeups,
            wakeups_on_cpu: self.wakeups_on_cpu,
            wakeups_claimed: self.wakeups_claimed,
            cpu_ns_per_wakeup: if self.search.sis_search == 0 { 0.0 } else { cpu_ns / self.search.sis_search as f64 },
            wakeup_latency: self.wakeup_latencies.latency(),
            threads: self.periods.finish(),
            busy_ns_per_wakeup: (self.wakeups > 0).then(|| busy / self.wakeups as f64),
            migrations: self.migrations,
            idle_pct: if measured_ns == 0 { 0.0 } else { 100.0 * idle / cpu_ns },
            rq_lock_pct: if busy > 0.0 { 100.0 * self.lock_wait as f64 / busy } else { 0.0 },
            switches_voluntary: self.switches_voluntary,
            switches_involuntary: self.switches_involuntary,
            never_ran: NeverRan::default(),
            search: self.search,
            select_idle_cpu_ns: self.select_idle_cpu_ns.buckets(),
            llc_util: (self.sum_max_util > 0).then(|| self.sum_util as f64 / self.sum_max_util as f64),
            state: state_at(&changes, self.settle_ns),
            regret: self.regret.map(|regret| regret.finish(ended_ns, &changes)),
            changes,
            activity: self.activity.finish(),
            power: None,
            scheduler: Vec::new(),
            scheduler_ops: Vec::new(),
        }
    }

    /// Notes when the wake-up of a task began.
    #[inline]
    fn woke(&mut self, task: Task, began: u64) {
        let task = task as usize;
        if task >= self.woken.len() {
            self.woken.resize(task + 1, NOT_WOKEN);
        }
        self.woken[task] = began;
    }

    /// Takes the latency of a task that was woken and runs now.
    #[inline]
    fn runs(&mut self, time: u64, task: Task) {
        let Some(woken) = self.woken.get_mut(task as usize) else { return };
        let began = std::mem::replace(woken, NOT_WOKEN);
        if began != NOT_WOKEN && time < self.end_ns {
            self.wakeup_latencies.record(time - began);
            self.periods.woke(task, time - began);
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
        self.activity.event(time, event);
        match *event {
            Event::Wakeup { ref decision, queued, wakee, began, scan_began, scan_ended, claimed, workload, .. } => {
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
                    self.select_idle_cpu_ns.record(ended - began);
                }
                if workload {
                    self.wakeups += 1;
                    self.wakeups_on_cpu += u64::from(queued == Queued::OnCpu);
                    self.wakeups_claimed += u64::from(claimed);
                    self.woke(wakee, began);
                }
            }
            Event::Done { latency, .. } if self.measures(time) => {
                self.latencies.record(latency);
                self.seconds.record(time - self.settle_ns);
                let begin = time.saturating_sub(latency);
                self.first_begin = Some(self.first_begin.map_or(begin, |first| first.min(begin)));
            }
            Event::Switch { cpu, prev, prev_sleeps, next } => {
                self.idle.switch(time, cpu, next.is_none());
                if let Some(prev) = prev {
                    self.turns.stops(time, prev);
                }
                if let Some(next) = next {
                    self.turns.runs(time, next);
                    self.runs(time, next);
                }
                if prev.is_some() && self.measures(time) {
                    self.switches_voluntary += u64::from(prev_sleeps);
                    self.switches_involuntary += u64::from(!prev_sleeps);
                }
            }
            Event::Period { task, thread, slack_ns } if self.measures(time) => {
                self.periods.done(task, thread, slack_ns);
            }
            Event::LockWait { ns, .. } if self.measures(time) => self.lock_wait += ns,
            Event::Enqueue { task, .. } => self.turns.queued(time, task),
            Event::Migrate { task, .. } => {
                self.turns.moved(time, task);
                self.migrations += u64::from(self.measures(time));
            }
            Event::IdleScan { sum_util, weight, .. } if self.measures(time) => {
                self.sum_util += sum_util;
                self.sum_max_util += u64::from(weight) * 1024;
            }
            _ => {}
        }
    }
}

/// The idle time of all CPUs within a window, from their switches.
#[derive(Clone, Debug)]
struct IdleTime {
    window: Range<u64>,
    /// By CPU: the time at which it became idle, ns; `None` while it runs a task.
    idle_since: Vec<Option<u64>>,
    /// The idle time of the idle periods that have ended, ns.
    ended: u64,
}

impl IdleTime {
    /// The idle time within `window`, ns, of a run that begins with all CPUs idle.
    fn new(window: Range<u64>, nr_cpus: u32) -> Self {
        IdleTime { window, idle_since: vec![Some(0); nr_cpus as usize], ended: 0 }
    }

    /// Receives a CPU's switch. What it switches from does not matter: a task that was moved away while it ran has lost
    /// the CPU before the switch, which then is from nobody, to idle as well. The stopper that moves it is busy up to
    /// there.
    #[inline]
    fn switch(&mut self, time: u64, cpu: Cpu, to_idle: bool) {
        let since = &mut self.idle_since[cpu as usize];
        if since.is_some() == to_idle {
            return;
        }
        let since = std::mem::replace(since, to_idle.then_some(time));
        self.ended += self.within_window(since, time);
    }

    /// The idle time of a run that ended at `end`, ns.
    fn total(&self, end: u64) -> u64 {
        self.ended + self.idle_since.iter().map(|&since| self.within_window(since, end)).sum::<u64>()
    }

    #[inline]
    fn within_window(&self, since: Option<u64>, to: u64) -> u64 {
        since.map_or(0, |since| to.min(self.window.end).saturating_sub(since.max(self.window.start)))
    }
}
