//! Why tasks waited: what ran on their CPUs meanwhile, and which CPUs were idle. One pass, in bounded memory.

mod causes;
mod history;
mod idle;
#[cfg(test)]
mod tests;
mod tracker;

pub use causes::{
    Began, ByCause, Cause, LongWait, MOST_MOVES, Move, Named, Part, Parts, RanMeanwhile, Spent, Sum, Sums,
};
pub use history::Ran;
pub use idle::IdleMeanwhile;

use crate::recordings::progress::{FileOutcome, Progress, ROWS_PER_REPORT};
use crate::recordings::scx_waits::ScxWaits;
use crate::recordings::sources::{about, has_waits};
use crate::recordings::stats::Run;
use crate::recordings::stats::waits::{WaitListener, Waiting, match_waits};
use crate::recordings::threads::on_threads;
use crate::recordings::time_ordered::SourceEvent;
use crate::recordings::wakeups::{WakeupStream, WakeupWithReason};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tracker::{Begins, Ended, Tracker};
use wakelab_events::ReadError;
use wakelab_events::stream::{
    ImportCounts, RecorderCounts, RunDescription, Source, Switch, Switches, Tables, TaskLife, TaskLives,
};
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// The selection of waits to explain.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Waits of this length and longer have causes, ns.
    pub over_ns: u64,
    /// The number of longest waits that are kept whole.
    pub slowest: usize,
}

/// A wait of a source.
#[derive(Clone, Debug)]
pub struct SlowWait {
    /// The file or folder.
    pub source: PathBuf,
    /// The wait.
    pub wait: LongWait,
}

/// The waits of recordings or runs of one kind.
#[derive(Clone, Debug)]
pub struct RunWaits {
    /// The number of recordings, or of repeats.
    pub runs: u64,
    /// All waits.
    pub sums: Sums,
    /// The longest, the longest first.
    pub slowest: Vec<SlowWait>,
    /// The wake-ups after which the wakee was not seen to run.
    pub unseen: u64,
    /// The first and the last time, ns.
    pub span: Option<(u64, u64)>,
    /// Whether LLCs are known of all.
    pub knows_llcs: bool,
    /// Whether reasons are known of some choices.
    pub knows_reasons: bool,
    /// The long waits of tasks whose affinity is not known.
    pub unknown_affinity: u64,
    /// The parts of the history of CPUs that had no room.
    pub dropped: u64,
    /// The events that the recorder lost.
    pub lost: u64,
}

/// The waits by kind of run.
pub type RunsWaits = BTreeMap<Run, RunWaits>;

/// Finds why tasks waited in `sources`. A source that cannot be read to its end is counted up to there.
pub fn waits(sources: &[Source], options: Options, progress: &dyn Progress) -> (RunsWaits, Vec<FileOutcome<()>>) {
    let each = || sources.par_iter().map(|source| of_source(source, options, progress)).collect();
    let found: Vec<_> = on_threads(each);
    let (mut all, mut outcomes) = (RunsWaits::new(), Vec::new());
    for (source, (found, error)) in sources.iter().zip(found) {
        if let Some((run, waits)) = found {
            match all.get_mut(&run) {
                Some(sum) => sum.merge(waits, options.slowest),
                None => _ = all.insert(run, waits),
            }
        }
        outcomes.push(FileOutcome { path: source.path().to_owned(), value: (), error });
    }
    (all, outcomes)
}

fn of_source(
    source: &Source,
    options: Options,
    progress: &dyn Progress,
) -> (Option<(Run, RunWaits)>, Option<ReadError>) {
    let about = match about(source) {
        Ok(about) => about,
        Err(error) => return (None, Some(error)),
    };
    if !has_waits(source) {
        let error = ReadError::of_file(source.path(), "expected context switches, found none: no wait is known");
        let hint = match source {
            Source::Csv(_) => {
                "recordings in CSV have none; record with wakelab-record, which writes switches-*.parquet"
            }
            Source::Recorded(_) => "name the folder of a recording that has switches-*.parquet",
            Source::Simulated(_) => "name the whole folder that --events wrote",
        };
        return (None, Some(error.with_hint(hint)));
    }
    let run = Run::of(&about);
    let stream = WakeupStream::of(source, &about);
    let scx = match source {
        Source::Simulated(folder) => ScxWaits::of(folder),
        Source::Csv(_) | Source::Recorded(_) => None,
    };
    let begins = match source {
        Source::Recorded(tables) => begins(tables),
        Source::Csv(_) | Source::Simulated(_) => Ok(Begins::default()),
    };
    let begins = match begins {
        Ok(begins) => begins,
        Err(error) => return (None, Some(error)),
    };
    let mut finding = Finding::new(about, Affinities::of(source), scx, options, progress);
    finding.tracker = finding.tracker.with_begins(begins);
    let result = match_waits(source, stream, progress, &mut finding);
    progress.rows(finding.since);
    source.wakeups().iter().for_each(|file| progress.file(file));
    let failed = finding.failed.take();
    let mut found = finding.finish(source);
    let mut error = None;
    match result {
        Ok(ends) => found.unseen = ends.unseen,
        Err(e) => error = Some(e),
    }
    if let Source::Recorded(tables) = source {
        match (RecorderCounts::of(tables), ImportCounts::of(tables)) {
            (Ok(counts), Ok(imported)) => {
                found.lost = counts.map_or(0, |counts| counts.lost + counts.events_lost);
                found.lost += imported.map_or(0, |imported| imported.lost);
            }
            (Err(e), _) | (_, Err(e)) => error = error.or(Some(e)),
        }
    }
    error = failed.or(error);
    if error.is_none() && found.is_empty() {
        error = Some(ReadError::of_file(source.path(), "expected wake-ups, found none").with_hint(
            "was the recorder stopped before its first row, the run no longer than --settle, or does the import have \
             no sched_waking?",
        ));
    }
    (Some((run, found)), error)
}

