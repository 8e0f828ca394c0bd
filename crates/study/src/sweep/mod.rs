//! Sweeps: the runs of a whole space of machines, kernels, workloads, loads, sides and tunables.
//!
//! Every run has a number, and what it is follows from its number alone. So any part of a sweep can be made anywhere,
//! in any order, and has the same rows: on one machine by this module, or on many, which each make some of the parts.

pub mod columns;

use crate::compare::{Block, Case, RunProgress, run_base};
use crate::experiment::{AxisValue, Grid, Remembering, Shipped, SpecError, SweepSpec};
use crate::runners::{Answer, Question, answer};
use crate::runs::fence::worker::serve;
use crate::runs::jobs::run_jobs;
use crate::runs::{RunFailed, RunId, Runner};
use oorandom::Rand64;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use wakelab_input::files;
use wakelab_measure::RunStats;

/// The highest number of runs of a sweep.
const RUNS_MAX: u64 = 10_000_000;

/// The largest file that a sweep names, bytes: scheduler objects are larger than what somebody writes.
const NAMED_MAX: u64 = 64 << 20;

/// The points of one machine of a grid.
#[derive(Debug)]
struct GridMachine {
    grid: usize,
    machine: usize,
    /// The number of its first point in the space.
    first: u64,
    /// The workloads at all their loads.
    cases: u64,
}

/// A point of the space: what a run is, but for its repeat.
#[derive(Debug)]
struct Point {
    machine: usize,
    /// Kernel, side and values of the tunables, as one number.
    combination: u64,
    kernel: usize,
    side: usize,
    values: Vec<u64>,
    case: usize,
}

/// A block that has been looked up, with the machine and the combination that it is of.
type Kept = (usize, u64, Arc<Block>);

/// A sweep whose names have been looked up.
#[derive(Debug)]
pub struct Sweep {
    spec: SweepSpec,
    machines: Vec<GridMachine>,
    /// The numbers of the points that were drawn, in ascending order; `None` for all.
    drawn: Option<Vec<u64>>,
    /// The points in the space.
    space: u64,
    /// Warnings about the workloads' files and the sides, each once.
    pub warnings: Vec<String>,
    /// The last block that was looked up. Runs in a row mostly have the same.
    kept: Mutex<Option<Kept>>,
}

/// A run, and its measured value.
#[derive(Clone, Debug)]
pub struct SweepRow {
    /// The number of the run in the sweep, from 0.
    pub run: u64,
    /// The number of its point in the space, from 0.
    pub point: u64,
    /// The machine.
    pub machine: String,
    /// The kernel.
    pub kernel: &'static str,
    /// The switches of the side, without the tunables of the grid.
    pub side: String,
    /// The tunables of the grid.
    pub tunables: Vec<(String, AxisValue)>,
    /// The benchmark.
    pub benchmark: String,
    /// The case of the benchmark.
    pub case: String,
    /// The load.
    pub load: String,
    /// The number of the repeat, from 0.
    pub repeat: u32,
    /// The seed of the run.
    pub seed: u64,
    /// The name of `value`.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// The numbers of the run, or why it has none.
    pub stats: Result<RunStats, String>,
}

/// Why a sweep ended early.
#[derive(Debug)]
pub enum SweepError {
    /// A name or a value is wrong.
    Spec(SpecError),
    /// A part could not be written.
    Write(String),
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepError::Spec(error) => error.fmt(f),
            SweepError::Write(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for SweepError {}

/// The resources that runs are made with.
pub struct Making<'a> {
    /// Makes them, or has kept them.
    pub runner: &'a dyn Runner,
    /// Runs at a time; 0 for as many as there are cores.
    pub jobs: usize,
    /// Hears of each run.
    pub progress: &'a dyn RunProgress,
    /// Ends it early.
    pub stop: &'a AtomicBool,
}

impl Sweep {
    /// Looks up the names of a sweep.
    ///
    /// Each machine is looked up with each kernel and side, and with each value of each tunable beside the first ones
    /// of the others; not every combination is.
    ///
    /// # Errors
    /// Fails if one of these cannot be simulated, or if there are more than 10 million runs.
    pub fn new(spec: SweepSpec) -> Result<Self, SpecError> {
        let (mut machines, mut warnings, mut first) = (Vec::new(), Vec::new(), 0u64);
        let too_many = |what: String| SpecError { place: spec.place.clone(), what, hint: None };
        for (at, grid) in spec.grids.iter().enumerate() {
            for machine in 0..grid.machines.len() {
                let cases = check(grid, machine, &mut warnings)?;
                let points = grid.combinations().and_then(|combinations| combinations.checked_mul(cases));
                let end = points.and_then(|points| first.checked_add(points));
                let Some(end) = end else {
                    let what = "the space has more points than a number of 64 bits can count";
                    return Err(too_many(what.to_owned()).with_hint("give fewer values"));
                };
                machines.push(GridMachine { grid: at, machine, first, cases });
                first = end;
            }
        }
        let samples = spec.samples.as_ref().map(|samples| samples.value).filter(|&samples| samples < first);
        let runs = samples.unwrap_or(first).checked_mul(spec.repeats.into());
        if runs.is_none_or(|runs| runs > RUNS_MAX) {
            let runs = runs.map_or("more than 2^64".to_owned(), |runs| runs.to_string());
            let what = format!("{runs} runs; expected {RUNS_MAX} or fewer");
            return Err(too_many(what).with_hint("samples = 1000 draws points, or give fewer values"));
        }
        let drawn = samples.map(|samples| draw(spec.seed, first, samples));
        Ok(Sweep { machines, drawn, space: first, warnings, kept: Mutex::default(), spec })
    }

