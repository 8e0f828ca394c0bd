//! What each mechanism of the simulator is worth: an experiment with that one switched off.
//!
//! The first of the [`MechanismTable`]'s blocks is the full model; each other one lacks one mechanism of
//! [`wakelab_sim::Mechanisms`] and runs with the same seeds, so that what differs is what the mechanism does.

use crate::compare::{CompareRow, Experiment, RunFailed, RunProgress, Runner, compare};
use serde::Serialize;
use std::sync::atomic::AtomicBool;
use wakelab_measure::State;
use wakelab_sim::Mechanisms;

/// What one row is without one mechanism.
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
    /// The base side's mean, in transactions a second.
    pub base_mean: f64,
    /// The base side's `se_eff%`.
    pub se_eff_pct: Option<f64>,
    /// The base side's `dom_eff%`.
    pub dom_eff_pct: Option<f64>,
    /// The base side's `fast_rate%`.
    pub fast_rate_pct: Option<f64>,
    /// The base side's `success_rate%`.
    pub success_rate_pct: Option<f64>,
    /// How many repeats of the base side ended stacked.
    pub base_stacked: usize,
    /// The same of `with`.
    pub with_stacked: usize,
    /// How many repeats each side had.
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
    /// The mechanism's name; `None` for the full model.
    pub mechanism: Option<&'static str>,
    /// What it is; empty for the full model.
    pub what: &'static str,
    /// A row for each case.
    pub rows: Vec<MechanismRow>,
}

/// What each mechanism is worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MechanismTable {
    /// The full model, then the experiment without each mechanism, in the order of [`Mechanisms::LIST`].
    pub without: Vec<Without>,
    /// Whether all is there: false after a stop.
    pub complete: bool,
}

/// Runs `experiment` with the full model, and then without each mechanism in turn.
///
/// # Errors
/// Returns the first run that failed, as [`compare`](crate::compare::compare()).
pub fn mechanisms(
    runner: &dyn Runner,
    experiment: &Experiment,
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
