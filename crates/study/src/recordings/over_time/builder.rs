//! Sums up what happens over time: what each CPU did, its frequency and idle state, the power of packages, the state of
//! LLCs, and the LLCs between which wakees moved.

use super::time_bins::Bins;
use super::time_bins::{Extremes, TimeMean};
use super::{CacheAt, CpuState, OverTime, StateOverTime};
use std::collections::BTreeMap;
use wakelab_page::{Doing, HeatBuilder};
use wakelab_sched::cpumask::Cpu;

/// The number of bins of values over time.
const BINS: usize = 256;
/// The number of bins of each LLC if there are more than [`FEW_CACHES`].
const BINS_OF_MANY: usize = 64;
/// The number of LLCs that have all bins.
const FEW_CACHES: usize = 8;
/// The number of LLCs that are shown.
pub(super) const MOST_CACHES: usize = 64;

/// What a CPU does now.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    /// The task that runs; 0 is the idle task.
    pid: i64,
    /// Since when the CPU does what it does, ns.
    since: u64,
    /// The end of what is in the heat map, ns. The time of a search is taken out of the run of a task.
    painted: u64,
    khz: Option<u32>,
    idle_state: Option<u32>,
}

/// Receives events in the order of time and builds an [`OverTime`].
#[derive(Clone, Debug)]
pub(crate) struct OverTimeBuilder {
    start_ns: u64,
    heat: HeatBuilder,
    now: Vec<Now>,
    /// Whether there were switches, so that it is known when tasks ran.
    switches: bool,
    /// By CPU: the number of its LLC, if it is known.
    llcs: Option<Vec<u32>>,
    /// By CPU: its package.
    packages: Vec<u32>,
    caches: BTreeMap<Cpu, Bins<Extremes>>,
    /// By package, kHz.
    frequency: BTreeMap<u32, Bins<TimeMean>>,
    /// By package: the start of its current power, ns, that power, µW, and its power before.
    power: BTreeMap<u32, (u64, u64, Bins<TimeMean>)>,
    /// By state, `None` for none.
    idle: BTreeMap<Option<u32>, Bins<u64>>,
    running: Bins<u64>,
    moved: BTreeMap<(u32, u32), u64>,
}

impl OverTimeBuilder {
    /// Starts at `start_ns`, for a machine with these LLCs and packages by CPU, as far as they are known.
    pub(crate) fn new(start_ns: u64, llcs: Option<Vec<u32>>, packages: Vec<u32>) -> Self {
        OverTimeBuilder {
            start_ns,
            heat: HeatBuilder::new(start_ns),
            now: Vec::new(),
            switches: false,
            llcs,
            packages,
            caches: BTreeMap::new(),
            frequency: BTreeMap::new(),
            power: BTreeMap::new(),
            idle: BTreeMap::new(),
            running: Bins::new(start_ns, BINS),
            moved: BTreeMap::new(),
        }
    }

    fn now(&mut self, cpu: Cpu) -> &mut Now {
        let cpu = cpu as usize;
        if self.now.len() <= cpu {
            let begins = Now { since: self.start_ns, painted: self.start_ns, ..Now::default() };
            self.now.resize(cpu + 1, begins);
        }
        &mut self.now[cpu]
    }

    /// Accounts for what a CPU did until now.
    fn close(&mut self, t_ns: u64, cpu: Cpu) {
        let now = *self.now(cpu);
        if now.pid != 0 {
            self.heat.add(cpu as usize, now.painted, t_ns, Doing::Running);
            self.running.spread(now.since, t_ns, |sum, ns| *sum = sum.saturating_add(ns));
            if let Some(khz) = now.khz {
                let package = self.packages.get(cpu as usize).copied().unwrap_or(0);
                let bins = self.frequency.entry(package).or_insert_with(|| Bins::new(self.start_ns, BINS));
                bins.spread(now.since, t_ns, |mean, ns| mean.take(khz.into(), ns));
            }
        } else {
            let bins = self.idle.entry(now.idle_state).or_insert_with(|| Bins::new(self.start_ns, BINS));
            bins.spread(now.since, t_ns, |sum, ns| *sum = sum.saturating_add(ns));
        }
        let now = self.now(cpu);
        (now.since, now.painted) = (t_ns, t_ns.max(now.painted));
    }

    /// A CPU switched to a task, or to 0, the idle task.
    pub(crate) fn switch(&mut self, t_ns: u64, cpu: Cpu, next: i64) {
        self.switches = true;
        self.close(t_ns, cpu);
        let now = self.now(cpu);
        now.pid = next;
        now.idle_state = None;
    }

    /// Load balancing took a task from a CPU, which no longer runs it.
    pub(crate) fn taken(&mut self, t_ns: u64, cpu: Cpu, pid: i64) {
        if pid != 0 && self.now(cpu).pid == pid {
            self.switch(t_ns, cpu, 0);
        }
    }

    /// A CPU searched a CPU for a wakee.
    pub(crate) fn searched(&mut self, cpu: Cpu, from_ns: u64, to_ns: u64) {
        let now = self.now(cpu);
        let (pid, painted) = (now.pid, now.painted);
        let from = from_ns.max(painted);
        if to_ns <= from {
            return;
        }
        now.painted = to_ns;
        if pid != 0 {
            self.heat.add(cpu as usize, painted, from, Doing::Running);
        }
        self.heat.add(cpu as usize, from, to_ns, Doing::Searching);
    }

