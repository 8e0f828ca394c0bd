//! Any number of sides: machines, kernels and variants, each variant against the base.

use super::{Comparison, Experiment, RunProgress, Until, comparison_of, result, run};
use crate::runs::estimate::Estimator;
use crate::runs::jobs::{self, FinishedJobs};
use crate::runs::{Key, Program, RunFailed, Runner};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use wakelab_measure::RunStats;
use wakelab_statistics::{GeometricMean, geometric_mean};

/// A comparison of any number of machines, kernels and sides.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The name of the base.
    pub base: String,
    /// The names of the variants that are compared with it, one or more.
    pub variants: Vec<String>,
    /// For each machine and kernel an experiment for each variant. Those of one machine and kernel differ in their side
    /// `with` alone.
    pub experiments: Vec<Experiment>,
    /// Warnings about the workloads' files and the sides, each once.
    pub warnings: Vec<String>,
}

impl Matrix {
    /// A comparison of two sides.
    pub fn of_two_sides(experiment: Experiment) -> Self {
        let warnings = experiment.warnings.clone();
        Matrix { base: "base".to_owned(), variants: vec!["with".to_owned()], experiments: vec![experiment], warnings }
    }

    /// All experiments of several matrices, which have the same base, variants and repeats, as one.
    pub(crate) fn of_all(matrices: &[Matrix]) -> Self {
        let mut all = matrices[0].clone();
        for matrix in &matrices[1..] {
            all.experiments.extend(matrix.experiments.iter().cloned());
            for warning in &matrix.warnings {
                if !all.warnings.contains(warning) {
                    all.warnings.push(warning.clone());
                }
            }
        }
        all
    }

    /// The experiments of each machine and kernel.
    pub fn blocks(&self) -> impl Iterator<Item = &[Experiment]> {
        self.experiments.chunks(self.variants.len())
    }

    /// The number of rows: every case of every machine and kernel, for each variant.
    pub fn rows(&self) -> usize {
        self.experiments.iter().map(|experiment| experiment.cases.len()).sum()
    }

    /// The number of runs: each case on the base and on each variant, as often as it is repeated at most.
    pub fn runs(&self) -> usize {
        let sides = self.variants.len() + 1;
        let most = |one: &Experiment| one.until.map_or(one.repeats, |until| until.most.max(one.repeats)) as usize;
        self.blocks().map(|block| block[0].cases.len() * sides * most(&block[0])).sum()
    }

    /// About how much CPU time a second of simulated time takes in all runs together, s.
    pub fn cpu_s_per_simulated_s(&self) -> f64 {
        let estimator = Estimator::default();
        let of_line = |block: &[Experiment], line: usize| {
            let (setup, _) = run::setup_of(&block[0], &block[0].cases[line], false, 0);
            estimator.cpu_s(&setup, 1_000_000_000) * 1e9 / setup.until.min(1_000_000_000) as f64
        };
        let of_block = |block: &[Experiment]| -> f64 {
            let runs = block[0].repeats as usize * (self.variants.len() + 1);
            (0..block[0].cases.len()).map(|line| of_line(block, line)).sum::<f64>() * runs as f64
        };
        self.blocks().map(of_block).sum()
    }

    /// Plans all runs, and counts those that `runner` keeps.
    pub fn plan(&self, runner: &dyn Runner) -> MatrixPlan {
        let program = Program::named("plan");
        let estimator = Estimator::new(runner.costs());
        let (mut seen, mut plan) = (HashSet::new(), MatrixPlan::default());
        for block in self.blocks() {
            for line in 0..block[0].cases.len() {
                for (repeat, side) in runs_of_line(self, block[0].repeats) {
                    let (experiment, with) = side_of(block, side);
                    let (setup, settle) = run::setup_of(experiment, &experiment.cases[line], with, repeat);
                    if !seen.insert(Key::new(program, &setup, settle)) {
                        continue;
                    }
                    let kept = runner.keeps(&setup, settle, experiment.regret);
                    plan.runs += 1;
                    plan.kept += usize::from(kept);
                    plan.cpu_s += if kept { 0.0 } else { estimator.cpu_s(&setup, experiment.end_ns()) };
                }
            }
        }
        plan
    }
}

/// The plan of a matrix's runs, without those that `until` adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MatrixPlan {
    /// The runs, each once.
    pub runs: usize,
    /// Those of them that are kept.
    pub kept: usize,
    /// About how much CPU time the others take, s.
    pub cpu_s: f64,
}

/// A case of which a side with a foreign scheduler has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRow {
    /// The name of the base or of the variant.
    pub side: String,
    /// Its first run that failed, and why.
    pub failed: RunFailed,
}