    /// The sweep as it was written.
    pub fn spec(&self) -> &SweepSpec {
        &self.spec
    }

    /// What tells this sweep from others: a hash of the version of wakelab, of the sweep's text and of the files that
    /// it names.
    ///
    /// # Errors
    /// Fails with the path if a file cannot be read.
    pub fn id(&self, version: &str) -> Result<String, String> {
        let mut hash = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(version.as_bytes());
        add(self.spec.text.as_bytes());
        // Not their paths: workers of a cluster have them elsewhere, in the same order.
        for path in self.spec.files() {
            add(&files::read_file(&path, NAMED_MAX).map_err(|error| format!("{}: {error}", path.display()))?);
        }
        Ok(hash.finalize().to_hex().to_string())
    }

    /// The number of points in the space.
    pub fn space(&self) -> u64 {
        self.space
    }

    /// The number of points that are run.
    pub fn points(&self) -> u64 {
        self.drawn.as_ref().map_or(self.space, |drawn| drawn.len() as u64)
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.points() * u64::from(self.spec.repeats)
    }

    /// The number of parts.
    pub fn parts(&self) -> u64 {
        self.runs().div_ceil(self.spec.runs_per_part)
    }

    /// The numbers of the runs of a part.
    pub fn runs_of(&self, part: u64) -> Range<u64> {
        let runs = self.spec.runs_per_part;
        (part * runs).min(self.runs())..((part + 1) * runs).min(self.runs())
    }

    /// The names of all tunables, in the order in which they first appear.
    pub fn tunables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for axis in self.spec.grids.iter().flat_map(|grid| &grid.axes) {
            if !names.contains(&axis.name.as_str()) {
                names.push(axis.name.as_str());
            }
        }
        names
    }

    /// Makes all runs of these parts, which ascend. `finished` gets each part with its rows in order, and those of
    /// several parts in any order. A run that fails is a row. Returns whether it was not stopped.
    ///
    /// # Errors
    /// Fails if a combination cannot be simulated, or as `finished` does.
    pub fn run(
        &self,
        parts: &[u64],
        making: &Making<'_>,
        finished: &(dyn Fn(u64, Vec<SweepRow>) -> Result<(), String> + Sync),
    ) -> Result<bool, SweepError> {
        // Only the last part of all may have fewer runs than the others.
        let a_part = self.spec.runs_per_part as usize;
        let length = |part: u64| {
            let runs = self.runs_of(part);
            (runs.end - runs.start) as usize
        };
        let runs = parts.last().map_or(0, |&last| (parts.len() - 1) * a_part + length(last));
        let begun: Mutex<BTreeMap<u64, Vec<SweepRow>>> = Mutex::default();
        // Millions of jobs each have room for an error.
        let all = run_jobs(runs, making.jobs, making.stop, |job, done| {
            let part = parts[job / a_part];
            let run = self.runs_of(part).start + (job % a_part) as u64;
            let Some((id, row)) = self.one(run, making).map_err(Box::new)? else { return Ok(None) };
            let whole = {
                let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
                let rows = begun.entry(part).or_default();
                rows.push(row);
                let is_whole = rows.len() == length(part);
                is_whole.then(|| begun.remove(&part)).flatten()
            };
            if let Some(mut rows) = whole {
                rows.sort_unstable_by_key(|row| row.run);
                finished(part, rows).map_err(|what| Box::new(SweepError::Write(what)))?;
            }
            making.progress.run(done.next(), runs, &id);
            Ok(Some(()))
        });
        let all = all.map_err(|error: Box<SweepError>| *error)?;
        Ok(all.iter().all(Option::is_some))
    }

