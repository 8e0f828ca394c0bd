//! What a page shows of a source over time, drawn in the pass that counts it.

use super::examples::{Finding, LOOKED_AT};
use super::wakes::Found;
use crate::lanes::Item;
use crate::picture::{OverTime, Painter};
use std::path::{Path, PathBuf};
use wakelab_events::stream::{Hint, RunAbout};

/// What is drawn beside the counting.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    painter: Option<Painter>,
    llcs: Option<Vec<u32>>,
    simulated: bool,
    last_ns: u64,
    wakeups: u64,
    /// The longest wait: how long, when the choice began, the wakee, and how many files were left.
    slowest: Option<(u64, u64, i64, usize)>,
    pub(super) examples: Finding,
}

/// What was drawn of a source.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Over time.
    pub over_time: OverTime,
    /// The wake-up after which the wakee waited longest.
    pub slowest: Option<SlowWakeup>,
    /// Where it came from.
    pub source: PathBuf,
}

/// A wake-up with a long wait.
#[derive(Clone, Debug)]
pub struct SlowWakeup {
    /// The file with the decision.
    pub file: PathBuf,
    /// When the choice began, ns.
    pub t_ns: u64,
    /// Who was woken.
    pub pid: i64,
    /// How long it waited, ns.
    pub wait_ns: u64,
}

impl Drawing {
    pub(super) fn new(about: &RunAbout) -> Self {
        let simulated = !about.recorded;
        Drawing {
            painter: None,
            llcs: about.llcs.clone(),
            simulated,
            last_ns: 0,
            wakeups: 0,
            slowest: None,
            examples: Finding::default(),
        }
    }

    /// `measured` says whether a wake-up counts.
    pub(super) fn item(&mut self, at_ns: u64, item: &Item, measured: impl Fn(&Found) -> bool) {
        // The first wake-up may have begun before it is told.
        let start = || match item {
            _ if self.simulated => 0,
            Item::Wake(found) => found.wake.t_ns.min(at_ns),
            _ => at_ns,
        };
        let start = start();
        let painter = self.painter.get_or_insert_with(|| Painter::new(start, self.llcs.clone(), Vec::new()));
        self.last_ns = self.last_ns.max(at_ns);
        match item {
            Item::Wake(found) => {
                self.wakeups += 1;
                if self.wakeups <= LOOKED_AT {
                    self.examples.wake(found);
                }
                let wake = &found.wake;
                painter.searched(wake.waker_cpu, wake.t_ns, wake.decided_ns);
                if let (Some(prev), true) = (wake.prev_cpu, measured(found)) {
                    painter.woken(prev, wake.dest_cpu, found.llcs.as_deref());
                }
            }
            // Tasks of a simulation count from 0, which here is the idle task.
            Item::Switch(switch) => {
                painter.switch(at_ns, switch.cpu, if switch.idles { 0 } else { switch.next_pid + 1 })
            }
            Item::Moved(moved) if self.simulated => painter.taken(at_ns, moved.from_cpu, moved.pid + 1),
            Item::Moved(_) => {}
            Item::Idle(of) => painter.idle_state(at_ns, of.cpu, of.value),
            Item::Frequency(of) => painter.frequency(at_ns, of.cpu, of.value.unwrap_or(0)),
            Item::Hint(llc, Hint::NrIdleScan(nr, sum_util, weight)) => {
                painter.cache(at_ns, *llc, u64::try_from(*sum_util).unwrap_or(0), *weight, *nr);
            }
            Item::Power(spent) => painter.power(at_ns, spent.package, spent.uw),
            Item::Hint(..) => {}
        }
    }

    pub(super) fn waited(&mut self, wait_ns: u64, t_ns: u64, pid: i64, files_left: usize) {
        // It is explained afterwards, which takes reading up to it again.
        if self.wakeups <= LOOKED_AT && self.slowest.is_none_or(|(longest, ..)| wait_ns > longest) {
            self.slowest = Some((wait_ns, t_ns, pid, files_left));
        }
    }

    /// `files` are those with decisions.
    pub(super) fn finish(self, source: &Path, files: &[PathBuf]) -> Option<Drawn> {
        let cpus = self.llcs.as_ref().map_or(0, Vec::len);
        let slowest = self.slowest.and_then(|(wait_ns, t_ns, pid, left)| {
            let file = files.get(files.len().checked_sub(1 + left)?)?.clone();
            Some(SlowWakeup { file, t_ns, pid, wait_ns })
        });
        let over_time = self.painter?.finish(cpus, self.last_ns);
        Some(Drawn { over_time, slowest, source: source.to_owned() })
    }
}