/// The result of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixComparison {
    /// The name of the base.
    pub base: String,
    /// The names of the variants that are compared with it.
    pub variants: Vec<String>,
    /// For each machine and kernel a comparison for each variant. Those of one machine and kernel have the same base in
    /// each row, and the same rows but for those that failed.
    pub comparisons: Vec<Comparison>,
    /// By machine and kernel, and line: by variant the number of its row.
    lines: Vec<Vec<Vec<Option<usize>>>>,
    /// What foreign schedulers failed at, in the order of the matrix. A row of a variant is not there if the variant or
    /// the base has failed.
    pub failed: Vec<FailedRow>,
    /// Whether all rows are there, or have failed: false after a stop.
    pub complete: bool,
}

impl MatrixComparison {
    /// The comparisons of each machine and kernel.
    pub fn blocks(&self) -> impl Iterator<Item = &[Comparison]> {
        self.comparisons.chunks(self.variants.len())
    }

    /// The comparisons of a variant, by its place among the variants, on each machine and kernel.
    pub fn of_variant(&self, variant: usize) -> impl Iterator<Item = &Comparison> + Clone {
        self.comparisons.iter().skip(variant).step_by(self.variants.len())
    }

    /// The number of lines of the table: those of which some variant has a row.
    pub fn lines(&self) -> usize {
        self.lines.iter().map(Vec::len).sum()
    }

    /// The comparisons of each machine and kernel, with its lines in the order of the cases: of each line the number of
    /// the row of every variant among that variant's rows; `None` if it has failed.
    pub fn block_lines(&self) -> impl Iterator<Item = (&[Comparison], &[Vec<Option<usize>>])> {
        self.blocks().zip(self.lines.iter().map(Vec::as_slice))
    }

    /// The geometric mean of a variant over the comparisons and rows that `which` takes; `None` if there is none.
    pub fn mean(
        &self,
        variant: usize,
        which: impl Fn(&Comparison, &super::CompareRow) -> bool,
    ) -> Option<GeometricMean> {
        let rows = self.of_variant(variant).flat_map(|found| found.rows.iter().map(move |row| (found, row)));
        let rows = rows.filter(|(found, row)| which(found, row));
        geometric_mean(rows.map(|(_, row)| (&row.base.values[..], &row.with.values[..], row.better)))
    }
}

/// The runs of a case of a machine and kernel, on all sides, as they become known.
struct Line {
    block: usize,
    case: usize,
    /// By side, the base first; by repeat.
    runs: Vec<Vec<Option<RunStats>>>,
    /// By side: its first run that failed.
    failed: Vec<Option<RunFailed>>,
}

/// Repeats and sides of a line in the order in which they run, so that an interrupted matrix has whole lines.
fn runs_of_line(matrix: &Matrix, repeats: u32) -> impl Iterator<Item = (u32, usize)> {
    let sides = matrix.variants.len() + 1;
    (0..repeats).flat_map(move |repeat| (0..sides).map(move |side| (repeat, side)))
}

/// The experiment that has a side, and whether it is its side `with`.
fn side_of(block: &[Experiment], side: usize) -> (&Experiment, bool) {
    (&block[side.saturating_sub(1)], side > 0)
}