    /// Makes one run; `None` if it was stopped.
    fn one(&self, run: u64, making: &Making<'_>) -> Result<Option<(RunId, SweepRow)>, SweepError> {
        let (number, repeat) = (self.number_of_point(run), (run % u64::from(self.spec.repeats)) as u32);
        let point = self.point(number);
        let block = self.block(&point).map_err(SweepError::Spec)?;
        let case = &block.cases[point.case];
        let (id, stats) = match run_base(making.runner, &block, case, (repeat, run), making.stop) {
            Ok(None) => return Ok(None),
            Ok(Some((id, stats))) => (id, Ok(stats)),
            Err(RunFailed { run, why }) => (*run, Err(why.to_string())),
        };
        let grid = &self.spec.grids[self.machines[point.machine].grid];
        let tunables = grid.axes.iter().zip(&point.values);
        let Case { workload, .. } = case;
        let row = SweepRow {
            run,
            point: number,
            machine: id.machine.clone(),
            kernel: id.kernel,
            side: grid.sides[point.side].value.clone(),
            tunables: tunables.map(|(axis, &at)| (axis.name.clone(), axis.value(at))).collect(),
            benchmark: workload.benchmark.clone(),
            case: workload.case.clone(),
            load: workload.load.clone(),
            repeat,
            seed: id.seed,
            metric: workload.metric.clone(),
            unit: workload.unit.clone(),
            higher_is_better: workload.higher_is_better,
            stats,
        };
        Ok(Some((id, row)))
    }

    /// In a worker of [`Fence`](crate::runs::fence::Fence): makes the runs that it is asked for, and does not return.
    pub fn serve(&self) {
        serve(|question: Question| {
            let Some(run) = question.number.filter(|run| *run < self.runs()) else { return Answer::Unknown };
            match self.block(&self.point(self.number_of_point(run))) {
                Ok(block) => answer([&*block], &question),
                Err(_) => Answer::Unknown,
            }
        });
    }

    /// The number of the point of a run.
    fn number_of_point(&self, run: u64) -> u64 {
        let number = run / u64::from(self.spec.repeats);
        self.drawn.as_ref().map_or(number, |drawn| drawn[number as usize])
    }

    /// The point of that number.
    fn point(&self, number: u64) -> Point {
        let machine = self.machines.partition_point(|machine| machine.first <= number) - 1;
        let GridMachine { grid, first, cases, .. } = self.machines[machine];
        let grid = &self.spec.grids[grid];
        let combination = (number - first) / cases;
        let mut rest = combination;
        let mut digit = |count: u64| {
            let digit = rest % count;
            rest /= count;
            digit
        };
        let mut values: Vec<u64> = grid.axes.iter().rev().map(|axis| digit(axis.count())).collect();
        values.reverse();
        let side = digit(grid.sides.len() as u64) as usize;
        let kernel = digit(grid.kernels.len() as u64) as usize;
        Point { machine, combination, kernel, side, values, case: ((number - first) % cases) as usize }
    }

    fn block(&self, point: &Point) -> Result<Arc<Block>, SpecError> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((machine, combination, block)) = &*kept()
            && (*machine, *combination) == (point.machine, point.combination)
        {
            return Ok(Arc::clone(block));
        }
        let GridMachine { grid, machine, .. } = self.machines[point.machine];
        let spec = self.spec.grids[grid].spec(machine, point.kernel, point.side, &point.values);
        let block = Arc::new(spec.resolve_two_sides()?);
        *kept() = Some((point.machine, point.combination, Arc::clone(&block)));
        Ok(block)
    }
}