/// The first switches in which those of all CPUs are looked for.
const FIRST_SWITCHES: usize = 1 << 18;

/// What the CPUs of a recording did before their first switches.
fn begins(tables: &Tables) -> Result<Begins, ReadError> {
    let mut begins = Begins::default();
    let mut switches = Switches::new(tables.switches.clone());
    let mut first: FxHashMap<Cpu, u64> = FxHashMap::default();
    for _ in 0..FIRST_SWITCHES {
        // An error is told when the switch is reached.
        let Ok(Some(switch)) = switches.next_switch() else { break };
        // Rows of CPUs are nearly in order.
        let known = first.entry(switch.cpu).or_insert(u64::MAX);
        if switch.t_ns < *known {
            *known = switch.t_ns;
            begins.first_prev.insert(switch.cpu, switch.prev_pid);
        }
    }
    if let Some(imported) = ImportCounts::of(tables)? {
        begins.since_ns = imported.cpu_begins_ns.into_iter().collect();
    }
    Ok(begins)
}

impl RunWaits {
    /// Whether there was neither a wake-up nor a wait.
    pub fn is_empty(&self) -> bool {
        self.span.is_none() && self.sums.preemptions.latency().n == 0
    }

    fn merge(&mut self, other: RunWaits, most: usize) {
        self.runs += other.runs;
        self.sums.merge(&other.sums);
        self.slowest.extend(other.slowest);
        self.slowest.sort_by_key(|slow| (Reverse(slow.wait.wait_ns), slow.wait.t_ns, slow.wait.pid));
        self.slowest.truncate(most);
        self.unseen += other.unseen;
        self.span = match (self.span, other.span) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.knows_llcs &= other.knows_llcs;
        self.knows_reasons |= other.knows_reasons;
        self.unknown_affinity += other.unknown_affinity;
        self.dropped += other.dropped;
        self.lost += other.lost;
    }
}

/// The affinities of tasks of a simulated run, as far as it has come.
struct Affinities {
    lives: TaskLives,
    next: Option<TaskLife>,
    of: FxHashMap<i64, Arc<CpuMask>>,
}

impl Affinities {
    /// `None` where the wake-ups have them, or nobody.
    fn of(source: &Source) -> Option<Self> {
        let Source::Simulated(folder) = source else { return None };
        Some(Affinities { lives: TaskLives::simulated(folder), next: None, of: FxHashMap::default() })
    }

    /// Those up to this time, ns. The mask of a task that exits is dropped at a later time, as its last wake-up may be
    /// at this one.
    fn advance_to(&mut self, time: u64, nr_cpus: u32) -> Result<(), ReadError> {
        loop {
            if self.next.is_none() {
                self.next = self.lives.next_life()?;
            }
            let due = |life: &mut TaskLife| life.t_ns < time || (life.t_ns == time && life.begins.is_some());
            let Some(life) = self.next.take_if(due) else { return Ok(()) };
            match life.begins.map(|begins| begins.attributes.affinity) {
                Some(Some(cpus)) => {
                    let mask = CpuMask::from_cpus(nr_cpus, cpus.into_iter().filter(|&cpu| cpu < nr_cpus));
                    // Tasks have few different ones.
                    let same = self.of.values().next().filter(|known| ***known == mask).cloned();
                    self.of.insert(life.pid, same.unwrap_or_else(|| Arc::new(mask)));
                }
                _ => _ = self.of.remove(&life.pid),
            }
        }
    }
}

/// A wait in the order of their lengths.
type Order = (u64, Reverse<u64>, Reverse<i64>);

struct Finding<'a> {
    tracker: Tracker,
    about: RunDescription,
    options: Options,
    affinities: Option<Affinities>,
    /// Of a run under a scheduler of sched_ext.
    scx: Option<ScxWaits>,
    sums: Sums,
    slowest: BTreeMap<Order, LongWait>,
    /// The wait after a wake-up that the last switch ended.
    ended: Option<Ended>,
    span: Option<(u64, u64)>,
    knows_reasons: bool,
    unknown_affinity: u64,
    failed: Option<ReadError>,
    progress: &'a dyn Progress,
    since: u64,
}

