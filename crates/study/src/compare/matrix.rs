//! Any number of sides: machines, kernels and variants, each variant against the base.

use super::lines::{Line, comparison, make_lines, runs_of_line};
use super::{Block, Comparison, RunProgress, run};
use crate::runs::estimate::Estimator;
use crate::runs::{Key, Program, RunFailed, Runner};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use wakelab_statistics::{GeometricMean, geometric_mean};

/// A comparison of any number of machines, kernels and sides.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The name of the base.
    pub base: String,
    /// The names of the variants that are compared with it.
    pub variants: Vec<String>,
    /// What is compared on each machine and kernel, one or more.
    pub blocks: Vec<Block>,
    /// Warnings about the workloads' files and the sides, each once.
    pub warnings: Vec<String>,
}

impl Matrix {
    /// All blocks of several matrices, which have the same base, variants and repeats, as one.
    pub(crate) fn of_all(matrices: &[Matrix]) -> Self {
        let mut all = matrices[0].clone();
        for matrix in &matrices[1..] {
            all.blocks.extend(matrix.blocks.iter().cloned());
            for warning in &matrix.warnings {
                if !all.warnings.contains(warning) {
                    all.warnings.push(warning.clone());
                }
            }
        }
        all
    }

    /// The number of rows: every case of every block, for each side that is compared with the base.
    pub fn rows(&self) -> usize {
        self.blocks.iter().map(|block| block.cases.len() * block.compared_sides().len()).sum()
    }

    /// The number of runs: each case on the base and on each variant, as often as it is repeated at most.
    pub fn runs(&self) -> usize {
        self.blocks.iter().map(Block::most_runs).sum()
    }

    /// About how much CPU time a second of simulated time takes in all runs together, s.
    pub fn cpu_s_per_simulated_s(&self) -> f64 {
        let estimator = Estimator::default();
        let of_block = |block: &Block| -> f64 {
            let of_case = |case| {
                let (setup, _) = run::setup_of(block, case, 0, 0);
                estimator.cpu_s(&setup, 1_000_000_000) * 1e9 / setup.until.min(1_000_000_000) as f64
            };
            let runs = block.repeats as usize * block.sides();
            block.cases.iter().map(of_case).sum::<f64>() * runs as f64
        };
        self.blocks.iter().map(of_block).sum()
    }

    /// Plans all runs, and counts those that `runner` keeps.
    pub fn plan(&self, runner: &dyn Runner) -> MatrixPlan {
        let program = Program::named("plan");
        let estimator = Estimator::new(runner.costs());
        let (mut seen, mut plan) = (HashSet::new(), MatrixPlan::default());
        let cases = self.blocks.iter().flat_map(|block| block.cases.iter().map(move |case| (block, case)));
        for (block, case) in cases {
            for (repeat, side) in runs_of_line(0..block.repeats, block.sides()) {
                let (setup, settle) = run::setup_of(block, case, side, repeat);
                if !seen.insert(Key::new(program, &setup, settle)) {
                    continue;
                }
                let kept = runner.keeps(&setup, settle, block.regret);
                plan.runs += 1;
                plan.kept += usize::from(kept);
                plan.cpu_s += if kept { 0.0 } else { estimator.cpu_s(&setup, block.end_ns()) };
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
        self.comparisons.chunks(self.variants.len().max(1))
    }

    /// The comparisons of a variant, by its place among the variants, on each machine and kernel.
    pub fn of_variant(&self, variant: usize) -> impl Iterator<Item = &Comparison> + Clone {
        self.comparisons.iter().skip(variant).step_by(self.variants.len().max(1))
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
    let lines = make_lines(runner, &matrix.blocks, jobs, progress, stop, |side| side.scheduler.is_some())?;
    let blocks = || matrix.blocks.iter().zip(&lines);
    let comparisons: Vec<Comparison> = blocks()
        .flat_map(|(block, lines)| block.compared_sides().map(move |side| comparison(block, lines, side)))
        .collect();
    let names: Vec<&String> = std::iter::once(&matrix.base).chain(&matrix.variants).collect();
    let of_line = lines.iter().flatten().flat_map(|line| names.iter().zip(&line.failed));
    let failed =
        of_line.filter_map(|(side, failed)| Some(FailedRow { side: side.to_string(), failed: failed.clone()? }));
    Ok(MatrixComparison {
        base: matrix.base.clone(),
        variants: matrix.variants.clone(),
        lines: blocks().map(|(block, lines)| numbered(block, lines)).collect(),
        failed: failed.collect(),
        complete: comparisons.iter().all(|comparison| comparison.complete),
        comparisons,
    })
}

/// Of each line of a block in which some variant has a row, the number of the row of every variant.
fn numbered(block: &Block, lines: &[Line]) -> Vec<Vec<Option<usize>>> {
    let mut next = vec![0; block.sides()];
    let mut row = |line: &Line, side: usize| {
        line.has_row(block, side).then(|| {
            next[side] += 1;
            next[side] - 1
        })
    };
    let mut rows: Vec<Vec<Option<usize>>> =
        lines.iter().map(|line| block.compared_sides().map(|side| row(line, side)).collect()).collect();
    rows.retain(|line| line.iter().any(Option::is_some));
    rows
}
