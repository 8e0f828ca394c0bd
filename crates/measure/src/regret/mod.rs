//! [`Regret`]: what perfect knowledge would have changed. It counts the searches that missed an idle CPU, the probes
//! that could not succeed, and whether an idle CPU was worth finding.
//!
//! Perfect knowledge is that of the moment at which a search begins. In the simulator the fast paths take no time, so
//! the scan begins at that moment too. `docs/trust.md` defines every number.

mod cpu_time;
mod perfect_knowledge;
mod stats;

pub use stats::{
    CpuTimeOf, CpuTimeRegret, POSITIONS, ProbeRegret, RegretStats, SearchRegret, StateRegret, WakeupRegret,
    position_bucket, position_range,
};

use crate::machine_state::{State, StateChange, WINDOW_NS, state_at};
use cpu_time::{CpuTimeLedger, WakeupKind};
use perfect_knowledge::PerfectKnowledge;
use std::ops::Range;
use wakelab_events::sim::{Event, Inputs, Queued, Sink};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Decision, Select, View};

/// Compares each search of a run with perfect knowledge.
#[derive(Clone, Debug)]
pub struct Regret {
    measured: Range<u64>,
    nr_cpus: u32,
    /// CPUs for which `available_idle_cpu()` is true.
    idle: CpuMask,
    /// CPUs for which `sched_idle_cpu()` is true.
    sched_idle: CpuMask,
    /// By waking CPU: what was known when the choice began that is being made there.
    known: Vec<PerfectKnowledge>,
    select: Select,
    cpu_time: CpuTimeLedger,
    stats: RegretStats,
}

impl Regret {
    /// Measures \[`settle_ns`, `end_ns`) of a run that begins with all of `nr_cpus` CPUs idle.
    pub fn new(settle_ns: u64, end_ns: u64, nr_cpus: u32) -> Self {
        Regret {
            measured: settle_ns..end_ns,
            nr_cpus,
            idle: CpuMask::full(nr_cpus),
            sched_idle: CpuMask::new(nr_cpus),
            known: vec![PerfectKnowledge::none(nr_cpus); nr_cpus as usize],
            select: Select::default(),
            cpu_time: CpuTimeLedger::new(settle_ns..end_ns, nr_cpus),
            stats: RegretStats::default(),
        }
    }

    /// The numbers of a run that ended at `ended_ns` and had these changes of state.
    pub fn finish(mut self, ended_ns: u64, changes: &[StateChange]) -> RegretStats {
        let (cpu, windows) = self.cpu_time.finish(ended_ns.min(self.measured.end));
        self.stats.cpu = cpu;
        for (n, window) in (0..).zip(windows) {
            let begins = n * WINDOW_NS;
            let state = match state_at(changes, begins) {
                State::Migrating => &mut self.stats.migrating,
                State::Stacked => &mut self.stats.stacked,
            };
            let time_ns = ended_ns.min(self.measured.end).saturating_sub(begins).min(WINDOW_NS);
            let cpu_ns = time_ns * u64::from(self.nr_cpus);
            *state += StateRegret { time_ns, cpu_ns, busy_ns: window.busy_ns, wakeups: window.wakeups };
        }
        self.stats
    }

    /// Returns whether a CPU is idle for the wakee of the choice that is being made on `waker_cpu`.
    fn takes(&self, waker_cpu: Cpu, cpu: Cpu) -> bool {
        self.idle.test(cpu) || (self.known[waker_cpu as usize].takes_sched_idle && self.sched_idle.test(cpu))
    }

    /// Compares the choice made on `waker_cpu` with what could have been known when it began.
    fn compare(&mut self, waker_cpu: Cpu, decision: &Decision, kind: WakeupKind) {
        let known = &self.known[waker_cpu as usize];
        let wakeups = &mut self.stats.wakeups;
        wakeups.n += 1;
        wakeups.idle_existed += u64::from(known.best.is_some());
        wakeups.on_idle += u64::from(kind == WakeupKind::OnIdle);
        wakeups.on_claimed += u64::from(kind == WakeupKind::OnClaimed);
        wakeups.on_busy += u64::from(kind == WakeupKind::OnBusy);
        if known.best.is_some() && kind != WakeupKind::OnIdle {
            // It may have been a good choice when the search began.
            match known.unclaimed.test(decision.cpu) {
                true => wakeups.gone += 1,
                false => wakeups.missed += 1,
            }
        }
        if decision.count.domain_search == 0 {
            return;
        }
        let probes = decision.count.scanned.saturating_sub(1);
        self.stats.probes.n += u64::from(probes);
        match known.first_idle_probe {
            Some(first) => {
                let before = probes.min(first - 1);
                self.stats.probes.before_first += u64::from(before);
                self.stats.probes.from_first += u64::from(probes - before);
                self.stats.enough[position_bucket(first)] += 1;
            }
            None => {
                self.stats.probes.nothing_idle += u64::from(probes);
                self.stats.enough_never += 1;
            }
        }
        let still_idle = known.idle.iter().any(|cpu| self.takes(waker_cpu, cpu));
        let searches = &mut self.stats.searches;
        searches.n += 1;
        if decision.reason.is_failed_search() {
            searches.failed += 1;
            match known.first_idle_probe {
                None => searches.nothing += 1,
                Some(_) if still_idle => searches.missed += 1,
                Some(_) => searches.gone += 1,
            }
        }
    }
}

impl Sink for Regret {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Available { cpu, available, sched_idle } => {
                self.idle.assign(cpu, available);
                self.sched_idle.assign(cpu, sched_idle);
            }
            Event::Switch { cpu, next, .. } => self.cpu_time.switch(time, cpu, next),
            Event::Idle { cpu, entered } => self.cpu_time.idle(time, cpu, entered),
            Event::Enqueue { task, .. } => self.cpu_time.enqueued(time, task),
            Event::Wakeup { waker_cpu, wakee, ref decision, cpu, queued, began, claimed, workload, .. } => {
                let kind = match decision {
                    None => WakeupKind::Other,
                    Some(_) if !self.takes(waker_cpu, cpu) => WakeupKind::OnBusy,
                    Some(_) if claimed => WakeupKind::OnClaimed,
                    Some(_) => WakeupKind::OnIdle,
                };
                let charged_as = if workload { kind } else { WakeupKind::Other };
                let enqueues = queued == Queued::Direct;
                self.cpu_time.wakeup((began, time), waker_cpu, wakee, charged_as, enqueues);
                let Some(decision) = decision else { return };
                let pending = std::mem::take(&mut self.known[waker_cpu as usize].pending);
                if pending && decision.count.search == 1 && self.measured.contains(&time) {
                    self.compare(waker_cpu, decision, kind);
                }
            }
            _ => {}
        }
    }

    fn inputs<V: View>(&mut self, _: u64, inputs: &Inputs<'_, V>) {
        // The placement of a new task makes no search.
        if inputs.probe.is_some() {
            self.known[inputs.wakeup.waker.cpu as usize].record(&mut self.select, inputs);
        }
    }
}
