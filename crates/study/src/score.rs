//! One number for a candidate: how much better it is on a panel of machines, kernels and loads.
//!
//! The number is the weighted geometric mean of the differences of all rows ([`weighted_mean`]). Both sides of
//! a row, and all candidates, have the same seeds, so that smaller differences between candidates can be seen. If the
//! panel gives candidates up, each first runs the fast rung. One that loses more there than the panel
//! allows is given up, and has that number.

use crate::compare::{Block, Case, CompareRow, Comparison, Matrix, MatrixComparison, RunProgress, compare_matrix};
use crate::experiment::{Panel, PanelPart, SpecError};
use crate::reproduce::{Known, known};
use crate::runners::serve_runs;
use crate::runs::{RunFailed, Runner};
use crate::verdict::{JudgedRow, matrix_verdicts};
use std::fmt;
use std::sync::atomic::AtomicBool;
use wakelab_statistics::{MeanRow, WeightedMean, weighted_mean};

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Briefly: enough to give up clear losers.
    Fast,
    /// As long as the panel asks for.
    Full,
}

impl Rung {
    /// The name in the output, and of the table in a panel.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Fast => "fast",
            Rung::Full => "full",
        }
    }
}

/// A candidate, and how it is scored.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its switches, on top of each kernel's features.
    pub switches: &'a str,
    /// The last rung: the fast one alone, or the full one after it.
    pub last: Rung,
    /// Whether the parts that are held out are scored, and no others.
    pub held_out: bool,
}

/// A row of a panel.
#[derive(Clone, Debug)]
pub struct ScoredRow {
    /// The comparison.
    pub row: CompareRow,
    /// The verdict.
    pub judged: JudgedRow,
    /// How much it counts.
    pub weight: u32,
    /// The record of such predictions in the published tables; `None` if they have none.
    pub known: Option<Known>,
}

/// The score of a candidate on a panel.
#[derive(Clone, Debug)]
pub struct Score {
    /// The rung whose rows these are.
    pub rung: Rung,
    /// Whether the candidate was given up after the fast rung.
    pub gave_up: bool,
    /// The weighted geometric mean, its interval, and the probability that the candidate is better.
    pub mean: WeightedMean,
    /// The rows, in the order of the panel.
    pub rows: Vec<ScoredRow>,
    /// Warnings about the workloads' files and the sides, each once.
    pub warnings: Vec<String>,
}

impl Score {
    /// The row with the greatest loss, or the least gain; those without a weight count, too.
    pub fn worst(&self) -> Option<&ScoredRow> {
        let finite = self.rows.iter().filter(|row| row.row.compare_pct.is_finite());
        finite.min_by(|a, b| a.row.compare_pct.total_cmp(&b.row.compare_pct))
    }
}

/// Why there is no score.
#[derive(Debug)]
pub enum ScoreError {
    /// The panel or the candidate is wrong.
    Spec(SpecError),
    /// A run failed.
    Run(RunFailed),
    /// What is missing in the panel, and the next step.
    Panel(String),
    /// A row whose sides have no ratio, and the next step.
    Row(String),
    /// It was interrupted.
    Stopped,
}

impl fmt::Display for ScoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScoreError::Spec(error) => error.fmt(f),
            ScoreError::Run(error) => error.fmt(f),
            ScoreError::Panel(what) | ScoreError::Row(what) => f.write_str(what),
            ScoreError::Stopped => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for ScoreError {}

/// The resources that simulations use.
pub struct Scoring<'a> {
    /// Runs them, or has kept them.
    pub runner: &'a dyn Runner,
    /// Runs at a time; 0 for as many as there are cores.
    pub jobs: usize,
    /// Hears of each run.
    pub progress: &'a dyn RunProgress,
    /// Ends it early.
    pub stop: &'a AtomicBool,
}

/// Scores a candidate on a panel.
///
/// # Errors
/// Fails if the candidate cannot be switched on a kernel of the panel, if a part cannot be simulated, held out or not,
/// if a run fails, if a row has no ratio, if the panel has nothing to score, and if it was interrupted.
pub fn score(panel: &Panel, candidate: Candidate<'_>, scoring: &Scoring<'_>) -> Result<Score, ScoreError> {
    let is_scored = |part: &&PanelPart| part.held_out == candidate.held_out;
    let parts: Vec<&PanelPart> = panel.parts.iter().filter(is_scored).collect();
    let missing = |what: &str| Err(ScoreError::Panel(format!("{}: {what}", panel.name)));
    if parts.is_empty() && candidate.held_out {
        return missing("--held-out: no part of the panel is held out\n  hint: set held_out = true in a [[part]]");
    }
    if parts.is_empty() {
        return missing("all parts of the panel are held out\n  hint: score them with --held-out");
    }
    if parts.iter().all(|part| part.weight == 0) {
        return missing("no scored part has a weight above 0\n  hint: give one a `weight`, or leave it out for 1");
    }
    let resolve =
        |part: &PanelPart, switches, rung| part.spec(switches, rung, panel.seed).resolve().map_err(ScoreError::Spec);
    let on = |rung| parts.iter().map(|part| resolve(part, candidate.switches, rung)).collect::<Result<Vec<_>, _>>();
    // What is wrong anywhere is found before anything runs, and not when a search has ended.
    let (fast, full) = (on(&panel.fast)?, on(&panel.full)?);
    for part in panel.parts.iter().filter(|part| !is_scored(part)) {
        resolve(part, &panel.base, &panel.full)?;
    }
    no_row_twice(panel, &full)?;
    serve_runs(fast.iter().chain(&full).flat_map(|matrix| &matrix.blocks));
    let first = || on_rung(&parts, &fast, Rung::Fast, scoring);
    match (candidate.last, panel.give_up_pct) {
        (Rung::Fast, _) => first(),
        (Rung::Full, None) => on_rung(&parts, &full, Rung::Full, scoring),
        (Rung::Full, Some(loss_pct)) => {
            let fast = first()?;
            if loses(&fast.mean, f64::from(loss_pct)) {
                return Ok(Score { gave_up: true, ..fast });
            }
            on_rung(&parts, &full, Rung::Full, scoring)
        }
    }
}

