//! The model's choices against the kernel's, row by row.

use crate::Question;
use crate::explain::{Differs, Disagreement, Steps};
use crate::walk::{FileOutcome, Progress, walk_files};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use wakelab_sched::select::{Decision, Reason, SearchCount, Select};

/// How the rows of one reason compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Rows compared.
    pub rows: u64,
    /// Rows equal in everything.
    pub agree: u64,
    /// Rows with another CPU.
    pub cpu: u64,
    /// Rows that leave another `recent_used_cpu`.
    pub recent_used_cpu: u64,
    /// Rows that leave other `wakee_flips`.
    pub wakee_flips: u64,
}

/// Where decisions go when features are switched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows.
    pub rows: u64,
    /// Rows that get another CPU than the kernel's.
    pub other_cpu: u64,
}

/// Search statistics, summed.
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

/// What came of comparing.
#[derive(Clone, Debug, Default)]
pub struct Conformance {
    /// Rows whose state did not hold still; they are not compared.
    pub unstable: u64,
    /// By kernel (`v6.12`) and the model's reason.
    pub reasons: BTreeMap<(&'static str, Reason), Agreement>,
    /// With features switched: by the reason as recorded and the reason then.
    pub moved: BTreeMap<(Reason, Reason), Moved>,
    /// Search statistics with the recorded features.
    pub recorded: Search,
    /// Search statistics with the switched features; equal to `recorded` if nothing is switched.
    pub switched: Search,
    /// The first rows that differ.
    pub disagreements: Vec<Disagreement>,
}

impl Conformance {
    /// All reasons together.
    pub fn total(&self) -> Agreement {
        let mut total = Agreement::default();
        for agreement in self.reasons.values() {
            total.merge(agreement);
        }
        total
    }

    fn merge(&mut self, other: Conformance, limit: usize) {
        self.unstable += other.unstable;
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

impl Agreement {
    fn add(&mut self, differs: Differs) {
        self.rows += 1;
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
    }
}

/// Compares all stable rows of `files`, and keeps the first `limit` that differ.
///
/// Returns what was counted over all files, and of each file whether it was read to its end.
pub fn conform(
    files: &[PathBuf],
    question: &Question,
    limit: usize,
    progress: &dyn Progress,
) -> (Conformance, Vec<FileOutcome<()>>) {
    let recorded = Question::as_recorded();
    let outcomes = walk_files(files, question, progress, |(counted, select): &mut (Conformance, Select), row, topo| {
        if !row.stable {
            counted.unstable += 1;
            return;
        }
        let decision = question.decide(row, topo, select, &mut ());
        let differs = Differs::of(row, &decision);
        counted.reasons.entry((topo.preset.name, decision.reason)).or_default().add(differs);
        counted.switched.add(decision.count);
        if question.is_as_recorded() {
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
            let decision = question.decide(row, topo, select, &mut steps);
            counted.disagreements.push(Disagreement {
                file: PathBuf::new(),
                row: row.clone(),
                topo: Arc::clone(topo),
                steps: steps.0,
                decision,
                differs,
            });
        }
    });
    let mut total = Conformance::default();
    let mut files = Vec::with_capacity(outcomes.len());
    for FileOutcome { path, value: (mut counted, _), error } in outcomes {
        counted.disagreements.iter_mut().for_each(|d| d.file.clone_from(&path));
        total.merge(counted, limit);
        files.push(FileOutcome { path, value: (), error });
    }
    (total, files)
}
