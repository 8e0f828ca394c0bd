//! Statistics of recordings and simulated runs: reasons, searches, waits, migrations. One pass, in bounded memory.

mod charts;
pub(crate) mod explained_wakeups;
mod tally;
pub(crate) mod waits;

pub use charts::{Charts, Example, Examples, SEARCHED_FOR_EXAMPLES, SlowWakeup};
pub use explained_wakeups::{ExplainedWakeup, WhyExplained, explained_wakeups};
pub use tally::{Breakdown, By, Key, Tally};
pub use waits::{SlowRow, slowest};

use crate::recordings::progress::{FileOutcome, Progress};
use crate::recordings::sources::{about, has_waits};
use crate::recordings::threads::on_threads;
use crate::recordings::time_ordered::SourceEvent;
use crate::recordings::wakeups::{WakeupStream, WakeupWithReason};
use charts::ChartsBuilder;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tally::Counted;
use waits::{WaitListener, Waiting};
use wakelab_events::ReadError;
use wakelab_events::stream::{ImportCounts, RecorderCounts, RunDescription, Source};

/// Sources that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// `recorded` or `simulated`.
    pub kind: &'static str,
    /// The kernel; empty if it is not known.
    pub kernel: String,
    /// The machine.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// The switches, for a simulation with the side; empty for none.
    pub variant: String,
}

impl Run {
    /// What a source is counted as.
    pub(crate) fn of(about: &RunDescription) -> Self {
        Run {
            kind: if about.recorded { "recorded" } else { "simulated" },
            kernel: about.kernel.clone(),
            machine: about.machine.clone(),
            workload: about.workload.clone(),
            variant: about.variant.clone(),
        }
    }
}

/// The counts of recordings or runs of one kind.
#[derive(Clone, Debug)]
pub struct RunTally {
    /// The number of recordings, or of repeats.
    pub runs: u64,
    /// All wake-ups.
    pub all: Tally,
    /// The wake-ups whose decision could not be made again, so that their reason is not known.
    pub unscored: u64,
    /// Whether waits could be measured, because there are switches.
    pub has_waits: bool,
    /// The wake-ups after which the wakee was not seen to run.
    pub unseen: u64,
    /// The migrations that no wake-up made; `None` if wake-ups are missing whose migrations would be among them, or,
    /// but for imports, without switches.
    pub balanced: Option<u64>,
    /// The first and the last time, ns.
    pub span: Option<(u64, u64)>,
    /// The recorders' own counts, if they kept any.
    pub recorder: Option<RecorderCounts>,
    /// Counts of the imports' traces; `None` unless all are imports.
    pub imported: Option<ImportCounts>,
    /// Whether the reasons of choices and their searches are known, of some wake-ups at least.
    pub knows_reasons: bool,
    /// The breakdowns that were asked for.
    pub breakdowns: Vec<Breakdown>,
    /// The charts of the first source, if they were asked for.
    pub charts: Option<Charts>,
    /// The wake-ups that may be explained, if charts were asked for.
    pub examples: Examples,
}

/// The counts by kind of run.
pub type Stats = BTreeMap<Run, RunTally>;

/// Counts everything in `sources`, and breaks it down by each of `by`. A source that cannot be read to its end is
/// counted up to there.
pub fn stats(sources: &[Source], by: &[By], progress: &dyn Progress) -> (Stats, Vec<FileOutcome<()>>) {
    count_all(sources, by, false, progress)
}

/// Counts everything in `sources` like [`stats`], and builds the charts and examples of a page.
pub fn stats_and_pictures(sources: &[Source], by: &[By], progress: &dyn Progress) -> (Stats, Vec<FileOutcome<()>>) {
    count_all(sources, by, true, progress)
}

fn count_all(sources: &[Source], by: &[By], draw: bool, progress: &dyn Progress) -> (Stats, Vec<FileOutcome<()>>) {
    let each = || sources.par_iter().map(|source| count(source, by, draw, progress)).collect();
    let counted: Vec<_> = on_threads(each);
    let (mut stats, mut outcomes) = (Stats::new(), Vec::new());
    for (source, (counted, error)) in sources.iter().zip(counted) {
        if let Some((run, tally)) = counted {
            match stats.get_mut(&run) {
                Some(sum) => sum.merge(&tally),
                None => _ = stats.insert(run, tally),
            }
        }
        outcomes.push(FileOutcome { path: source.path().to_owned(), value: (), error });
    }
    (stats, outcomes)
}