/// Runs every case of a matrix on all its sides with `runner`, `jobs` runs at a time (0: as many as there are cores).
/// The runs of the base are made once for all variants.
///
/// Once `stop` is set, runs end early and are discarded. The result then has the rows all of whose runs were done, and
/// [`MatrixComparison::complete`] is false.
///
/// A run of a side with a foreign scheduler may fail, and the others go on ([`MatrixComparison::failed`]).
///
/// # Errors
/// Returns the failed run of another side that comes first in the order of the matrix.
pub fn compare_matrix(
    runner: &dyn Runner,
    matrix: &Matrix,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Result<MatrixComparison, RunFailed> {
    let blocks: Vec<&[Experiment]> = matrix.blocks().collect();
    let sides = matrix.variants.len() + 1;
    let of_block = |block: usize| (0..blocks[block][0].cases.len()).map(move |case| (block, case));
    let mut lines: Vec<Line> = (0..blocks.len())
        .flat_map(of_block)
        .map(|(block, case)| Line { block, case, runs: vec![Vec::new(); sides], failed: vec![None; sides] })
        .collect();
    let mut open: Vec<usize> = (0..lines.len()).collect();
    let (mut wanted, until) = (matrix.experiments[0].repeats, matrix.experiments[0].until);
    let mut told = 0;
    loop {
        let have = |line: &Line| line.runs[0].len() as u32;
        let runs: Vec<(usize, u32, usize)> = open
            .iter()
            .flat_map(|&line| {
                let first = have(&lines[line]);
                let runs = runs_of_line(matrix, wanted - first);
                let failed = &lines[line].failed;
                let goes_on = move |&(_, side): &(u32, usize)| failed[side].is_none();
                runs.filter(goes_on).map(move |(repeat, side)| (line, first + repeat, side))
            })
            .collect();
        let done = jobs::run_all(runs.len(), jobs, stop, |n, finished: &FinishedJobs| {
            let (line, repeat, side) = runs[n];
            let Line { block, case, .. } = &lines[line];
            let (experiment, with) = side_of(blocks[*block], side);
            let run = run::run(runner, experiment, &experiment.cases[*case], with, repeat, stop);
            let foreign = if with { &experiment.with } else { &experiment.base }.scheduler.is_some();
            let run = match run {
                Ok(None) => return Ok(None),
                Err(failed) if !foreign => return Err(failed),
                run => run.map(|done| done.expect("it was not stopped")),
            };
            let id = run.as_ref().map_or_else(|failed| &*failed.run, |(id, _)| id);
            progress.run(told + finished.next(), told + runs.len(), id);
            Ok(Some(run.map(|(_, stats)| stats)))
        })?;
        told += runs.len();
        let stopped = done.iter().any(Option::is_none);
        for ((line, _, side), made) in runs.into_iter().zip(done) {
            let line = &mut lines[line];
            match made.transpose() {
                Ok(stats) => line.runs[side].push(stats),
                Err(failed) => _ = line.failed[side].get_or_insert(failed),
            }
        }
        let Some(until) = until.filter(|_| !stopped) else { break };
        open.retain(|&line| {
            let line = &lines[line];
            line.failed[0].is_none() && !is_narrow(until, blocks[line.block], line)
        });
        if open.is_empty() || wanted >= until.most {
            break;
        }
        wanted = until.next(wanted);
    }
    Ok(collected(matrix, &lines))
}

/// Whether the intervals of all variants are narrow enough.
fn is_narrow(until: Until, block: &[Experiment], line: &Line) -> bool {
    let whole = line.whole();
    block.iter().enumerate().filter(|(variant, _)| line.failed[variant + 1].is_none()).all(|(variant, experiment)| {
        let [base, with] = line.sides(variant, whole);
        until.is_reached(&result::row(experiment, &experiment.cases[line.case], base, with))
    })
}

impl Line {
    /// The number of repeats that all sides have made, from the first on, but for those that failed.
    fn whole(&self) -> usize {
        let runs = self.runs.iter().zip(&self.failed).filter(|(_, failed)| failed.is_none()).map(|(runs, _)| runs);
        runs.map(|runs| runs.iter().take_while(|run| run.is_some()).count()).min().unwrap_or(0)
    }

    /// Whether a variant has no row here.
    fn has_failed(&self, variant: usize) -> bool {
        self.failed[0].is_some() || self.failed[variant + 1].is_some()
    }

    /// The first runs of the base and of a variant.
    fn sides(&self, variant: usize, repeats: usize) -> [Vec<RunStats>; 2] {
        [0, variant + 1].map(|side| self.runs[side].iter().take(repeats).flatten().cloned().collect())
    }
}

/// Builds the comparisons of what was run.
fn collected(matrix: &Matrix, lines: &[Line]) -> MatrixComparison {
    let variants = matrix.variants.len();
    let repeats = matrix.experiments[0].repeats as usize;
    let of_block = |block: usize| lines.iter().filter(move |line| line.block == block);
    let has_row = |line: &Line, variant: usize| !line.has_failed(variant) && line.whole() >= repeats;
    let comparison = |(at, experiment): (usize, &Experiment)| {
        let (block, variant) = (at / variants, at % variants);
        let rows = of_block(block).filter(|line| has_row(line, variant)).map(|line| {
            let [base, with] = line.sides(variant, line.whole());
            result::row(experiment, &experiment.cases[line.case], base, with)
        });
        let mut found = comparison_of(experiment, rows.collect());
        let failed = of_block(block).filter(|line| line.has_failed(variant)).count();
        found.complete = found.rows.len() + failed == experiment.cases.len();
        // A round of repeats that was stopped is not the last one.
        found.complete &= of_block(block).flat_map(|line| line.runs.iter().flatten()).all(Option::is_some);
        found
    };
    let comparisons: Vec<Comparison> = matrix.experiments.iter().enumerate().map(comparison).collect();
    let rows_of_block = |block: usize| -> Vec<Vec<Option<usize>>> {
        let mut next = vec![0; variants];
        let row = |(variant, next): (usize, &mut usize), line: &Line| {
            has_row(line, variant).then(|| std::mem::replace(next, *next + 1))
        };
        let mut rows = Vec::new();
        for line in of_block(block) {
            rows.push(next.iter_mut().enumerate().map(|next| row(next, line)).collect::<Vec<_>>());
        }
        rows.retain(|line| line.iter().any(Option::is_some));
        rows
    };
    let rows = (0..matrix.experiments.len() / variants).map(rows_of_block).collect();
    let names: Vec<&String> = std::iter::once(&matrix.base).chain(&matrix.variants).collect();
    let of_line = lines.iter().flat_map(|line| names.iter().zip(&line.failed));
    let failed =
        of_line.filter_map(|(side, failed)| Some(FailedRow { side: side.to_string(), failed: failed.clone()? }));
    let failed = failed.collect();
    let (base, variants) = (matrix.base.clone(), matrix.variants.clone());
    let complete = comparisons.iter().all(|comparison| comparison.complete);
    MatrixComparison { base, variants, comparisons, lines: rows, failed, complete }
}
