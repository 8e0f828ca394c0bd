//! The effect of chance alone: the base side compared with itself.

use super::{Block, CompareRow, Comparison, Published, RunProgress, result, run};
use crate::runs::jobs::{self, FinishedJobs};
use crate::runs::{RunFailed, Runner};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// The base side of a comparison, compared with itself under other seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// A row for each row of the comparison, in its order.
    pub rows: Vec<ControlRow>,
    /// Whether all rows are there: false after a stop.
    pub complete: bool,
}

/// A row of a control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlRow {
    /// `netperf`.
    pub benchmark: String,
    /// `TCP_RR`.
    pub case: String,
    /// `224 threads`.
    pub load: String,
    /// The metric of the base runs of the comparison.
    pub values: Vec<f64>,
    /// The metric of the same number of runs with other seeds.
    pub other_values: Vec<f64>,
    /// The seeds of the other runs.
    pub other_seeds: Vec<u64>,
    /// How much better the other runs are by chance, %.
    pub compare_pct: f64,
    /// The 95% interval of `compare_pct`; `None` for one repeat.
    pub ci95: Option<[f64; 2]>,
    /// The two-sided p value of equal means; `None` for one repeat.
    pub p_value: Option<f64>,
}

/// Runs the base side of `block` again with the seeds of the repeats that would come next, as often as it is
/// repeated, and compares these runs with the base runs in `comparison`, which is of the same experiment.
///
/// # Errors
/// Returns the first run that failed.
pub fn control(
    runner: &dyn Runner,
    block: &Block,
    comparison: &Comparison,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Result<Control, RunFailed> {
    let same = Block { variants: Vec::new(), published: Published::none(), regret: false, ..block.clone() };
    // An interrupted comparison lacks rows.
    let cases: Vec<_> = comparison
        .rows
        .iter()
        .filter_map(|row| same.cases.iter().find(|case| row.is_of(&case.workload)).map(|case| (case, row)))
        .collect();
    // A row that was repeated until its interval was narrow has a number of its own.
    let repeats: Vec<(usize, u32)> =
        (0..).zip(&cases).flat_map(|(at, (_, row))| (0..row.base.n as u32).map(move |repeat| (at, repeat))).collect();
    let runs = jobs::run_jobs(repeats.len(), jobs, stop, |n, finished: &FinishedJobs| {
        let (at, repeat) = repeats[n];
        let (case, row) = cases[at];
        let run = run::run_case(runner, &same, case, (0, row.base.n as u32 + repeat), stop);
        if let Ok(Some((id, _))) = &run {
            progress.run(finished.next(), repeats.len(), id);
        }
        run.map(|done| done.map(|(_, stats)| stats))
    })?;
    let mut runs = runs.into_iter();
    let rows: Vec<ControlRow> = cases
        .iter()
        .filter_map(|(case, row)| {
            let other: Vec<_> = runs.by_ref().take(row.base.n).collect();
            let other = other.into_iter().collect::<Option<Vec<_>>>()?;
            Some(ControlRow::of(result::row(&same, case, &same.base, row.base.runs.clone(), other)))
        })
        .collect();
    Ok(Control { complete: rows.len() == comparison.rows.len(), rows })
}

impl ControlRow {
    fn of(row: CompareRow) -> Self {
        ControlRow {
            benchmark: row.benchmark,
            case: row.case,
            load: row.load,
            values: row.base.values,
            other_values: row.with.values,
            other_seeds: row.with.runs.iter().map(|run| run.seed).collect(),
            compare_pct: row.compare_pct,
            ci95: row.ci95,
            p_value: row.p_value,
        }
    }
}