    /// A wakee went from one CPU to another. `llcs` are the LLCs by CPU, if they differ from those at the start.
    pub(crate) fn woken(&mut self, prev: Cpu, dest: Cpu, llcs: Option<&Vec<u32>>) {
        let llcs = llcs.or(self.llcs.as_ref());
        let of = |cpu: Cpu| llcs.and_then(|llcs| llcs.get(cpu as usize)).copied();
        if let (Some(from), Some(to)) = (of(prev), of(dest)) {
            *self.moved.entry((from, to)).or_default() += 1;
        }
    }

    /// The frequency of a CPU changed.
    pub(crate) fn frequency(&mut self, t_ns: u64, cpu: Cpu, khz: u32) {
        self.close(t_ns, cpu);
        self.now(cpu).khz = Some(khz);
    }

    /// The idle state of an idle CPU changed.
    pub(crate) fn idle_state(&mut self, t_ns: u64, cpu: Cpu, state: Option<u32>) {
        self.close(t_ns, cpu);
        self.now(cpu).idle_state = state;
    }

    /// A package has this mean power, µW, from `since_ns` until the next call.
    pub(crate) fn power(&mut self, since_ns: u64, package: u32, uw: u64) {
        let new = || (since_ns, uw, Bins::new(self.start_ns, BINS));
        let (since, spent, bins) = self.power.entry(package).or_insert_with(new);
        bins.spread(*since, since_ns, |mean, ns| mean.take(*spent, ns));
        (*since, *spent) = (since_ns, uw);
    }

    /// Periodic balancing summed up the utilisation of an LLC.
    pub(crate) fn cache(&mut self, t_ns: u64, llc: Cpu, sum_util: u64, weight: u32, nr_idle_scan: Option<i32>) {
        let many = self.llcs.as_ref().is_some_and(|llcs| different(llcs) > FEW_CACHES);
        if self.caches.len() >= MOST_CACHES && !self.caches.contains_key(&llc) {
            return;
        }
        let bins = || Bins::new(self.start_ns, if many { BINS_OF_MANY } else { BINS });
        let util_pct = 100.0 * sum_util as f64 / (1024.0 * f64::from(weight.max(1)));
        let nr_idle_scan = nr_idle_scan.map(|nr| nr.max(0) as u32);
        self.caches.entry(llc).or_insert_with(bins).at(t_ns).take(CacheAt { t_ns, util_pct, nr_idle_scan });
    }

    /// Returns the result at `end_ns`. `cpus` is the number of CPUs, 0 if it is not known.
    pub(crate) fn finish(mut self, cpus: usize, end_ns: u64) -> OverTime {
        let cpus = cpus.max(self.now.len());
        if self.switches && cpus > 0 {
            self.now(cpus as Cpu - 1);
            (0..cpus as Cpu).for_each(|cpu| self.close(end_ns, cpu));
        }
        let told: Vec<(u32, u64)> = self.power.iter().map(|(&package, &(_, uw, _))| (package, uw)).collect();
        told.into_iter().for_each(|(package, uw)| self.power(end_ns, package, uw));
        let (idle, running) = (std::mem::take(&mut self.idle), self.running);
        let states = if idle.keys().any(Option::is_some) { shares(running, idle, end_ns) } else { Vec::new() };
        OverTime {
            start_ns: self.start_ns,
            end_ns,
            heat: (self.switches && cpus > 0).then(|| self.heat.finish("", cpus, end_ns)),
            caches: self.caches.into_iter().map(|(llc, bins)| (llc, Extremes::of_bins(bins))).collect(),
            frequency: self
                .frequency
                .into_iter()
                .map(|(package, bins)| (package, TimeMean::of_bins(bins, end_ns)))
                .collect(),
            power: self
                .power
                .into_iter()
                .map(|(package, (.., bins))| (package, TimeMean::of_bins(bins, end_ns)))
                .collect(),
            states,
            moved: self.moved,
            llcs: self.llcs.map_or_else(Vec::new, |mut llcs| {
                llcs.sort_unstable();
                llcs.dedup();
                llcs
            }),
        }
    }
}

/// Returns the shares of the time of all CPUs, %.
fn shares(running: Bins<u64>, idle: BTreeMap<Option<u32>, Bins<u64>>, end_ns: u64) -> Vec<StateOverTime> {
    let running = (CpuState::Running, running.finish(end_ns));
    let idle = idle.into_iter().map(|(state, bins)| (CpuState::Idle(state), bins.finish(end_ns)));
    let all: Vec<_> = std::iter::once(running).chain(idle).collect();
    let sum = |at: usize| all.iter().fold(0, |sum: u64, (_, bins)| sum.saturating_add(bins[at].1));
    let whole: Vec<u64> = (0..all[0].1.len()).map(sum).collect();
    let share = |(&(at, ns), &whole): (&(u64, u64), &u64)| (at, 100.0 * ns as f64 / whole.max(1) as f64);
    let of = |(state, bins): (CpuState, Vec<(u64, u64)>)| (state, bins.iter().zip(&whole).map(share).collect());
    all.into_iter().map(of).collect()
}

fn different(llcs: &[u32]) -> usize {
    llcs.iter().collect::<std::collections::BTreeSet<_>>().len()
}
