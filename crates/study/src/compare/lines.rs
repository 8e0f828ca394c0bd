//! The runs of blocks, over the cores: every case on all sides of its block, a line of the result.

use super::{Block, Comparison, Kind, RunProgress, Until, Variant, assumed, result, run};
use crate::runs::jobs::{self, FinishedJobs};
use crate::runs::{RunFailed, Runner};
use std::sync::atomic::AtomicBool;
use wakelab_measure::RunStats;

/// The runs of a case on all sides of its block, as they become known.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// By side, the base first; by repeat.
    runs: Vec<Vec<Option<RunStats>>>,
    /// By side: its first run that failed.
    pub(super) failed: Vec<Option<RunFailed>>,
}

/// Repeats and sides of a case in the order in which they run, so that an interrupted comparison has whole lines.
pub(super) fn runs_of_line(repeats: std::ops::Range<u32>, sides: usize) -> impl Iterator<Item = (u32, usize)> {
    repeats.flat_map(move |repeat| (0..sides).map(move |side| (repeat, side)))
}

/// Runs every case of the blocks on all their sides with `runner`, `jobs` runs at a time, as often as it is repeated,
/// or until its intervals are narrow enough. Returns the lines of each block, of which runs are `None` that were
/// stopped.
///
/// If a run fails, its side has no more runs of its case where `goes_on` says so of the side.
///
/// # Errors
/// Returns the failed run of another side that comes first in the order of the blocks.
pub(super) fn make_lines(
    runner: &dyn Runner,
    blocks: &[Block],
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
    goes_on: impl Fn(&Variant) -> bool + Sync,
) -> Result<Vec<Vec<Line>>, RunFailed> {
    let line = |sides: usize| Line { runs: vec![Vec::new(); sides], failed: vec![None; sides] };
    let mut lines: Vec<Vec<Line>> = blocks.iter().map(|block| vec![line(block.sides()); block.cases.len()]).collect();
    let mut open: Vec<(usize, usize)> =
        blocks.iter().enumerate().flat_map(|(at, block)| (0..block.cases.len()).map(move |case| (at, case))).collect();
    let mut told = 0;
    while !open.is_empty() {
        let runs_of = |&(at, case): &(usize, usize)| {
            let (block, line) = (&blocks[at], &lines[at][case]);
            let made = line.repeats();
            let wanted = block.until.filter(|_| made > 0).map_or(block.repeats, |until| until.next(made));
            let goes_on = move |&(_, side): &(u32, usize)| line.failed[side].is_none();
            runs_of_line(made..wanted, block.sides())
                .filter(goes_on)
                .map(move |(repeat, side)| (at, case, side, repeat))
        };
        let runs: Vec<(usize, usize, usize, u32)> = open.iter().flat_map(runs_of).collect();
        let done = jobs::run_jobs(runs.len(), jobs, stop, |n, finished: &FinishedJobs| {
            let (at, case, side, repeat) = runs[n];
            let block = &blocks[at];
            let made = match run::run_case(runner, block, &block.cases[case], (side, repeat), stop) {
                Ok(None) => return Ok(None),
                Err(failed) if !goes_on(block.side(side)) => return Err(failed),
                made => made.map(|done| done.expect("it was not stopped")),
            };
            let id = made.as_ref().map_or_else(|failed| &*failed.run, |(id, _)| id);
            progress.run(told + finished.next(), told + runs.len(), id);
            Ok(Some(made.map(|(_, stats)| stats)))
        })?;
        told += runs.len();
        let stopped = done.iter().any(Option::is_none);
        for ((at, case, side, _), made) in runs.into_iter().zip(done) {
            let line = &mut lines[at][case];
            match made.transpose() {
                Ok(stats) => line.runs[side].push(stats),
                Err(failed) => _ = line.failed[side].get_or_insert(failed),
            }
        }
        open.retain(|&(at, case)| {
            let (block, line) = (&blocks[at], &lines[at][case]);
            let goes_on = |until| line.failed[0].is_none() && !line.is_enough(until, block, case);
            !stopped && block.until.is_some_and(goes_on)
        });
    }
    Ok(lines)
}

impl Line {
    /// The repeats that were begun on the base.
    fn repeats(&self) -> u32 {
        self.runs[0].len() as u32
    }

    /// The number of repeats that all sides have made, from the first on, but for those that failed.
    fn whole(&self) -> usize {
        let runs = self.runs.iter().zip(&self.failed).filter(|(_, failed)| failed.is_none()).map(|(runs, _)| runs);
        runs.map(|runs| runs.iter().take_while(|run| run.is_some()).count()).min().unwrap_or(0)
    }

    /// Whether a side cannot be compared with the base here.
    fn has_failed(&self, side: usize) -> bool {
        self.failed[0].is_some() || self.failed[side].is_some()
    }

    /// Whether there is a row of a side.
    pub(super) fn has_row(&self, block: &Block, side: usize) -> bool {
        !self.has_failed(side) && self.whole() >= block.repeats as usize
    }

    /// The row of a side.
    fn row(&self, block: &Block, case: usize, side: usize) -> super::CompareRow {
        let whole = self.whole();
        let [base, with] = [0, side].map(|side| self.runs[side].iter().take(whole).flatten().cloned().collect());
        result::row(block, &block.cases[case], block.side(side), base, with)
    }

    /// Whether the intervals of all variants are narrow enough, or the most repeats have been made.
    fn is_enough(&self, until: Until, block: &Block, case: usize) -> bool {
        let mut sides = block.compared_sides().filter(|&side| self.failed[side].is_none());
        self.repeats() >= until.most || sides.all(|side| until.is_reached(&self.row(block, case, side)))
    }
}

/// The comparison of a side with the base.
pub(super) fn comparison(block: &Block, lines: &[Line], side: usize) -> Comparison {
    let row = |(case, line): (usize, &Line)| line.has_row(block, side).then(|| line.row(block, case, side));
    let rows: Vec<_> = lines.iter().enumerate().filter_map(row).collect();
    let failed = lines.iter().filter(|line| line.has_failed(side)).count();
    // A round of repeats that was stopped is not the last one.
    let all_made = lines.iter().flat_map(|line| line.runs.iter().flatten()).all(Option::is_some);
    let with = block.side(side);
    Comparison {
        kind: Kind::Simulated,
        experiment: block.info(with),
        machine: block.machine.clone(),
        schedulers: schedulers(&block.base, with),
        complete: rows.len() + failed == block.cases.len() && all_made,
        rows,
        assumed: assumed::assumed(block, &[&block.base, with]),
        published: block.published.files().to_vec(),
    }
}

/// The schedulers of sched_ext on two sides, each once.
fn schedulers(base: &Variant, with: &Variant) -> Vec<String> {
    let named = [base, with].into_iter().filter_map(|side| side.scheduler.as_ref());
    let mut names: Vec<String> = named.map(|scheduler| scheduler.name().to_owned()).collect();
    names.dedup();
    names
}
