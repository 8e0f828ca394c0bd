//! What a page shows of a source over time, built in the same pass as the statistics.

use crate::recordings::over_time::{OverTime, OverTimeBuilder};
use crate::recordings::time_ordered::SourceEvent;
use crate::recordings::wakeups::WakeupWithReason;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wakelab_events::stream::{RunDescription, SdShared};
use wakelab_sched::select::Reason;

/// Builds the charts of a source.
#[derive(Clone, Debug)]
pub(super) struct ChartsBuilder {
    over_time: Option<OverTimeBuilder>,
    llcs: Option<Vec<u32>>,
    simulated: bool,
    last_ns: u64,
    wakeups: u64,
    /// The longest wait: its length, the start of the decision, the wakee, and how many files were left.
    slowest: Option<(u64, u64, i64, usize)>,
    pub(super) examples: ExampleFinder,
}

/// The charts of a source.
#[derive(Clone, Debug)]
pub struct Charts {
    /// The source over time.
    pub over_time: OverTime,
    /// The wake-up after which the wakee waited longest.
    pub slowest: Option<SlowWakeup>,
    /// The source.
    pub source: PathBuf,
}

/// A wake-up with a long wait.
#[derive(Clone, Debug)]
pub struct SlowWakeup {
    /// The file with the decision.
    pub file: PathBuf,
    /// The start of the decision, ns.
    pub t_ns: u64,
    /// The wakee.
    pub pid: i64,
    /// How long the wakee waited, ns.
    pub wait_ns: u64,
}

impl ChartsBuilder {
    pub(super) fn new(about: &RunDescription) -> Self {
        let simulated = !about.recorded;
        ChartsBuilder {
            over_time: None,
            llcs: about.llcs.clone(),
            simulated,
            last_ns: 0,
            wakeups: 0,
            slowest: None,
            examples: ExampleFinder::default(),
        }
    }

    /// Adds an event. `measured` returns whether a wake-up is in the measured time.
    pub(super) fn item(&mut self, at_ns: u64, item: &SourceEvent, measured: impl Fn(&WakeupWithReason) -> bool) {
        // The first wake-up may have begun before its event.
        let start = || match item {
            _ if self.simulated => 0,
            SourceEvent::Wake(found) => found.wake.t_ns.min(at_ns),
            _ => at_ns,
        };
        let start = start();
        let over_time =
            self.over_time.get_or_insert_with(|| OverTimeBuilder::new(start, self.llcs.clone(), Vec::new()));
        self.last_ns = self.last_ns.max(at_ns);
        match item {
            SourceEvent::Wake(found) => {
                self.wakeups += 1;
                if self.wakeups <= SEARCHED_FOR_EXAMPLES {
                    self.examples.wake(found);
                }
                let wake = &found.wake;
                over_time.searched(wake.waker_cpu, wake.t_ns, wake.decided_ns);
                if let (Some(prev), true) = (wake.prev_cpu, measured(found)) {
                    over_time.woken(prev, wake.dest_cpu, found.llcs.as_deref());
                }
            }
            // Tasks of a simulation are numbered from 0, which here is the idle task.
            SourceEvent::Switch(switch) => {
                over_time.switch(at_ns, switch.cpu, if switch.idles { 0 } else { switch.next_pid + 1 })
            }
            SourceEvent::Moved(moved) if self.simulated => over_time.taken(at_ns, moved.from_cpu, moved.pid + 1),
            SourceEvent::Moved(_) => {}
            SourceEvent::Idle(of) => over_time.idle_state(at_ns, of.cpu, of.value),
            SourceEvent::Frequency(of) => over_time.frequency(at_ns, of.cpu, of.value.unwrap_or(0)),
            SourceEvent::Hint(llc, SdShared::NrIdleScan(nr, sum_util, weight)) => {
                over_time.cache(at_ns, *llc, u64::try_from(*sum_util).unwrap_or(0), *weight, *nr);
            }
            SourceEvent::Power(spent) => over_time.power(at_ns, spent.package, spent.uw),
            SourceEvent::Hint(..) | SourceEvent::Scx(_) | SourceEvent::Name(_) => {}
        }
    }

    pub(super) fn waited(&mut self, wait_ns: u64, t_ns: u64, pid: i64, files_left: usize) {
        // It is explained later, which reads the file up to it again.
        if self.wakeups <= SEARCHED_FOR_EXAMPLES && self.slowest.is_none_or(|(longest, ..)| wait_ns > longest) {
            self.slowest = Some((wait_ns, t_ns, pid, files_left));
        }
    }

    /// Returns the charts; `files` are the files with decisions.
    pub(super) fn finish(self, source: &Path, files: &[PathBuf]) -> Option<Charts> {
        let cpus = self.llcs.as_ref().map_or(0, Vec::len);
        let slowest = self.slowest.and_then(|(wait_ns, t_ns, pid, left)| {
            let file = files.get(files.len().checked_sub(1 + left)?)?.clone();
            Some(SlowWakeup { file, t_ns, pid, wait_ns })
        });
        let over_time = self.over_time?.finish(cpus, self.last_ns);
        Some(Charts { over_time, slowest, source: source.to_owned() })
    }
}

/// The number of wake-ups of each source among which examples are searched, because an explanation reads the file up to
/// its row again.
pub const SEARCHED_FOR_EXAMPLES: u64 = 200_000;

/// The number of examples for each reason. At least one of them is almost always stable, which explains best.
const OF_A_REASON: usize = 64;

/// A wake-up whose decision may be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The file with the decision.
    pub file: PathBuf,
    /// The start of the decision, ns.
    pub t_ns: u64,
    /// The wakee.
    pub pid: i64,
}

/// The first wake-ups with each reason.
pub type Examples = BTreeMap<Reason, Vec<Example>>;

/// Finds the examples of one source.
#[derive(Clone, Debug, Default)]
pub(super) struct ExampleFinder {
    /// By reason: the time, the wakee, and how many files were left then.
    found: BTreeMap<Reason, Vec<(u64, i64, usize)>>,
}

impl ExampleFinder {
    pub(super) fn wake(&mut self, found: &WakeupWithReason) {
        if let Some((reason, _)) = found.decision {
            let of_reason = self.found.entry(reason).or_default();
            if of_reason.len() < OF_A_REASON {
                of_reason.push((found.wake.t_ns, found.wake.wakee_pid, found.place.0));
            }
        }
    }

    /// Returns the examples; `files` are the files of the source with decisions.
    pub(super) fn finish(self, files: &[PathBuf]) -> Examples {
        let example = |(t_ns, pid, left): (u64, i64, usize)| {
            let file = files.get(files.len().checked_sub(1 + left)?)?.clone();
            Some(Example { file, t_ns, pid })
        };
        let of_reason = |(reason, all): (Reason, Vec<_>)| (reason, all.into_iter().filter_map(example).collect());
        self.found.into_iter().map(of_reason).collect()
    }
}

/// Adds the examples of another source, as far as there is room.
pub(super) fn merge_examples(to: &mut Examples, other: &Examples) {
    for (&reason, more) in other {
        let of_reason = to.entry(reason).or_default();
        let room = OF_A_REASON.saturating_sub(of_reason.len());
        of_reason.extend(more.iter().take(room).cloned());
    }
}
