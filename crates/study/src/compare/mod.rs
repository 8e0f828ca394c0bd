//! Feature sets compared on simulated machines.
//!
//! [`compare()`] runs every case of an [`Experiment`] on both sides, as often as it is repeated, and returns a
//! [`Comparison`]. [`compare_matrix()`] does so for any number of machines, kernels and variants. The result depends
//! only on the experiment, not on the number of runs at a time or their order.

pub(crate) mod assumed;
mod control;
mod decided_nothing;
pub(crate) mod effect;
mod experiment;
mod matrix;
mod power;
pub(crate) mod published;
mod result;
pub(crate) mod run;
mod search;
mod sides;
mod until;

pub use control::{Control, ControlRow, control};
pub use decided_nothing::DecidedNothing;
pub use effect::{Class, noise_of, noise_of_means, noise_pct};
pub use experiment::{Case, Experiment};
pub use matrix::{FailedRow, Matrix, MatrixComparison, MatrixPlan, compare_matrix};
pub use power::{KindSummary, PowerDifference, PowerSummary};
pub use published::{Published, PublishedError, PublishedRow, SearchRates};
pub use result::{Assumed, CompareRow, Comparison, ExperimentInfo, Kind, OpSummary, Side, WakeupLatency};
pub(crate) use run::{run_base, setups};
pub use search::{
    CostOf, CpuSummary, LooksSummary, Positions, RegretSummary, SearchSummary, SearchesSummary, StateSummary,
    StatesSummary, WakeupSummary, other_state_ns,
};
pub use until::{Until, half_width_pct};
pub use wakelab_sim::{PowerSideError, Variant, VariantError, run_seed};

use crate::runs::jobs::{self, FinishedJobs};
use crate::runs::{RunFailed, RunId, Runner};
use std::sync::atomic::AtomicBool;
use wakelab_measure::RunStats;

/// Receives how far a comparison has come.
pub trait RunProgress: Sync {
    /// `run` is done, as number `done` of `all`, from 1.
    fn run(&self, done: usize, all: usize, run: &RunId);
}

impl RunProgress for () {
    fn run(&self, _: usize, _: usize, _: &RunId) {}
}