fn count(
    source: &Source,
    by: &[By],
    draw: bool,
    progress: &dyn Progress,
) -> (Option<(Run, RunTally)>, Option<ReadError>) {
    let about = match about(source) {
        Ok(about) => about,
        Err(error) => return (None, Some(error)),
    };
    let run = Run::of(&about);
    let stream = WakeupStream::of(source, &about);
    let charts = draw.then(|| ChartsBuilder::new(&about));
    let mut counting =
        Counting { tally: RunTally::new(by), about, llc_of: FxHashMap::default(), charts, progress, since: 0 };
    counting.tally.has_waits = has_waits(source);
    let result = waits::match_waits(source, stream, progress, &mut counting);
    progress.rows(counting.since);
    for file in source.wakeups() {
        progress.file(&file);
    }
    let mut tally = counting.tally;
    if let Some(mut charts) = counting.charts {
        tally.examples = std::mem::take(&mut charts.examples).finish(&source.decisions());
        tally.charts = charts.finish(source.path(), &source.decisions());
    }
    let mut error = None;
    match result {
        Ok(ends) => tally.unseen = ends.unseen,
        Err(e) => error = Some(e),
    }
    if let Source::Recorded(tables) = source {
        match RecorderCounts::of(tables) {
            Ok(counts) => tally.recorder = counts,
            Err(e) => error = error.or(Some(e)),
        }
        match ImportCounts::of(tables) {
            Ok(counts) => tally.imported = counts,
            Err(e) => error = error.or(Some(e)),
        }
    }
    // An import tells migrations by wake-ups from others without switches; nothing else that lacks them has both.
    let knows_migrations = tally.has_waits || tally.imported.is_some();
    if !knows_migrations || !has_all_wakeups(source, tally.recorder.as_ref(), tally.imported.as_ref()) {
        tally.balanced = None;
    }
    tally.knows_reasons = matches!(source, Source::Simulated(_)) || !tally.all.reasons.is_empty();
    if error.is_none() && tally.all.wakeups == 0 {
        let hint = match &tally.imported {
            Some(of) if of.unfinished > 0 => {
                "the imported trace has sched_waking, but not the wake-ups or the runs: record sched_wakeup and \
                 sched_switch of all CPUs, too"
            }
            Some(_) => "the imported trace has neither sched_waking nor sched_wakeup; record them, too",
            None => "was the recorder stopped before its first row, or the run no longer than --settle?",
        };
        error = Some(ReadError::of_file(source.path(), "expected wake-ups, found none").with_hint(hint));
    }
    (Some((run, tally)), error)
}

/// Whether each migration by a wake-up has its wake-up in the source. Otherwise it would count as load balancing.
fn has_all_wakeups(source: &Source, recorder: Option<&RecorderCounts>, imported: Option<&ImportCounts>) -> bool {
    match (source, recorder, imported) {
        (Source::Csv(_), ..) => false,
        (Source::Simulated(_), ..) => true,
        (Source::Recorded(_), Some(counts), _) => {
            [counts.left_out, counts.lost, counts.changed, counts.events_lost] == [0; 4]
        }
        (Source::Recorded(_), None, Some(imported)) => imported.has_balancing(),
        // Nobody knows.
        (Source::Recorded(_), None, None) => false,
    }
}

struct Counting<'a> {
    tally: RunTally,
    about: RunDescription,
    /// The LLC of a CPU at the last wake-up that went there.
    llc_of: FxHashMap<u32, u32>,
    charts: Option<ChartsBuilder>,
    progress: &'a dyn Progress,
    since: u64,
}

impl Counting<'_> {
    /// Whether a time is in the measured time of a simulation; true for recordings.
    fn measured(&self, time: u64) -> bool {
        self.about.measured.is_none_or(|(from, to)| (from..to).contains(&time))
    }

    fn key(&self, by: By, pid: i64, comm: &str, cpu: u32) -> Option<Key> {
        Some(match by {
            By::Task => Key::Task(pid, comm.to_owned()),
            By::Comm => Key::Name(comm.to_owned()),
            By::Cpu => Key::Number(cpu),
            By::Llc => Key::Number(*self.llc_of.get(&cpu)?),
        })
    }
}

