//! The model's choices compared with the kernel's, row by row.

use super::decider::Decider;
use super::explain::{Differs, Explained, Steps};
use super::progress::{FileOutcome, Progress};
use super::rows::{SourceKinds, read_files};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::{Row, TopoFile};
use wakelab_sched::select::{Decision, Reason, SearchCount, Select};

/// How the rows of one reason compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The rows that were compared.
    pub rows: u64,
    /// The rows that are equal in everything.
    pub agree: u64,
    /// The rows with another CPU.
    pub cpu: u64,
    /// The rows that leave another `recent_used_cpu`.
    pub recent_used_cpu: u64,
    /// The rows that leave other `wakee_flips`.
    pub wakee_flips: u64,
    /// The rows in which the kernel chose the previous CPU, which a model that always chooses it would get right.
    pub prev: u64,
}

/// Why a row is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotScored {
    /// When the decision ended, other CPUs were idle than when it began.
    IdleChanged,
    /// The decision took 200 us or longer, because the waking CPU was preempted meanwhile.
    Long,
    /// An input is not certain: a tick may have changed `task_h_load()`, features were being switched, or the choice
    /// was inferred from tracepoints.
    Unknown,
}

impl NotScored {
    /// All reasons.
    pub const ALL: [NotScored; 3] = [NotScored::IdleChanged, NotScored::Long, NotScored::Unknown];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            NotScored::IdleChanged => "idle_changed",
            NotScored::Long => "long",
            NotScored::Unknown => "unknown",
        }
    }

    /// The meaning, as the end of a sentence that begins with "N whose".
    pub fn meaning(self) -> &'static str {
        match self {
            NotScored::IdleChanged => "other CPUs became idle or busy meanwhile",
            NotScored::Long => "the decision took 200 us or longer",
            NotScored::Unknown => {
                "an input is uncertain: a tick came between, features were being switched, or it was inferred"
            }
        }
    }

    /// Returns why a row that is not stable is not compared.
    pub fn of(row: &Row) -> Self {
        // The limit of the recorder (docs/recording.md).
        const LONG_NS: u64 = 200_000;
        match (row.idle_changed, row.dur_ns >= LONG_NS) {
            (true, _) => NotScored::IdleChanged,
            (false, true) => NotScored::Long,
            (false, false) if row.simulated => NotScored::IdleChanged,
            (false, false) => NotScored::Unknown,
        }
    }
}

/// A kernel, or the simulator, that made decisions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// The preset (`v6.12`).
    pub preset: &'static str,
    /// The release as the file has it.
    pub release: String,
    /// Whether the simulator made the decisions.
    pub simulated: bool,
}

/// The rows of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCount {
    /// The rows that were compared.
    pub scored: Agreement,
    /// The number of rows that were not compared, by the reason.
    pub not_scored: BTreeMap<NotScored, u64>,
}

/// The decisions with one reason as recorded and one with the features switched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The number of rows.
    pub rows: u64,
    /// The rows that get another CPU than the kernel's.
    pub other_cpu: u64,
}

/// Sums of the search statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// `sis_search`.
    pub search: u64,
    /// `sis_domain_search`.
    pub domain_search: u64,
    /// `sis_scanned`.
    pub scanned: u64,
    /// `sis_failed`.
    pub failed: u64,
}

impl Search {
    fn add(&mut self, count: SearchCount) {
        self.search += u64::from(count.search);
        self.domain_search += u64::from(count.domain_search);
        self.scanned += u64::from(count.scanned);
        self.failed += u64::from(count.failed);
    }

    fn merge(&mut self, other: &Search) {
        self.search += other.search;
        self.domain_search += other.domain_search;
        self.scanned += other.scanned;
        self.failed += other.failed;
    }
}

/// The result of the comparison.
#[derive(Clone, Debug, Default)]
pub struct Conformance {
    /// The rows that are not compared, because their state changed meanwhile.
    pub unstable: u64,
    /// The number of rows that are not compared, by the reason.
    pub not_scored: BTreeMap<NotScored, u64>,
    /// The counts by the kernel's release (`6.12.107+deb13-amd64`) and kind of file.
    pub kernels: BTreeMap<Kernel, KernelCount>,
    /// The counts by kernel (`v6.12`) and the model's reason.
    pub reasons: BTreeMap<(&'static str, Reason), Agreement>,
    /// With features switched: the rows by their reason as recorded and their reason then.
    pub moved: BTreeMap<(Reason, Reason), Moved>,
    /// The search statistics with the recorded features.
    pub recorded: Search,
    /// The search statistics with the switched features; equal to `recorded` if nothing is switched.
    pub switched: Search,
    /// The first rows that differ.
    pub disagreements: Vec<Explained<'static>>,
}

impl Conformance {
    /// Who made the decisions of the rows.
    pub fn kinds(&self) -> SourceKinds {
        let mut kinds = SourceKinds::default();
        for kernel in self.kernels.keys() {
            kinds.merge(SourceKinds { recorded: !kernel.simulated, simulated: kernel.simulated });
        }
        kinds
    }

