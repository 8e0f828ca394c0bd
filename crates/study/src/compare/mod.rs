//! Feature sets compared on simulated machines.
//!
//! A [`Block`] is what is compared on one machine and kernel: the base, and the variants that are compared with it.
//! [`compare()`] runs every case of a block of two sides, as often as it is repeated, and returns a [`Comparison`].
//! [`compare_matrix()`] does so for any number of machines, kernels and variants. The result depends only on the
//! blocks, not on the number of runs at a time or their order.

pub(crate) mod assumed;
mod block;
mod control;
mod decided_nothing;
pub(crate) mod effect;
mod lines;
mod matrix;
mod power;
pub(crate) mod published;
mod result;
pub(crate) mod run;
mod search;
mod sides;
mod until;

pub use block::{Block, Case};
pub use control::{Control, ControlRow, control};
pub use decided_nothing::DecidedNothing;
pub use effect::{Class, noise_of, noise_of_means, noise_pct};
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

use crate::runs::{RunFailed, RunId, Runner};
use lines::{Line, make_lines};
use std::sync::atomic::AtomicBool;

/// Receives how far a comparison has come.
pub trait RunProgress: Sync {
    /// `run` is done, as number `done` of `all`, from 1.
    fn run(&self, done: usize, all: usize, run: &RunId);
}

impl RunProgress for () {
    fn run(&self, _: usize, _: usize, _: &RunId) {}
}

/// Runs every case of a block on its two sides with `runner`, `jobs` runs at a time (0: as many as there are cores), as
/// often as it is repeated, or until its intervals are narrow enough.
///
/// Once `stop` is set, runs end early and are discarded. The comparison then has the rows all of whose runs were done,
/// and [`Comparison::complete`] is false.
///
/// # Errors
/// Returns the failed run that comes first in the order of the block.
pub fn compare(
    runner: &dyn Runner,
    block: &Block,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Result<Comparison, RunFailed> {
    let mut found = compare_all(runner, std::slice::from_ref(block), jobs, progress, stop)?;
    Ok(found.pop().expect("one block gives one comparison"))
}

/// Compares the two sides of several blocks at once and returns the comparisons in the same order. The runs of all of
/// them share the cores.
///
/// # Errors
/// Returns the failed run that comes first in the order of the blocks.
pub(crate) fn compare_all(
    runner: &dyn Runner,
    blocks: &[Block],
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Result<Vec<Comparison>, RunFailed> {
    let lines = make_lines(runner, blocks, jobs, progress, stop, |_| false)?;
    Ok(blocks.iter().zip(lines).map(|(block, lines)| of_two_sides(block, &lines)).collect())
}

/// Compares several blocks as [`compare_all`] does. A run that fails costs its own block alone, of which the error is
/// its first failed run.
pub(crate) fn compare_each(
    runner: &dyn Runner,
    blocks: &[Block],
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Vec<Result<Comparison, RunFailed>> {
    let lines = make_lines(runner, blocks, jobs, progress, stop, |_| true).expect("no failure ends the others");
    let of_block = |(block, lines): (&Block, Vec<Line>)| {
        let failed = lines.iter().find_map(|line| line.failed.iter().flatten().min_by_key(|failed| failed.run.repeat));
        failed.map_or_else(|| Ok(of_two_sides(block, &lines)), |failed| Err(failed.clone()))
    };
    blocks.iter().zip(lines).map(of_block).collect()
}

/// The comparison of a block of two sides, or of its base alone.
fn of_two_sides(block: &Block, lines: &[Line]) -> Comparison {
    debug_assert!(block.sides() <= 2, "there are two sides");
    lines::comparison(block, lines, block.compared_sides().start)
}