/// Runs every case of an experiment on both sides with `runner`, `jobs` runs at a time (0: as many as there are cores),
/// as often as it is repeated, or until its intervals are narrow enough.
///
/// Once `stop` is set, runs end early and are discarded. The comparison then has the rows all of whose runs were done,
/// and [`Comparison::complete`] is false.
///
/// # Errors
/// Returns the failed run that comes first in the order of the experiment.
pub fn compare(
    runner: &dyn Runner,
    experiment: &Experiment,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Result<Comparison, RunFailed> {
    let mut found = if experiment.until.is_some() {
        let found = compare_matrix(runner, &Matrix::of_two_sides(experiment.clone()), jobs, progress, stop)?;
        match found.failed.into_iter().next() {
            Some(FailedRow { failed, .. }) => return Err(failed),
            None => found.comparisons,
        }
    } else {
        compare_all(runner, std::slice::from_ref(experiment), jobs, progress, stop)?
    };
    Ok(found.pop().expect("one experiment gives one comparison"))
}

/// Compares several experiments at once and returns their comparisons in the same order. The runs of all of them share
/// the cores.
///
/// # Errors
/// Returns the failed run that comes first in the order of the experiments.
pub(crate) fn compare_all(
    runner: &dyn Runner,
    experiments: &[Experiment],
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Result<Vec<Comparison>, RunFailed> {
    let outcomes = run_all(runner, experiments, jobs, progress, stop, |run| run)?;
    Ok(by_experiment(experiments, outcomes).map(|(experiment, runs)| comparison(experiment, runs)).collect())
}

/// Compares several experiments as [`compare_all`] does. A run that fails costs its own experiment alone, of which the
/// error is its first failed run.
pub(crate) fn compare_each(
    runner: &dyn Runner,
    experiments: &[Experiment],
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Vec<Result<Comparison, RunFailed>> {
    let outcomes = run_all(runner, experiments, jobs, progress, stop, |run| Ok::<_, RunFailed>(Some(run)));
    let outcomes = outcomes.expect("failures are outcomes here");
    by_experiment(experiments, outcomes)
        .map(|(experiment, runs)| {
            let runs = runs.into_iter().map(|run| run.unwrap_or(Ok(None))).collect::<Result<_, _>>()?;
            Ok(comparison(experiment, runs))
        })
        .collect()
}

/// Makes all runs of the experiments, in order, and returns what `kept` makes of each; `None` for those that were not
/// reached.
fn run_all<T: Send + Sync>(
    runner: &dyn Runner,
    experiments: &[Experiment],
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
    kept: impl Fn(Result<Option<RunStats>, RunFailed>) -> Result<Option<T>, RunFailed> + Sync,
) -> Result<Vec<Option<T>>, RunFailed> {
    let mut count = 0;
    let end_of = |experiment: &Experiment| {
        count += experiment.runs();
        count
    };
    // The end of the runs of each experiment, exclusive.
    let ends: Vec<usize> = experiments.iter().map(end_of).collect();
    jobs::run_all(count, jobs, stop, |n, finished: &FinishedJobs| {
        let which = ends.partition_point(|&end| end <= n);
        let experiment = &experiments[which];
        let n = n - (ends[which] - experiment.runs());
        // Base and with alternate, and cases follow each other, so that an interrupted comparison has whole rows.
        let (sides, repeats) = (experiment.sides(), experiment.repeats as usize);
        let (case, repeat, with) = (n / experiment.runs_of_case(), n / sides % repeats, n % sides == 1);
        let run = run::run(runner, experiment, &experiment.cases[case], with, repeat as u32, stop);
        if let Ok(Some((id, _))) = &run {
            progress.run(finished.next(), count, id);
        }
        kept(run.map(|done| done.map(|(_, stats)| stats)))
    })
}

/// The experiments with the outcomes of their runs.
fn by_experiment<T>(
    experiments: &[Experiment],
    outcomes: Vec<Option<T>>,
) -> impl Iterator<Item = (&Experiment, Vec<Option<T>>)> {
    let mut outcomes = outcomes.into_iter();
    experiments.iter().map(move |experiment| (experiment, outcomes.by_ref().take(experiment.runs()).collect()))
}

/// Builds the comparison from the outcomes of the runs, of which `None` is a run that was stopped.
fn comparison(experiment: &Experiment, outcomes: Vec<Option<RunStats>>) -> Comparison {
    let mut rows = Vec::new();
    for (case, runs) in experiment.cases.iter().zip(outcomes.chunks(experiment.runs_of_case())) {
        let sides = experiment.sides();
        let side = |which| runs.iter().skip(which).step_by(sides).cloned().collect::<Option<Vec<_>>>();
        if let (Some(base), Some(with)) = (side(0), side(sides - 1)) {
            rows.push(result::row(experiment, case, base, with));
        }
    }
    comparison_of(experiment, rows)
}

/// The comparison of an experiment with these rows.
fn comparison_of(experiment: &Experiment, rows: Vec<CompareRow>) -> Comparison {
    Comparison {
        kind: Kind::Simulated,
        experiment: experiment.info(),
        machine: experiment.machine.clone(),
        schedulers: schedulers(experiment),
        complete: rows.len() == experiment.cases.len(),
        rows,
        assumed: assumed::assumed(experiment),
        published: experiment.published.files().to_vec(),
    }
}

/// The schedulers of sched_ext on the sides, each once.
fn schedulers(experiment: &Experiment) -> Vec<String> {
    let sides = [&experiment.base, &experiment.with].into_iter().take(experiment.sides());
    let mut names: Vec<String> =
        sides.filter_map(|side| side.scheduler.as_ref()).map(|scheduler| scheduler.name().to_owned()).collect();
    names.dedup();
    names
}