    /// The sum over all reasons.
    pub fn total(&self) -> Agreement {
        let mut total = Agreement::default();
        for agreement in self.reasons.values() {
            total.merge(agreement);
        }
        total
    }

    /// Returns the counts of the kernel of `row`. A file has one kernel, so that nothing is copied for its later rows.
    fn of_kernel(&mut self, row: &Row, topo: &TopoFile) -> &mut KernelCount {
        let same = |kernel: &Kernel| kernel.simulated == row.simulated && kernel.release == topo.release;
        if !self.kernels.keys().any(same) {
            let kernel = Kernel { preset: topo.preset.name, release: topo.release.clone(), simulated: row.simulated };
            self.kernels.insert(kernel, KernelCount::default());
        }
        let mut all = self.kernels.iter_mut();
        all.find(|(kernel, _)| same(kernel)).map(|(_, count)| count).expect("it was put in")
    }

    fn merge(&mut self, other: Conformance, limit: usize) {
        self.unstable += other.unstable;
        for (why, rows) in other.not_scored {
            *self.not_scored.entry(why).or_default() += rows;
        }
        for (kernel, count) in other.kernels {
            self.kernels.entry(kernel).or_default().merge(count);
        }
        for (key, agreement) in other.reasons {
            self.reasons.entry(key).or_default().merge(&agreement);
        }
        for (key, moved) in other.moved {
            let sum = self.moved.entry(key).or_default();
            sum.rows += moved.rows;
            sum.other_cpu += moved.other_cpu;
        }
        self.recorded.merge(&other.recorded);
        self.switched.merge(&other.switched);
        let room = limit.saturating_sub(self.disagreements.len());
        self.disagreements.extend(other.disagreements.into_iter().take(room));
    }
}

impl KernelCount {
    fn merge(&mut self, other: KernelCount) {
        self.scored.merge(&other.scored);
        for (why, rows) in other.not_scored {
            *self.not_scored.entry(why).or_default() += rows;
        }
    }
}

impl Agreement {
    fn add(&mut self, differs: Differs, prev: bool) {
        self.rows += 1;
        self.prev += u64::from(prev);
        self.agree += u64::from(!differs.any());
        self.cpu += u64::from(differs.cpu);
        self.recent_used_cpu += u64::from(differs.recent_used_cpu);
        self.wakee_flips += u64::from(differs.wakee_flips);
    }

    fn merge(&mut self, other: &Agreement) {
        self.rows += other.rows;
        self.agree += other.agree;
        self.cpu += other.cpu;
        self.recent_used_cpu += other.recent_used_cpu;
        self.wakee_flips += other.wakee_flips;
        self.prev += other.prev;
    }
}

/// Compares all stable rows of `files`, and keeps the first `limit` that differ.
///
/// Returns the counts over all files, and for each file whether it was read to its end.
pub fn conform(
    files: &[PathBuf],
    decider: &Decider,
    limit: usize,
    progress: &dyn Progress,
) -> (Conformance, Vec<FileOutcome<()>>) {
    let recorded = Decider::as_recorded();
    let outcomes = read_files(files, decider, progress, |(counted, select): &mut (Conformance, Select), row, topo| {
        let of_kernel = counted.of_kernel(row, topo);
        if !row.stable {
            let why = NotScored::of(row);
            *of_kernel.not_scored.entry(why).or_default() += 1;
            counted.unstable += 1;
            *counted.not_scored.entry(why).or_default() += 1;
            return;
        }
        let decision = decider.decide(row, topo, select, &mut ());
        let differs = Differs::of(row, &decision);
        let prev = row.chosen_cpu == row.wakee.prev_cpu;
        of_kernel.scored.add(differs, prev);
        counted.reasons.entry((topo.preset.name, decision.reason)).or_default().add(differs, prev);
        counted.switched.add(decision.count);
        if decider.is_as_recorded() {
            counted.recorded.add(decision.count);
        } else {
            let before: Decision = recorded.decide(row, topo, select, &mut ());
            counted.recorded.add(before.count);
            let moved = counted.moved.entry((before.reason, decision.reason)).or_default();
            moved.rows += 1;
            moved.other_cpu += u64::from(differs.cpu);
        }
        if differs.any() && counted.disagreements.len() < limit {
            let mut steps = Steps::default();
            let decision = decider.decide(row, topo, select, &mut steps);
            counted.disagreements.push(Explained {
                file: Cow::Borrowed(Path::new("")),
                row: Cow::Owned(row.clone()),
                topo: Arc::clone(topo),
                steps: Cow::Owned(steps.0),
                decision,
                switched: !decider.is_as_recorded(),
                wait_ns: None,
            });
        }
    });
    let mut total = Conformance::default();
    let mut files = Vec::with_capacity(outcomes.len());
    for FileOutcome { path, value: (mut counted, _), error } in outcomes {
        counted.disagreements.iter_mut().for_each(|d| d.file = Cow::Owned(path.clone()));
        total.merge(counted, limit);
        files.push(FileOutcome { path, value: (), error });
    }
    (total, files)
}
