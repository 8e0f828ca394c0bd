//! What perfect knowledge would have changed: searches that missed an idle CPU, looks that could not succeed, and, apart from
//! it, whether an idle CPU was worth having.
//!
//! Perfect knowledge is that of the moment at which a search begins: in the simulator the fast paths take no time, so that
//! the walk begins then, too. `docs/regret.md` defines every number.

mod ledger;
mod replay;
mod stats;

pub use stats::{
    CpuTimeOf, CpuTimeRegret, LookRegret, POSITIONS, RegretStats, SearchRegret, StateRegret, WakeupRegret,
    position_bucket, position_range,
};

use crate::State;
use crate::state::{WINDOW_NS, state_at};
use crate::stats::StateChange;
use ledger::{Kind, Ledger};
use replay::Begun;
use std::ops::Range;
use wakelab_events::sim::{Event, Inputs, Queued, Sink};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Decision, Select, View};

/// Listens to a run and compares each of its searches with perfect knowledge.
#[derive(Clone, Debug)]
pub struct Regret {
    measured: Range<u64>,
    nr_cpus: u32,
    /// CPUs for which `available_idle_cpu()` is true.
    idle: CpuMask,
    /// CPUs for which `sched_idle_cpu()` is true.
    sched_idle: CpuMask,
    /// By waking CPU: the choice that is being made there.
    begun: Vec<Begun>,
    select: Select,
    ledger: Ledger,
    stats: RegretStats,
}

impl Regret {
    /// Of \[`settle_ns`, `end_ns`) of a run that begins with all of that many CPUs idle.
    pub fn new(settle_ns: u64, end_ns: u64, nr_cpus: u32) -> Self {
        Regret {
            measured: settle_ns..end_ns,
            nr_cpus,
            idle: CpuMask::full(nr_cpus),
            sched_idle: CpuMask::new(nr_cpus),
            begun: vec![Begun::none(nr_cpus); nr_cpus as usize],
            select: Select::default(),
            ledger: Ledger::new(settle_ns..end_ns, nr_cpus),
            stats: RegretStats::default(),
        }
    }

    /// The numbers of a run that ended at `ended_ns` and changed its state so.
    pub fn finish(mut self, ended_ns: u64, changes: &[StateChange]) -> RegretStats {
        let (cpu, windows) = self.ledger.finish(ended_ns.min(self.measured.end));
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

    /// Whether a CPU is idle to the wakee of the choice that is made on `waker_cpu`.
    fn takes(&self, waker_cpu: Cpu, cpu: Cpu) -> bool {
        self.idle.test(cpu) || (self.begun[waker_cpu as usize].takes_sched_idle && self.sched_idle.test(cpu))
    }

    /// Counts the choice that was made on a CPU, against what could have been known when it began.
    fn search(&mut self, waker_cpu: Cpu, decision: &Decision, kind: Kind) {
        let begun = &self.begun[waker_cpu as usize];
        let wakeups = &mut self.stats.wakeups;
        wakeups.n += 1;
        wakeups.idle_existed += u64::from(begun.best.is_some());
        wakeups.on_idle += u64::from(kind == Kind::OnIdle);
        wakeups.on_claimed += u64::from(kind == Kind::OnClaimed);
        wakeups.on_busy += u64::from(kind == Kind::OnBusy);
        if begun.best.is_some() && kind != Kind::OnIdle {
            // It may have been a good choice when the search began.
            match begun.unclaimed.test(decision.cpu) {
                true => wakeups.gone += 1,
                false => wakeups.missed += 1,
            }
        }
        if decision.count.domain_search == 0 {
            return;
        }
        let looks = decision.count.scanned.saturating_sub(1);
        self.stats.looks.n += u64::from(looks);
        match begun.first {
            Some(first) => {
                let before = looks.min(first - 1);
                self.stats.looks.before_first += u64::from(before);
                self.stats.looks.from_first += u64::from(looks - before);
                self.stats.enough[position_bucket(first)] += 1;
            }
            None => {
                self.stats.looks.nothing_idle += u64::from(looks);
                self.stats.enough_never += 1;
            }
        }
        let still_idle = begun.idle.iter().any(|cpu| self.takes(waker_cpu, cpu));
        let searches = &mut self.stats.searches;
        searches.n += 1;
        if decision.reason.is_failed_search() {
            searches.failed += 1;
            match begun.first {
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
            Event::Switch { cpu, next, .. } => self.ledger.switch(time, cpu, next),
            Event::Idle { cpu, entered } => self.ledger.idle(time, cpu, entered),
            Event::Enqueue { task, .. } => self.ledger.enqueued(time, task),
            Event::Wakeup { waker_cpu, wakee, ref decision, cpu, queued, began, claimed, workload, .. } => {
                let kind = match decision {
                    None => Kind::Other,
                    Some(_) if !self.takes(waker_cpu, cpu) => Kind::OnBusy,
                    Some(_) if claimed => Kind::OnClaimed,
                    Some(_) => Kind::OnIdle,
                };
                let of_workload = if workload { kind } else { Kind::Other };
                let enqueues = queued == Queued::Direct;
                self.ledger.wakeup((began, time), waker_cpu, wakee, of_workload, enqueues);
                let Some(decision) = decision else { return };
                let open = std::mem::take(&mut self.begun[waker_cpu as usize].open);
                if open && decision.count.search == 1 && self.measured.contains(&time) {
                    self.search(waker_cpu, decision, kind);
                }
            }
            _ => {}
        }
    }

    fn inputs<V: View>(&mut self, _: u64, inputs: &Inputs<'_, V>) {
        // A new task's choice has no search.
        if inputs.probe.is_some() {
            self.begun[inputs.wakeup.waker.cpu as usize].fill(&mut self.select, inputs);
        }
    }
}
