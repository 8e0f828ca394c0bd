//! How sure a conclusion is: the comparison again, with every assumed constant changed within its range.
//!
//! A sample is the experiment with other constants and the same seeds, so that the difference is the effect of the
//! constants. For each row, the [`Verdict`] is whether its class (better, same, worse) stays, and if not, which
//! constant decides.

mod decision_stump;
mod hypercube;
mod plan;
mod result;
mod verdict;

pub(crate) use hypercube::Hypercube;
pub use plan::{BUDGET, BUDGET_MAX, Method, Plan, PlanError};
pub use result::{Classes, Condition, Constant, Influence, Sample, Sensitivity, SensitivityRow, Share, Side, Verdict};
pub use verdict::SAMPLES_MIN;

use crate::compare::{Block, Comparison, RunProgress, compare_all};
use crate::experiment::SpecError;
use crate::reproduce::PartialProgress;
use crate::runs::{RunFailed, Runner};
use std::sync::atomic::{AtomicBool, Ordering};

/// Why there are no verdicts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SensitivityError {
    /// The experiment cannot be built with other constants.
    #[error("--sensitivity: with constants changed: {0}")]
    Spec(#[from] SpecError),
    /// A run with other constants failed.
    #[error(
        "--sensitivity: with constants changed: {0}\n  hint: narrow the range of the constants in a machine file of \
         your own, or give the workload's number in an experiment file"
    )]
    Run(#[from] RunFailed),
}

/// How the samples are run.
#[derive(Clone, Copy)]
pub struct Running<'a> {
    /// The runner.
    pub runner: &'a dyn Runner,
    /// The number of runs at a time; 0 for as many as there are cores.
    pub jobs: usize,
    /// Receives the progress of all runs.
    pub progress: &'a dyn RunProgress,
    /// Ends it early. The samples all of whose runs were done count.
    pub stop: &'a AtomicBool,
}

/// Runs the samples of `plan` and judges the rows of `nominal`, the comparison with the constants as they are.
///
/// # Errors
/// Fails if a sample cannot be built, or if a run fails.
pub fn sensitivity(plan: &Plan, nominal: &Comparison, running: Running<'_>) -> Result<Sensitivity, SensitivityError> {
    let Running { runner, jobs, progress, stop } = running;
    let mut samples: Vec<Sample> = Vec::new();
    let first = plan.samples.first().map(|values| plan.experiment(values)).transpose()?;
    let per_sample = first.as_ref().map_or(0, Block::runs);
    let all = plan.samples.len() * per_sample;
    for batch in plan.samples.chunks(samples_at_a_time(per_sample, jobs)) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let experiments = batch.iter().map(|values| plan.experiment(values)).collect::<Result<Vec<_>, _>>()?;
        let done = samples.len() * per_sample;
        let comparisons = compare_all(runner, &experiments, jobs, &PartialProgress { progress, done, all }, stop)?;
        for (values, comparison) in batch.iter().zip(comparisons).filter(|(_, comparison)| comparison.complete) {
            let compare_pct = nominal.rows.iter().map(|row| comparison.row_like(row).map(|row| row.compare_pct));
            samples.push(Sample { values: values.clone(), compare_pct: compare_pct.collect() });
        }
    }
    let rows = nominal.rows.iter().enumerate().map(|(at, row)| verdict::judge(plan, row, at, &samples)).collect();
    Ok(Sensitivity {
        method: plan.method,
        seed: plan.seed,
        fitted: plan.fitted.clone(),
        asked: plan.samples.len(),
        complete: samples.len() == plan.samples.len(),
        constants: plan.constants.clone(),
        rows,
        samples,
    })
}

/// Returns a number of samples that keeps the cores busy and is no larger, because each sample holds its workloads.
fn samples_at_a_time(per_sample: usize, jobs: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let at_a_time = if jobs == 0 { cores() } else { jobs };
    (4 * at_a_time).div_ceil(per_sample.max(1))
}
