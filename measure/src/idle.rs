//! How long CPUs were idle.

use std::ops::Range;
use wakelab_sched::cpumask::Cpu;

/// Idle time of all CPUs within a window, from their switches.
#[derive(Clone, Debug)]
pub struct IdleTime {
    window: Range<u64>,
    /// By CPU: since when it is idle, ns; `None` while it runs a task.
    since: Vec<Option<u64>>,
    /// What is over, ns.
    total: u64,
}

impl IdleTime {
    /// Within `window`, ns, of a run that begins with all CPUs idle.
    pub fn new(window: Range<u64>, nr_cpus: u32) -> Self {
        IdleTime { window, since: vec![Some(0); nr_cpus as usize], total: 0 }
    }

    /// A CPU has switched between tasks or idle.
    #[inline]
    pub fn switch(&mut self, time: u64, cpu: Cpu, from_idle: bool, to_idle: bool) {
        if from_idle == to_idle {
            return;
        }
        let since = std::mem::replace(&mut self.since[cpu as usize], to_idle.then_some(time));
        self.total += self.within(since, time);
    }

    /// All of it up to `end`, when the run was over, ns.
    pub fn until(&self, end: u64) -> u64 {
        self.total + self.since.iter().map(|&since| self.within(since, end)).sum::<u64>()
    }

    #[inline]
    fn within(&self, since: Option<u64>, until: u64) -> u64 {
        since.map_or(0, |since| until.min(self.window.end).saturating_sub(since.max(self.window.start)))
    }
}
