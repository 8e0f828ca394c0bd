//! How long some CPU of a set was idle, and how many at most, for any wait, without looking at each change again.

use std::sync::Arc;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// The most sets of allowed CPUs that are told apart.
const MOST_SETS: usize = 64;

/// A number of idle CPUs over time.
#[derive(Clone, Debug, Default)]
struct Level {
    idle: u32,
    since_ns: u64,
    /// The time during which it was above 0, up to `since_ns`.
    some_ns: u64,
    /// Values that were not reached again later, with the times at which they ended: they fall from front to back, so
    /// that there are no more of them than CPUs.
    peaks: Vec<(u32, u64)>,
}

impl Level {
    fn change(&mut self, now_ns: u64, idle: u32) {
        self.some_ns = self.some_until(now_ns);
        // A value between two changes at one moment was never there.
        if now_ns > self.since_ns {
            while self.peaks.last().is_some_and(|(peak, _)| *peak <= self.idle) {
                self.peaks.pop();
            }
            self.peaks.push((self.idle, now_ns));
            self.since_ns = now_ns;
        }
        self.idle = idle;
    }

    fn some_until(&self, now_ns: u64) -> u64 {
        self.some_ns + if self.idle > 0 { now_ns.saturating_sub(self.since_ns) } else { 0 }
    }

    /// The largest value of an interval that ends now.
    fn most_since(&self, from_ns: u64, now_ns: u64) -> u32 {
        let at = self.peaks.partition_point(|(_, end)| *end <= from_ns);
        let now = if self.since_ns < now_ns { self.idle } else { 0 };
        self.peaks.get(at).map_or(now, |(peak, _)| now.max(*peak))
    }
}

/// CPUs that some tasks may use: all, or those of an affinity.
#[derive(Clone, Debug, Default)]
struct CpuSet {
    allowed: Option<Arc<CpuMask>>,
    all: Level,
    llcs: Vec<Level>,
}

impl CpuSet {
    fn change(&mut self, now_ns: u64, cpu: Cpu, llc: Option<u32>, idle: bool) {
        if self.allowed.as_ref().is_some_and(|allowed| cpu >= allowed.room() || !allowed.test(cpu)) {
            return;
        }
        let next = |level: &Level| if idle { level.idle + 1 } else { level.idle.saturating_sub(1) };
        self.all.change(now_ns, next(&self.all));
        if let Some(llc) = llc {
            let llc = llc as usize;
            if llc >= self.llcs.len() {
                self.llcs.resize_with(llc + 1, Level::default);
            }
            let level = &mut self.llcs[llc];
            level.change(now_ns, next(level));
        }
    }
}

/// A moment at which a task begins to be queued on a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    ns: u64,
    set: usize,
    llc: Option<u32>,
    all_ns: u64,
    llc_ns: u64,
}

/// The idle CPUs while a task waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleMeanwhile {
    /// How long at least one CPU of the LLC was idle, ns.
    pub llc_ns: u64,
    /// The most CPUs of the LLC that were idle at a time.
    pub llc_most: u32,
    /// How long at least one CPU of the machine was idle, ns.
    pub all_ns: u64,
    /// The most CPUs of the machine that were idle at a time.
    pub all_most: u32,
}

impl IdleMeanwhile {
    /// Adds a later part of the same wait.
    pub(super) fn add(&mut self, part: IdleMeanwhile) {
        self.llc_ns += part.llc_ns;
        self.all_ns += part.all_ns;
        self.llc_most = self.llc_most.max(part.llc_most);
        self.all_most = self.all_most.max(part.all_most);
    }
}

/// The CPUs that are idle as `available_idle_cpu()` says it: the idle task runs, and nothing is queued or on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct IdleCpus {
    idle: Vec<bool>,
    llcs: Option<Arc<Vec<u32>>>,
    /// The first is all CPUs.
    sets: Vec<CpuSet>,
}

impl IdleCpus {
    /// No CPU is idle yet.
    pub(super) fn new(llcs: Option<Arc<Vec<u32>>>) -> Self {
        IdleCpus { idle: Vec::new(), llcs, sets: vec![CpuSet::default()] }
    }

    fn llc(&self, cpu: Cpu) -> Option<u32> {
        self.llcs.as_ref()?.get(cpu as usize).copied()
    }

    /// Whether LLCs are known.
    pub(super) fn knows_llcs(&self) -> bool {
        self.llcs.is_some()
    }

    /// The CPUs have other LLCs from now on, as CPUs went offline or online.
    pub(super) fn set_llcs(&mut self, now_ns: u64, llcs: &Arc<Vec<u32>>) {
        if self.llcs.as_ref().is_some_and(|known| Arc::ptr_eq(known, llcs)) {
            return;
        }
        if self.llcs.as_ref() == Some(llcs) {
            self.llcs = Some(Arc::clone(llcs));
            return;
        }
        let idle: Vec<Cpu> = (0..self.idle.len() as Cpu).filter(|&cpu| self.idle[cpu as usize]).collect();
        idle.iter().for_each(|&cpu| self.set(now_ns, cpu, false));
        self.llcs = Some(Arc::clone(llcs));
        idle.iter().for_each(|&cpu| self.set(now_ns, cpu, true));
    }