/// Whether all of the interval, or the mean if there is none, is a loss of more than `loss_pct`.
fn loses(mean: &WeightedMean, loss_pct: f64) -> bool {
    mean.ci95.map_or(mean.pct, |[_, high]| high) < -loss_pct
}

/// Two rows that are the same would count twice.
fn no_row_twice(panel: &Panel, matrices: &[Matrix]) -> Result<(), ScoreError> {
    let all: Vec<(&Block, &Case)> =
        matrices.iter().flat_map(|of| &of.blocks).flat_map(|of| of.cases.iter().map(move |case| (of, case))).collect();
    let same = |(a, of_a): (&Block, &Case), (b, of_b): (&Block, &Case)| {
        a.machine.name == b.machine.name
            && a.kernel.name == b.kernel.name
            && a.pinned == b.pinned
            && of_a.workload == of_b.workload
    };
    match all.iter().enumerate().find(|(at, row)| all[..*at].iter().any(|other| same(*other, **row))) {
        None => Ok(()),
        Some((_, (block, case))) => Err(ScoreError::Panel(format!(
            "{}: {} {} on {}, {} is in two parts, and would count twice\n  hint: give it a part of its own with a \
             higher `weight`",
            panel.name, case.name, case.workload.load, block.machine.name, block.kernel.name
        ))),
    }
}

fn on_rung(parts: &[&PanelPart], matrices: &[Matrix], rung: Rung, scoring: &Scoring<'_>) -> Result<Score, ScoreError> {
    // All parts are one table: their runs share the cores, and verdicts are corrected for all rows.
    let all = Matrix::of_all(matrices);
    let &Scoring { runner, jobs, progress, stop } = scoring;
    let found = compare_matrix(runner, &all, jobs, progress, stop).map_err(ScoreError::Run)?;
    if let Some(row) = found.failed.first() {
        return Err(ScoreError::Run(row.failed.clone()));
    }
    if !found.complete {
        return Err(ScoreError::Stopped);
    }
    let of_part = |(part, matrix): (&&PanelPart, &Matrix)| std::iter::repeat_n(part.weight, matrix.rows());
    let weights: Vec<u32> = parts.iter().zip(matrices).flat_map(of_part).collect();
    let (rows, warnings) = (scored(&found, &weights), all.warnings);
    let mean = weighted_mean(&rows.iter().map(ScoredRow::of_mean).collect::<Vec<_>>());
    let no_ratio = |row: &&ScoredRow| row.weight > 0 && row.of_mean().log().is_none();
    match (mean, rows.iter().find(no_ratio)) {
        (Some(mean), _) => Ok(Score { rung, gave_up: false, mean, rows, warnings }),
        (None, Some(ScoredRow { row, judged, .. })) => Err(ScoreError::Row(format!(
            "{} {} {} on {}, {}: {} of {} on the base and {} with the candidate have no ratio\n  hint: score a metric \
             that stays above 0, or measure for longer (`time` of the rung)",
            row.benchmark, row.case, row.load, judged.machine, judged.kernel, row.metric, row.base.mean, row.with.mean
        ))),
        (None, None) => unreachable!("a part has a weight, and each part has rows"),
    }
}

impl ScoredRow {
    fn of_mean(&self) -> MeanRow<'_> {
        let CompareRow { base, with, better, .. } = &self.row;
        MeanRow { base: &base.values, with: &with.values, better: *better, weight: f64::from(self.weight) }
    }
}

fn scored(found: &MatrixComparison, weights: &[u32]) -> Vec<ScoredRow> {
    let verdicts = matrix_verdicts(found);
    let rows = found.of_variant(0).flat_map(|comparison: &Comparison| {
        let of = known(comparison);
        comparison.rows.iter().map(move |row| (row, of.iter().find(|known| known.benchmark == row.benchmark).cloned()))
    });
    let judged = verdicts.into_iter().flat_map(|verdict| verdict.rows);
    let judged = judged.zip(weights);
    let of = |((row, known), (judged, &weight)): ((&CompareRow, _), (_, &u32))| {
        let row = row.clone();
        ScoredRow { row, judged, weight, known }
    };
    rows.zip(judged).map(of).collect()
}
