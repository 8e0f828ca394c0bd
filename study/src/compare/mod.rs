//! Two feature sets compared on a simulated machine.
//!
//! [`compare()`] runs every case of an [`Experiment`] on both sides, as often as it is repeated, and returns a
//! [`Comparison`]. The result depends only on the experiment, not on the number of runs at a time or their order.

pub(crate) mod assumed;
mod control;
mod experiment;
mod jobs;
mod power;
mod recording;
mod result;
mod run;
mod search;
mod variant;

pub use crate::published::{Published, PublishedError};
pub use control::{Control, ControlRow, control};
pub use experiment::{Case, Experiment, run_seed};
pub use power::{KindSummary, PowerSummary};
pub use recording::Recording;
pub(crate) use recording::run_info;
pub use result::{Assumed, Better, CompareRow, Comparison, ExperimentInfo, Kind, PublishedRow, SearchRates, Side};
pub use run::{RunFailed, RunId, Runner, Simulator, Why};
pub(crate) use run::{measured, run_with};
pub use search::{
    CostOf, CpuSummary, LooksSummary, Positions, RegretSummary, SearchSummary, SearchesSummary, StateSummary,
    StatesSummary, WakeupSummary, other_state_ns,
};
pub use variant::{PowerSideError, Variant, VariantError};

use jobs::FinishedJobs;
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

/// Runs every case of an experiment on both sides with `runner`, `jobs` runs at a time (0: as many as there are cores).
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
    let mut found = compare_all(runner, std::slice::from_ref(experiment), jobs, progress, stop)?;
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
    let mut count = 0;
    let end_of = |experiment: &Experiment| {
        count += experiment.runs();
        count
    };
    // The end of the runs of each experiment, exclusive.
    let ends: Vec<usize> = experiments.iter().map(end_of).collect();
    let outcomes = jobs::run_all(count, jobs, stop, |n, finished: &FinishedJobs| {
        let which = ends.partition_point(|&end| end <= n);
        let experiment = &experiments[which];
        let n = n - (ends[which] - experiment.runs());
        // Base and with alternate, and cases follow each other, so that an interrupted comparison has whole rows.
        let repeats = experiment.repeats as usize;
        let (case, repeat, with) = (n / (2 * repeats), n / 2 % repeats, n % 2 == 1);
        let run = run::run(runner, experiment, &experiment.cases[case], with, repeat as u32, stop);
        if let Ok(Some((id, _))) = &run {
            progress.run(finished.next(), count, id);
        }
        run.map(|done| done.map(|(_, stats)| stats))
    })?;
    let mut outcomes = outcomes.into_iter();
    Ok(experiments
        .iter()
        .map(|experiment| comparison(experiment, outcomes.by_ref().take(experiment.runs()).collect()))
        .collect())
}

/// Builds the comparison from the outcomes of the runs, of which `None` is a run that was stopped.
fn comparison(experiment: &Experiment, outcomes: Vec<Option<RunStats>>) -> Comparison {
    let mut rows = Vec::new();
    for (case, runs) in experiment.cases.iter().zip(outcomes.chunks(2 * experiment.repeats as usize)) {
        let side = |which| runs.iter().skip(which).step_by(2).cloned().collect::<Option<Vec<_>>>();
        if let (Some(base), Some(with)) = (side(0), side(1)) {
            rows.push(result::row(experiment, case, base, with));
        }
    }
    Comparison {
        kind: Kind::Simulated,
        experiment: experiment.info(),
        machine: experiment.machine.clone(),
        complete: rows.len() == experiment.cases.len(),
        rows,
        assumed: assumed::assumed(experiment),
        published: experiment.published.files().to_vec(),
    }
}