    /// A CPU becomes idle or is no longer.
    pub(super) fn set(&mut self, now_ns: u64, cpu: Cpu, idle: bool) {
        let at = cpu as usize;
        if at >= self.idle.len() {
            self.idle.resize(at + 1, false);
        }
        if std::mem::replace(&mut self.idle[at], idle) != idle {
            let llc = self.llc(cpu);
            self.sets.iter_mut().for_each(|set| set.change(now_ns, cpu, llc, idle));
        }
    }

    /// The number of the set of these CPUs; `None` if there are too many different ones.
    pub(super) fn set_of(&mut self, now_ns: u64, allowed: &Arc<CpuMask>) -> Option<usize> {
        if self.llcs.as_ref().is_some_and(|llcs| allowed.weight() as usize >= llcs.len()) {
            return Some(0);
        }
        let is = |set: &CpuSet| set.allowed.as_ref().is_some_and(|of| Arc::ptr_eq(of, allowed) || of == allowed);
        if let Some(at) = self.sets.iter().position(is) {
            return Some(at);
        }
        if self.sets.len() > MOST_SETS {
            return None;
        }
        let mut set = CpuSet { allowed: Some(Arc::clone(allowed)), ..CpuSet::default() };
        let idle = (0..self.idle.len() as Cpu).filter(|&cpu| self.idle[cpu as usize]);
        idle.for_each(|cpu| set.change(now_ns, cpu, self.llc(cpu), true));
        self.sets.push(set);
        Some(self.sets.len() - 1)
    }

    /// Begins to measure for a task that is queued on a CPU and may use those of a set.
    pub(super) fn begin(&self, now_ns: u64, cpu: Cpu, set: usize) -> Moment {
        let mut moment = Moment { ns: now_ns, set, llc: self.llc(cpu), ..Moment::default() };
        (moment.all_ns, moment.llc_ns) = self.sums(now_ns, &moment);
        moment
    }

    fn level(&self, moment: &Moment) -> Option<&Level> {
        self.sets[moment.set].llcs.get(moment.llc? as usize)
    }

    fn sums(&self, now_ns: u64, moment: &Moment) -> (u64, u64) {
        let all = self.sets[moment.set].all.some_until(now_ns);
        (all, self.level(moment).map_or(0, |level| level.some_until(now_ns)))
    }

    /// What was idle since a moment. The CPU of the task itself is not: it has the task queued.
    pub(super) fn since(&self, now_ns: u64, moment: &Moment) -> IdleMeanwhile {
        let (all, llc) = self.sums(now_ns, moment);
        IdleMeanwhile {
            llc_ns: llc.saturating_sub(moment.llc_ns),
            llc_most: self.level(moment).map_or(0, |level| level.most_since(moment.ns, now_ns)),
            all_ns: all.saturating_sub(moment.all_ns),
            all_most: self.sets[moment.set].all.most_since(moment.ns, now_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oorandom::Rand32;

    #[test]
    fn any_interval_has_the_time_and_the_most_that_counting_each_moment_gives() {
        let mut random = Rand32::new(7);
        for _ in 0..200 {
            let llcs: Vec<u32> = (0..8).map(|cpu| cpu / 4).collect();
            let allowed = Arc::new(CpuMask::from_cpus(8, (0..8).filter(|_| random.rand_range(0..2) == 0)));
            let mut cpus = IdleCpus::new(Some(Arc::new(llcs.clone())));
            // By moment: which CPUs are idle until the next.
            let mut states = vec![[false; 8]];
            let begins = random.rand_range(0..60) as u64;
            let (cpu, ends) = (random.rand_range(0..8), begins + 1 + random.rand_range(0..60) as u64);
            let (mut moments, mut found) = (None, None);
            for now in 0..=ends {
                let mut state = *states.last().expect("one");
                for _ in 0..random.rand_range(0..3) {
                    let (at, idle) = (random.rand_range(0..8), random.rand_range(0..3) > 0);
                    state[at as usize] = idle;
                    cpus.set(now, at, idle);
                }
                if now == begins {
                    let set = cpus.set_of(now, &allowed).expect("room");
                    moments = Some([cpus.begin(now, cpu, 0), cpus.begin(now, cpu, set)]);
                }
                if now == ends {
                    found = moments.map(|moments| moments.map(|moment| cpus.since(now, &moment)));
                }
                states.push(state);
            }
            let count = |now: u64, llc: bool, only: bool| {
                let state = states[now as usize + 1];
                let counts = |at: u32| {
                    let near = !llc || llcs[at as usize] == llcs[cpu as usize];
                    state[at as usize] && near && (!only || allowed.test(at))
                };
                (0..8).filter(|&at| counts(at)).count() as u32
            };
            for (only, found) in [false, true].into_iter().zip(found.expect("it ended")) {
                let some = |llc| (begins..ends).filter(|&now| count(now, llc, only) > 0).count() as u64;
                assert_eq!((found.llc_ns, found.all_ns), (some(true), some(false)));
                let most = |llc| (begins..ends).map(|now| count(now, llc, only)).max().expect("one");
                assert_eq!((found.llc_most, found.all_most), (most(true), most(false)));
            }
        }
    }
}
