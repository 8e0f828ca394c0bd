//! One number for a candidate: how much better it is on a panel of machines, kernels and loads.
//!
//! The number is the weighted geometric mean of the differences of all rows ([`crate::geometric_mean`]). Both sides of
//! a row, and all candidates, have the same seeds, so that candidates are told apart by less than what one of them
//! varies. If the panel gives candidates up, each first runs the fast rung. One that loses more there than the panel
//! allows is given up, and has that number.

use crate::compare::{CompareRow, Comparison, MatrixComparison, RunFailed, RunProgress, Runner, compare_matrix};
use crate::experiment::{Panel, PanelPart, RungSpec, SpecError};
use crate::geometric_mean::{GeometricMean, MeanRow, weighted_mean};
use crate::reproduce::{Known, known};
use crate::verdict::{JudgedRow, matrix_verdicts};
use std::fmt;
use std::sync::atomic::AtomicBool;

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

/// What is scored, and how.
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
    /// What was compared.
    pub row: CompareRow,
    /// What is concluded.
    pub judged: JudgedRow,
    /// How much it counts.
    pub weight: u32,
    /// What the published tables say of such predictions; `None` if they have none.
    pub known: Option<Known>,
}

/// What a candidate is worth on a panel.
#[derive(Clone, Debug)]
pub struct Score {
    /// The rung whose rows these are.
    pub rung: Rung,
    /// Whether the candidate was given up after the fast rung.
    pub gave_up: bool,
    /// The weighted geometric mean, and its interval.
    pub mean: GeometricMean,
    /// How probable it is that the candidate is better, 0 to 1, if nothing was known before; `None` if a row has one
    /// run on a side.
    pub probability_better: Option<f64>,
    /// The rows, in the order of the panel.
    pub rows: Vec<ScoredRow>,
}

impl Score {
    /// The row with the greatest loss, or the least gain; those without a weight count, too.
    pub fn worst(&self) -> Option<&ScoredRow> {
        self.rows.iter().min_by(|a, b| a.row.compare_pct.total_cmp(&b.row.compare_pct))
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
    /// It was interrupted.
    Stopped,
}

impl fmt::Display for ScoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScoreError::Spec(error) => error.fmt(f),
            ScoreError::Run(error) => error.fmt(f),
            ScoreError::Panel(what) => f.write_str(what),
            ScoreError::Stopped => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for ScoreError {}

/// What simulations run with.
pub struct Scoring<'a> {
    /// Runs them, or has kept them.
    pub runner: &'a dyn Runner,
    /// Runs at a time; 0 for as many as there are cores.
    pub jobs: usize,
    /// What is told of each run.
    pub progress: &'a dyn RunProgress,
    /// Ends it early.
    pub stop: &'a AtomicBool,
}

/// Scores a candidate on a panel.
///
/// # Errors
/// Fails if the candidate cannot be switched on a kernel of the panel, if a run fails, if the panel has nothing to
/// score, and if it was interrupted.
pub fn score(panel: &Panel, candidate: Candidate<'_>, scoring: &Scoring<'_>) -> Result<Score, ScoreError> {
    let parts: Vec<&PanelPart> = panel.parts.iter().filter(|part| part.held_out == candidate.held_out).collect();
    if parts.is_empty() {
        let what = if candidate.held_out {
            "no part of the panel is held out\n  hint: held_out = true in a [[part]] holds it out"
        } else {
            "all parts of the panel are held out\n  hint: --held-out scores them"
        };
        return Err(ScoreError::Panel(what.to_owned()));
    }
    let on = |rung: Rung, spec: &RungSpec| on_rung(&parts, candidate.switches, (rung, spec), scoring);
    let first = |spec| on(Rung::Fast, spec);
    match (candidate.last, panel.give_up_pct) {
        (Rung::Fast, _) => first(&panel.fast),
        (Rung::Full, None) => on(Rung::Full, &panel.full),
        (Rung::Full, Some(loss_pct)) => {
            let fast = first(&panel.fast)?;
            if loses(&fast.mean, f64::from(loss_pct)) {
                return Ok(Score { gave_up: true, ..fast });
            }
            on(Rung::Full, &panel.full)
        }
    }
}

/// Whether all of the interval, or the mean if there is none, is a loss of more than `loss_pct`.
fn loses(mean: &GeometricMean, loss_pct: f64) -> bool {
    mean.ci95.map_or(mean.pct, |[_, high]| high) < -loss_pct
}

fn on_rung(
    parts: &[&PanelPart],
    switches: &str,
    (rung, spec): (Rung, &RungSpec),
    scoring: &Scoring<'_>,
) -> Result<Score, ScoreError> {
    // What is wrong with a part is found before any of them runs.
    let matrices = parts.iter().map(|part| part.spec(switches, spec).resolve()).collect::<Result<Vec<_>, _>>();
    let matrices = matrices.map_err(ScoreError::Spec)?;
    let mut rows = Vec::new();
    for (part, matrix) in parts.iter().zip(&matrices) {
        let &Scoring { runner, jobs, progress, stop } = scoring;
        let found = compare_matrix(runner, matrix, jobs, progress, stop).map_err(ScoreError::Run)?;
        if !found.complete {
            return Err(ScoreError::Stopped);
        }
        rows.extend(scored(&found, part.weight));
    }
    let weighted: Vec<MeanRow<'_>> = rows
        .iter()
        .map(|ScoredRow { row, weight, .. }| {
            let (base, with) = (&row.base.values[..], &row.with.values[..]);
            MeanRow { base, with, better: row.better, weight: f64::from(*weight) }
        })
        .collect();
    let Some((mean, probability_better)) = weighted_mean(&weighted) else {
        let what = "no row with a weight has a ratio of its sides\n  hint: give a part a weight, or a metric above 0";
        return Err(ScoreError::Panel(what.to_owned()));
    };
    Ok(Score { rung, gave_up: false, mean, probability_better, rows })
}

fn scored(found: &MatrixComparison, weight: u32) -> Vec<ScoredRow> {
    let verdicts = matrix_verdicts(found);
    let rows = found.of_variant(0).flat_map(|comparison: &Comparison| {
        let of = known(comparison);
        comparison.rows.iter().map(move |row| (row, of.iter().find(|known| known.benchmark == row.benchmark).cloned()))
    });
    let judged = verdicts.into_iter().flat_map(|verdict| verdict.rows);
    rows.zip(judged).map(|((row, known), judged)| ScoredRow { row: row.clone(), judged, weight, known }).collect()
}
