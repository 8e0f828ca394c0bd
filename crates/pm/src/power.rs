//! The hardware's power: time by state, and the energy that follows from it.
//!
//! This is the model of power, not the energy model by which the kernel places tasks; the two may differ.
//!
//! ```text
//! core     busy at an operating point, or in an idle state
//! cluster  while any of its CPUs is awake, and what it keeps while all sleep
//! package  while any of its CPUs is awake, and what it keeps while all sleep
//! ```
//!
//! An [`Account`] keeps the time spent in each state, and nothing else: energy is the sum over states of power ×
//! residency, so that the energy of the states and their total cannot disagree.

use crate::Khz;
use serde::{Deserialize, Serialize};

/// A state of a CPU, core, cluster or package, with the power that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerState {
    /// `2208000 kHz`, `C6`, ...
    pub name: String,
    /// Power in this state, µW.
    pub power_uw: u64,
}

/// The residencies of one CPU, core, cluster or package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    states: Vec<PowerState>,
    residency_ns: Vec<u64>,
    since: u64,
    current: usize,
}

impl Account {
    /// Begins at `now`, ns, in state `current`.
    ///
    /// # Panics
    /// If there is no such state.
    pub fn new(states: Vec<PowerState>, now: u64, current: usize) -> Account {
        assert!(current < states.len(), "state {current}, but there are only {}, counted from 0", states.len());
        Account { residency_ns: vec![0; states.len()], states, since: now, current }
    }

    /// Changes to `state` at `now`, ns. Entering the present state again changes nothing.
    ///
    /// # Panics
    /// If there is no such state or `now` is before the last change.
    #[inline]
    pub fn enter(&mut self, now: u64, state: usize) {
        assert!(state < self.states.len(), "state {state}, but there are only {}, counted from 0", self.states.len());
        self.settle(now);
        self.current = state;
    }

    /// Counts the time up to `now`, ns.
    ///
    /// # Panics
    /// If `now` is before the last change.
    #[inline]
    pub fn settle(&mut self, now: u64) {
        assert!(now >= self.since, "time goes back from {} to {now} ns", self.since);
        self.residency_ns[self.current] += now - self.since;
        self.since = now;
    }

    /// Forgets the time up to `now`, ns: measuring begins here.
    pub fn restart(&mut self, now: u64) {
        self.residency_ns.fill(0);
        self.since = now;
    }

    /// The number of the present state.
    pub fn current(&self) -> usize {
        self.current
    }

    /// Time in each state up to the last [`settle`](Self::settle) or [`enter`](Self::enter), ns.
    pub fn residency_ns(&self) -> &[u64] {
        &self.residency_ns
    }

    /// The energy of all states, fJ: 1 µW for 1 ns.
    pub fn total_fj(&self) -> u128 {
        let each = self.states.iter().zip(&self.residency_ns);
        each.map(|(state, &ns)| u128::from(state.power_uw) * u128::from(ns)).sum()
    }
}

/// One CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuStats {
    /// Its kind, as an index in [`PowerStats::kinds`].
    pub kind: u32,
    /// Cycles at the actual frequency, in C0.
    pub aperf: u64,
    /// Cycles at the base frequency, in C0.
    pub mperf: u64,
    /// Cycles at the base frequency.
    pub tsc: u64,
    /// Time in each of its kind's states, ns. They add up to [`PowerStats::ns`].
    pub residency_ns: Vec<u64>,
    /// How often it left an idle state.
    pub idle_wakeups: u64,
    /// Interrupts that it took: ticks, timers, IPIs.
    pub interrupts: u64,
}

/// The states of CPUs of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    /// Their base frequency, kHz: that of MPERF and the TSC.
    pub base_khz: Khz,
    /// Busy at each operating point, lowest first, kHz.
    pub opps_khz: Vec<Khz>,
    /// Names of the idle states, which follow.
    pub idle: Vec<String>,
}

/// The energy of a core, a cluster or a package beside its cores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainStats {
    /// `core 3`, `cluster 0`, `package 0`: what kind of domain, and its number among those.
    pub name: String,
    /// nJ: the sum over its states of power × residency.
    pub energy_nj: u64,
}

/// The results of power management in the time that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerStats {
    /// How long that was, ns.
    pub ns: u64,
    /// The kinds of CPUs by their states.
    pub kinds: Vec<Kind>,
    /// By CPU.
    pub cpus: Vec<CpuStats>,
    /// Cores, clusters, packages; empty where the machine does not say what it spends.
    pub domains: Vec<DomainStats>,
    /// How often a policy's frequency changed.
    pub transitions: u64,
}

impl PowerStats {
    /// The energy of all domains, nJ; `None` where the machine does not say what it spends.
    pub fn energy_nj(&self) -> Option<u64> {
        (!self.domains.is_empty()).then(|| self.domains.iter().map(|domain| domain.energy_nj).sum())
    }

    /// The energy of the domains whose name begins so (`core`, `package`), nJ; `None` if there is none.
    pub fn energy_of(&self, kind: &str) -> Option<u64> {
        let mut of = self.domains.iter().filter(|domain| domain.name.starts_with(kind)).peekable();
        of.peek().is_some().then(|| of.map(|domain| domain.energy_nj).sum())
    }

    /// The mean over CPUs of the share of time in C0, thousandths of a percent (turbostat's `Busy%`).
    pub fn busy_mpct(&self) -> u64 {
        // Of each by itself: their TSCs need not count alike.
        let share = |cpu: &CpuStats| (u128::from(cpu.mperf) * 100_000_000).checked_div(cpu.tsc.into()).unwrap_or(0);
        let all: u128 = self.cpus.iter().map(share).sum();
        (all / 1000).checked_div(self.cpus.len() as u128).unwrap_or(0) as u64
    }

    /// The mean frequency of all CPUs while in C0, kHz (turbostat's `Bzy_MHz` × 1000).
    pub fn busy_khz(&self) -> u64 {
        let base = |cpu: &CpuStats| u128::from(self.kinds[cpu.kind as usize].base_khz);
        let aperf: u128 = self.cpus.iter().map(|cpu| u128::from(cpu.aperf)).sum();
        // Time in C0, in cycles of 1 kHz.
        let c0: u128 = self.cpus.iter().map(|cpu| u128::from(cpu.mperf) * 1_000_000 / base(cpu).max(1)).sum();
        (aperf * 1_000_000).checked_div(c0).unwrap_or(0) as u64
    }

    /// Idle wake-ups of all CPUs.
    pub fn idle_wakeups(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.idle_wakeups).sum()
    }

    /// Interrupts of all CPUs (turbostat's `IRQ`).
    pub fn interrupts(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.interrupts).sum()
    }

    /// Time of the CPUs of a kind in each of its states, ns.
    pub fn residency_ns(&self, kind: u32) -> Vec<u64> {
        let states = &self.kinds[kind as usize];
        let mut sums = vec![0; states.opps_khz.len() + states.idle.len()];
        for cpu in self.cpus.iter().filter(|cpu| cpu.kind == kind) {
            sums.iter_mut().zip(&cpu.residency_ns).for_each(|(sum, ns)| *sum += ns);
        }
        sums
    }
}
