//! What each mechanism of the simulator is worth: an experiment without it.
//!
//! The first block of a [`MechanismTable`] is the full model. Each other block lacks one mechanism of
//! [`wakelab_sim::Mechanisms`] and runs with the same seeds, so that the difference is the effect of the mechanism.

use crate::compare::{Block, CompareRow, RunProgress, compare};
use crate::runs::{RunFailed, Runner};
use serde::Serialize;
use std::sync::atomic::AtomicBool;
use wakelab_measure::State;
use wakelab_sim::Mechanisms;

/// A row without one mechanism.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MechanismRow {
    /// `netperf`.
    pub benchmark: String,
    /// `TCP_RR`.
    pub case: String,
    /// `224 threads`.
    pub load: String,
    /// How much better `with` is, %.
    pub compare_pct: f64,
    /// The mean of the base side, in transactions per second.
    pub base_mean: f64,
    /// `se_eff%` of the base side.
    pub se_eff_pct: Option<f64>,
    /// `dom_eff%` of the base side.
    pub dom_eff_pct: Option<f64>,
    /// `fast_rate%` of the base side.
    pub fast_rate_pct: Option<f64>,
    /// `success_rate%` of the base side.
    pub success_rate_pct: Option<f64>,
    /// The number of repeats of the base side that ended stacked.
    pub base_stacked: usize,
    /// The number of repeats of `with` that ended stacked.
    pub with_stacked: usize,
    /// The number of repeats of each side.
    pub repeats: usize,
}

impl MechanismRow {
    fn of(row: CompareRow) -> Self {
        let stacked =
            |runs: &[wakelab_measure::RunStats]| runs.iter().filter(|run| run.state_at_end() == State::Stacked).count();
        let search = &row.base.search;
        MechanismRow {
            compare_pct: row.compare_pct,
            base_mean: row.base.mean,
            se_eff_pct: search.se_eff_pct,
            dom_eff_pct: search.dom_eff_pct,
            fast_rate_pct: search.fast_rate_pct,
            success_rate_pct: search.success_rate_pct,
            base_stacked: stacked(&row.base.runs),
            with_stacked: stacked(&row.with.runs),
            repeats: row.base.n,
            benchmark: row.benchmark,
            case: row.case,
            load: row.load,
        }
    }
}

/// The experiment without one mechanism.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Without {
    /// The name of the mechanism; `None` for the full model.
    pub mechanism: Option<&'static str>,
    /// The description of the mechanism; empty for the full model.
    pub what: &'static str,
    /// A row for each case.
    pub rows: Vec<MechanismRow>,
}

/// The experiment with the full model, and without each mechanism.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MechanismTable {
    /// The full model, then the experiment without each mechanism, in the order of [`Mechanisms::LIST`].
    pub without: Vec<Without>,
    /// Whether all blocks are complete: false after a stop.
    pub complete: bool,
}

/// Runs `experiment` with the full model, and then without each mechanism in turn.
///
/// # Errors
/// Returns the first run that failed, as [`compare`](crate::compare::compare()) does.
pub fn mechanisms(
    runner: &dyn Runner,
    experiment: &Block,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Result<MechanismTable, RunFailed> {
    let mut table = MechanismTable { without: Vec::new(), complete: true };
    let mut experiment = experiment.clone();
    let full = (None, "", Mechanisms::default());
    let others = Mechanisms::LIST
        .iter()
        .map(|&(name, what)| (Some(name), what.trim(), Mechanisms::without(name).expect("the name is of the list")));
    for (mechanism, what, mechanisms) in std::iter::once(full).chain(others) {
        experiment.mechanisms = mechanisms;
        let found = compare(runner, &experiment, jobs, progress, stop)?;
        table.complete &= found.complete;
        let rows = found.rows.into_iter().map(MechanismRow::of).collect();
        table.without.push(Without { mechanism, what, rows });
    }
    Ok(table)
}