impl WaitListener for Counting<'_> {
    fn wake(&mut self, found: &WakeupWithReason) -> bool {
        self.since += 1;
        if self.since == 1024 {
            self.progress.rows(std::mem::take(&mut self.since));
        }
        let wake = &found.wake;
        if !self.measured(wake.decided_ns) {
            return false;
        }
        // The machine may change within a recording, and with it the numbers of its LLCs.
        let llcs = found.llcs.as_deref().or(self.about.llcs.as_ref());
        let counted = Counted::of(found, llcs);
        match llcs.and_then(|llcs| llcs.get(wake.dest_cpu as usize)) {
            Some(&llc) => _ = self.llc_of.insert(wake.dest_cpu, llc),
            None => _ = self.llc_of.remove(&wake.dest_cpu),
        }
        self.tally.all.add(&counted);
        self.tally.unscored += u64::from(found.unscored);
        let (first, last) = self.tally.span.unwrap_or((wake.t_ns, wake.t_ns));
        self.tally.span = Some((first.min(wake.t_ns), last.max(wake.t_ns)));
        for at in 0..self.tally.breakdowns.len() {
            let by = self.tally.breakdowns[at].by;
            if let Some(key) = self.key(by, wake.wakee_pid, &wake.wakee_comm, wake.dest_cpu) {
                self.tally.breakdowns[at].add(key, &counted);
            }
        }
        true
    }

    fn ran(&mut self, waiting: &Waiting, ns: u64) {
        if !self.measured(waiting.t_ns) {
            return;
        }
        self.tally.all.waits.record(ns);
        if let Some(charts) = &mut self.charts {
            charts.waited(ns, waiting.t_ns, waiting.pid, waiting.place.0);
        }
        for at in 0..self.tally.breakdowns.len() {
            let by = self.tally.breakdowns[at].by;
            if let Some(key) = self.key(by, waiting.pid, &waiting.comm, waiting.dest_cpu) {
                self.tally.breakdowns[at].wait(key, ns);
            }
        }
    }

    fn balanced(&mut self, at_ns: u64) {
        if self.measured(at_ns) {
            self.tally.balanced = self.tally.balanced.map(|balanced| balanced + 1);
        }
    }

    fn item(&mut self, at_ns: u64, item: &SourceEvent) {
        if let Some(charts) = &mut self.charts {
            let measured = self.about.measured;
            let counts = |found: &WakeupWithReason| {
                measured.is_none_or(|(from, to)| (from..to).contains(&found.wake.decided_ns))
            };
            charts.item(at_ns, item, counts);
        }
    }

    fn wants_states(&self) -> bool {
        self.charts.is_some()
    }
}

impl RunTally {
    fn new(by: &[By]) -> Self {
        RunTally {
            runs: 1,
            all: Tally::new(3),
            unscored: 0,
            has_waits: false,
            unseen: 0,
            balanced: Some(0),
            span: None,
            recorder: None,
            imported: None,
            knows_reasons: false,
            breakdowns: by.iter().map(|&by| Breakdown::new(by)).collect(),
            charts: None,
            examples: Examples::new(),
        }
    }

    fn merge(&mut self, other: &RunTally) {
        self.runs += other.runs;
        self.all.merge(&other.all);
        self.unscored += other.unscored;
        self.has_waits |= other.has_waits;
        self.unseen += other.unseen;
        self.balanced = self.balanced.zip(other.balanced).map(|(a, b)| a + b);
        self.span = match (self.span, other.span) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.recorder = match (self.recorder, other.recorder) {
            (Some(mut sum), Some(counts)) => {
                sum.add(&counts);
                Some(sum)
            }
            (a, b) => a.or(b),
        };
        self.imported = match (self.imported.take(), &other.imported) {
            (Some(sum), Some(other)) => Some(ImportCounts {
                lost: sum.lost.saturating_add(other.lost),
                duration_ns: sum.duration_ns.saturating_add(other.duration_ns),
                overwritten: sum.overwritten.saturating_add(other.overwritten),
                unfinished: sum.unfinished.saturating_add(other.unfinished),
                cpu_begins_ns: sum.cpu_begins_ns,
                tracepoints: sum.tracepoints.into_iter().filter(|one| other.tracepoints.contains(one)).collect(),
            }),
            _ => None,
        };
        self.knows_reasons |= other.knows_reasons;
        for (sum, breakdowns) in self.breakdowns.iter_mut().zip(&other.breakdowns) {
            sum.merge(breakdowns);
        }
        charts::merge_examples(&mut self.examples, &other.examples);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use wakelab_events::stream::Tables;

    #[test]
    fn balancing_is_told_only_where_no_wake_up_is_missing() {
        let files = |named: &str| vec![PathBuf::from(named)];
        let of = |tables| Source::Recorded(Box::new(tables));
        let recorded = of(Tables { decisions: files("decisions-00001.parquet"), ..Tables::default() });
        let imported = of(Tables { wakings: files("wakings-00001.parquet"), ..Tables::default() });
        let all = ImportCounts {
            tracepoints: ["sched_waking", "sched_migrate_task"].map(str::to_owned).to_vec(),
            ..ImportCounts::default()
        };
        let whole = RecorderCounts { choices: 9, recorded: 9, ..RecorderCounts::default() };
        assert!(has_all_wakeups(&recorded, Some(&whole), None));
        assert!(has_all_wakeups(&imported, None, Some(&all)));
        assert!(!has_all_wakeups(&imported, None, Some(&ImportCounts { lost: 1, ..all.clone() })));
        for at in 0..2 {
            let mut some = all.clone();
            some.tracepoints.remove(at);
            assert!(!has_all_wakeups(&imported, None, Some(&some)), "{some:?}");
        }
        assert!(!has_all_wakeups(&recorded, None, None), "nobody knows");
        for counts in [
            RecorderCounts { left_out: 1, ..whole },
            RecorderCounts { lost: 1, ..whole },
            RecorderCounts { changed: 1, ..whole },
            RecorderCounts { events_lost: 1, ..whole },
        ] {
            assert!(!has_all_wakeups(&recorded, Some(&counts), None), "{counts:?}");
        }
    }
}