/// Looks up a machine of a grid with its kernels, sides and values. Returns the number of its cases.
fn check(grid: &Grid, machine: usize, warnings: &mut Vec<String>) -> Result<u64, SpecError> {
    let mut cases = 0;
    let catalogue = Remembering::new(&Shipped);
    let first = vec![0; grid.axes.len()];
    for (kernel, side) in (0..grid.kernels.len()).flat_map(|k| (0..grid.sides.len()).map(move |s| (k, s))) {
        let mut checked = vec![Vec::new()];
        for (at, axis) in grid.axes.iter().enumerate() {
            let of_axis = |value| {
                let mut values = first.clone();
                values[at] = value;
                values
            };
            checked.extend(axis.checked().into_iter().map(of_axis));
        }
        for values in checked {
            let block = grid.spec(machine, kernel, side, &values).two_sides_from(&catalogue)?;
            cases = block.cases.len() as u64;
            for warning in block.warnings {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
    }
    Ok(cases)
}

/// Draws `count` numbers below `all`, each as likely as any other and none twice (Floyd's algorithm: Bentley,
/// "Programming pearls: a sample of brilliance", CACM 30, 1987). Returns them in ascending order.
fn draw(seed: u64, all: u64, count: u64) -> Vec<u64> {
    let mut random = Rand64::new(seed.into());
    let mut drawn = BTreeSet::new();
    for last in all - count..all {
        let number = random.rand_range(0..last + 1);
        if !drawn.insert(number) {
            drawn.insert(last);
        }
    }
    drawn.into_iter().collect()
}

/// A number that a run measures, as a column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The name of the column.
    pub name: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// Takes it from the numbers of a run; `None` if the run has none.
    pub of: MeasuredOf,
}

/// How a number is taken from a run.
#[derive(Clone, Copy, Debug)]
pub enum MeasuredOf {
    /// A count or a time.
    Whole(fn(&RunStats) -> Option<u64>),
    /// Any other number.
    Number(fn(&RunStats) -> Option<f64>),
}

/// The measurements of a run besides the metric of its workload. docs/sweep.md describes the columns.
pub const MEASURED: [Measured; 26] = {
    use MeasuredOf::{Number, Whole};
    const fn of(name: &'static str, unit: &'static str, of: MeasuredOf) -> Measured {
        Measured { name, unit, of }
    }
    [
        of("measured_ns", "ns", Whole(|run| Some(run.measured_ns))),
        of("done", "transactions", Whole(|run| Some(run.done))),
        of("latency_p50_ns", "ns", Whole(|run| (run.latency.n > 0).then_some(run.latency.p50))),
        of("latency_p99_ns", "ns", Whole(|run| (run.latency.n > 0).then_some(run.latency.p99))),
        of("wakeups", "wake-ups", Whole(|run| Some(run.wakeups))),
        of("wakeup_p50_ns", "ns", Whole(|run| (run.wakeup_latency.n > 0).then_some(run.wakeup_latency.p50))),
        of("wakeup_p95_ns", "ns", Whole(|run| (run.wakeup_latency.n > 0).then_some(run.wakeup_latency.p95))),
        of("wakeup_p99_ns", "ns", Whole(|run| (run.wakeup_latency.n > 0).then_some(run.wakeup_latency.p99))),
        of("wakeup_max_ns", "ns", Whole(|run| (run.wakeup_latency.n > 0).then_some(run.wakeup_latency.max))),
        of("busy_ns_per_wakeup", "ns", Number(|run| run.busy_ns_per_wakeup)),
        of("migrations", "migrations", Whole(|run| Some(run.migrations))),
        of("switches_voluntary", "switches", Whole(|run| Some(run.switches_voluntary))),
        of("switches_involuntary", "switches", Whole(|run| Some(run.switches_involuntary))),
        of("idle_pct", "%", Number(|run| Some(run.idle_pct))),
        of("rq_lock_pct", "%", Number(|run| Some(run.rq_lock_pct))),
        of("llc_util", "1", Number(|run| run.llc_util)),
        of("sis_search", "searches", Whole(|run| Some(run.search.sis_search))),
        of("sis_domain_search", "searches", Whole(|run| Some(run.search.sis_domain_search))),
        of("sis_scanned", "run queues", Whole(|run| Some(run.search.sis_scanned))),
        of("sis_failed", "searches", Whole(|run| Some(run.search.sis_failed))),
        of("fast_rate_pct", "%", Number(|run| run.search.fast_rate_pct())),
        of("success_rate_pct", "%", Number(|run| run.search.success_rate_pct())),
        of("se_eff_pct", "%", Number(|run| run.search.se_eff_pct())),
        of("dom_eff_pct", "%", Number(|run| run.search.dom_eff_pct())),
        of("energy_j", "J", Number(|run| Some(run.power.as_ref()?.energy_nj()? as f64 / 1e9))),
        of("missed_16ms", "transactions", Whole(|run| (run.latency.n > 0).then_some(run.latency.missed_16ms))),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_once_and_evenly() {
        assert_eq!(draw(1, 5, 5), [0, 1, 2, 3, 4]);
        let mut counts = [0u32; 10];
        for seed in 0..4000 {
            let drawn = draw(seed, 10, 3);
            assert!(drawn.is_sorted_by(|a, b| a < b) && drawn.len() == 3, "{drawn:?}");
            drawn.iter().for_each(|&number| counts[number as usize] += 1);
        }
        // 1200 are expected of each; 5 standard deviations are 145.
        assert!(counts.iter().all(|count| count.abs_diff(1200) < 145), "{counts:?}");
        assert_eq!(draw(7, u64::MAX, 2), draw(7, u64::MAX, 2));
    }
}