impl<'a> Finding<'a> {
    fn new(
        about: RunDescription,
        affinities: Option<Affinities>,
        scx: Option<ScxWaits>,
        options: Options,
        progress: &'a dyn Progress,
    ) -> Self {
        Finding {
            tracker: Tracker::new(about.llcs.clone(), !about.recorded, scx.is_some(), options.over_ns),
            about,
            options,
            affinities,
            scx,
            sums: Sums::default(),
            slowest: BTreeMap::new(),
            ended: None,
            span: None,
            knows_reasons: false,
            unknown_affinity: 0,
            failed: None,
            progress,
            since: 0,
        }
    }

    /// Whether a time is in the measured time of a simulation; true for recordings.
    fn measured(&self, time: u64) -> bool {
        self.about.measured.is_none_or(|(from, to)| (from..to).contains(&time))
    }

    fn add(&mut self, ended: Ended) {
        let all = if ended.woken { &mut self.sums.wakeups } else { &mut self.sums.preemptions };
        all.record(ended.wait_ns);
        let Some((wait, behind)) = ended.long else { return };
        self.sums.add(&wait, &behind);
        self.unknown_affinity += u64::from(wait.allowed.is_none());
        self.slowest.insert((wait.wait_ns, Reverse(wait.t_ns), Reverse(wait.pid)), *wait);
        if self.slowest.len() > self.options.slowest {
            self.slowest.pop_first();
        }
    }

    /// Adds a wait that began by a preemption.
    fn preempted(&mut self, ended: Ended) {
        if self.measured(ended.t_ns) {
            self.add(ended);
        }
    }

    /// Gives a wait that a switch ends what its scheduler of sched_ext did with it.
    fn add_steps(&mut self, at_ns: u64, switch: &Switch, ended: Option<&mut Ended>) {
        let Some(scx) = &mut self.scx else { return };
        if let Err(error) = scx.advance_to(at_ns) {
            // Waits go on without steps, and the error is told.
            (self.scx, self.failed) = (None, Some(error));
            return;
        }
        let steps = if switch.idles { None } else { scx.take(switch.next_pid) };
        if let Some((steps, (wait, _))) = steps.zip(ended.and_then(|ended| ended.long.as_mut())) {
            wait.add_steps(steps, |pid| self.tracker.named(pid).comm);
        }
    }

    fn finish(self, source: &Source) -> RunWaits {
        let slow = |wait| SlowWait { source: source.path().to_owned(), wait };
        RunWaits {
            runs: 1,
            sums: self.sums,
            slowest: self.slowest.into_values().rev().map(slow).collect(),
            unseen: 0,
            span: self.span,
            knows_llcs: self.tracker.knows_llcs(),
            knows_reasons: self.knows_reasons,
            unknown_affinity: self.unknown_affinity,
            dropped: self.tracker.dropped(),
            lost: 0,
        }
    }
}

impl WaitListener for Finding<'_> {
    fn wake(&mut self, found: &WakeupWithReason) -> bool {
        self.since += 1;
        if self.since == ROWS_PER_REPORT {
            self.progress.rows(std::mem::take(&mut self.since));
        }
        let wake = &found.wake;
        let nr_cpus = self.about.llcs.as_ref().map_or(0, Vec::len) as u32;
        if let Some(affinities) = &mut self.affinities
            && let Err(error) = affinities.advance_to(wake.decided_ns, nr_cpus)
        {
            // Waits go on without affinities, and the error is told.
            (self.affinities, self.failed) = (None, Some(error));
        }
        let of_run = self.affinities.as_ref().and_then(|affinities| affinities.of.get(&wake.wakee_pid));
        self.tracker.wake(wake.decided_ns, found, of_run.or(found.affinity.as_ref()));
        self.knows_reasons |= found.decision.is_some();
        let measured = self.measured(wake.decided_ns);
        if measured {
            let (first, last) = self.span.unwrap_or((wake.t_ns, wake.t_ns));
            self.span = Some((first.min(wake.t_ns), last.max(wake.t_ns)));
        }
        measured
    }

    fn ran(&mut self, waiting: &Waiting, ns: u64) {
        if !self.measured(waiting.t_ns) {
            return;
        }
        match self.ended.take().filter(|ended| ended.woken && ended.wait_ns == ns) {
            Some(ended) => self.add(ended),
            None => self.sums.wakeups.record(ns),
        }
    }

    fn balanced(&mut self, _: u64) {}

    fn item(&mut self, at_ns: u64, item: &SourceEvent) {
        match item {
            SourceEvent::Moved(moved) => self.tracker.moved(at_ns, moved),
            SourceEvent::Switch(switch) => {
                let mut ended = self.tracker.switch(at_ns, switch);
                self.add_steps(at_ns, switch, ended.as_mut());
                match ended {
                    Some(ended) if !ended.woken => self.preempted(ended),
                    ended => self.ended = ended,
                }
            }
            SourceEvent::Idle(of) => self.tracker.idle_state(at_ns, of),
            SourceEvent::Name(named) => self.tracker.name(named.pid, &named.comm),
            SourceEvent::Wake(_)
            | SourceEvent::Frequency(_)
            | SourceEvent::Power(_)
            | SourceEvent::Hint(..)
            | SourceEvent::Scx(_) => {}
        }
    }

    fn wants_states(&self) -> bool {
        true
    }
}
