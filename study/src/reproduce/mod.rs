//! Published tables, simulated: a scoreboard that says row by row how close the model comes.
//!
//! [`tables`] reads what was published and says of each row how it is simulated, or why not; [`reproduce`] simulates each
//! distinct case once and scores the tables. A row's class is by the posting's own noise ([`noise_pct`]).

mod beside;
mod boosting;
mod form;
mod frequency;
mod go_on;
mod histogram;
mod score;

pub use beside::Beside;
pub use form::{Published, Recipe, What};
pub use frequency::{Turbostat, WorstOver};
pub use score::{Class, Summary, noise_pct};

pub use crate::compare::SearchRates;

use crate::compare::{
    Assumed, CompareRow, Experiment, PublishedError, RunFailed, RunId, RunProgress, Runner, Side, Simulator,
    compare_all,
};
use crate::experiment::{Given, Spec};
use go_on::GoOn;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A published table cannot be read, or is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReproduceError {
    /// A file is not as it should be.
    #[error(transparent)]
    File(#[from] PublishedError),
    /// No table of that name.
    #[error("no published table {name}; expected one of {}{}", names().join(", "), near(name))]
    Unknown {
        /// What was given.
        name: String,
    },
    /// The folder has no table that is known.
    #[error("{}: no published table in it; expected files such as sis_util-results.csv", folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
}

fn near(name: &str) -> String {
    crate::near::did_you_mean(name, names())
}

/// A published table.
#[derive(Clone, Debug)]
pub struct Table {
    /// The file's stem.
    pub name: String,
    /// Its rows.
    pub rows: Vec<Published>,
    /// What is to be said of all of it.
    pub notes: Vec<String>,
}

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Runs of each case on each side.
    pub repeats: u32,
    /// What is simulated before measuring begins, ns.
    pub settle_ns: u64,
    /// What is measured, ns.
    pub time_ns: u64,
    /// Only rows with a published effect or search statistics, and of each workload the first and the last of them.
    pub headlines: bool,
}

impl Effort {
    /// All rows.
    pub const FULL: Effort = Effort { repeats: 1, settle_ns: 500_000_000, time_ns: 100_000_000, headlines: false };
    /// Few rows, once and shortly.
    pub const QUICK: Effort = Effort { repeats: 1, settle_ns: 350_000_000, time_ns: 50_000_000, headlines: true };
}

impl Effort {
    /// What is simulated before measuring, and what is measured, ns: longer where the benchmark says that it takes longer.
    fn times_of(self, workload: &str) -> (u64, u64) {
        let takes = wakelab_workload::takes(workload);
        (self.settle_ns.max(takes.settle_ns), self.time_ns.max(takes.time_ns))
    }
}

/// A row with what the simulation gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scored {
    /// The file's columns and the row's cells.
    pub cells: Vec<(String, String)>,
    /// Why it is not simulated.
    pub excluded: Option<String>,
    /// The published difference, %.
    pub published_compare_pct: Option<f64>,
    /// The simulated one.
    pub simulated_compare_pct: Option<f64>,
    /// What a difference has to exceed to be an effect, %.
    pub noise_pct: f64,
    /// The published baseline, with the curve that it is a point of.
    pub published_baseline: Option<(String, f64)>,
    /// The simulated one, in a unit that is the published one's times a constant.
    pub simulated_baseline: Option<f64>,
    /// Published search statistics of the base side.
    pub published_search: Option<SearchRates>,
    /// The simulated ones.
    pub simulated_search: Option<SearchRates>,
    /// Published numbers that are no differences, and the simulated ones.
    pub beside: Option<Beside>,
    /// Published share of CPU time in run-queue locks of the base side, %.
    pub published_rq_lock_pct: Option<f64>,
    /// The simulated one: of waiting for them only.
    pub simulated_rq_lock_pct: Option<f64>,
}

/// A table with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredTable {
    /// The file's stem.
    pub name: String,
    /// Its rows, as in the file.
    pub rows: Vec<Scored>,
    /// What is to be said of all of it.
    pub notes: Vec<String>,
    /// The score.
    pub summary: Summary,
}

/// All tables.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    /// In the order they were asked for.
    pub tables: Vec<ScoredTable>,
    /// What of machines and workloads is assumed.
    pub assumed: Vec<Assumed>,
    /// What was simulated.
    pub effort: Effort,
    /// The first failed run of each case that had one: its rows are excluded with the reason.
    pub failed: Vec<RunFailed>,
    /// False after a stop: rows that were not reached are excluded.
    pub complete: bool,
}

/// The names of all tables that are known.
pub fn names() -> Vec<&'static str> {
    form::TABLES.iter().map(|(name, _)| *name).collect()
}

/// Reads the tables of these names (all that are there where none is given) from a folder. Of another CSV file that lies there,
/// each row is excluded with the reason.
///
/// # Errors
/// Where a name is neither known nor that of a file there, or a file is not as it should be.
pub fn tables(folder: &Path, wanted: &[String]) -> Result<Vec<Table>, ReproduceError> {
    let path = |name: &str| folder.join(format!("{name}.csv"));
    let known = || form::TABLES.iter().map(|&(name, form)| (name.to_owned(), form));
    let others = others(folder);
    let there = known().filter(|(name, _)| path(name).exists() || wanted.contains(name));
    let all: Vec<(String, form::Form)> = there.chain(others).collect();
    if let Some(name) = wanted.iter().find(|&name| !all.iter().any(|(other, _)| other == name)) {
        return Err(ReproduceError::Unknown { name: name.clone() });
    }
    let chosen = all.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name));
    let tables: Vec<Table> = chosen
        .map(|(name, form)| {
            let (rows, notes) = form.read(&path(&name))?;
            Ok(Table { name, rows, notes })
        })
        .collect::<Result<_, ReproduceError>>()?;
    if tables.is_empty() { Err(ReproduceError::Empty { folder: folder.to_owned() }) } else { Ok(tables) }
}

/// The CSV files of a folder that are no known table, by name.
fn others(folder: &Path) -> Vec<(String, form::Form)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let tables = files.filter(|path| path.extension().is_some_and(|end| end == "csv"));
    let stems = tables.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let unknown: BTreeSet<String> = stems.filter(|name| !names().contains(&name.as_str())).collect();
    unknown.into_iter().map(|name| (name, form::of_unknown())).collect()
}

/// Simulates what the tables ask for, `jobs` runs at a time (0: as many as there are cores), and scores them. A case that
/// cannot be made, or a run of which fails, excludes its own rows and no others.
pub fn reproduce(
    tables: &[Table],
    effort: Effort,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Scoreboard {
    reproduce_with(&Simulator, tables, effort, jobs, progress, stop)
}

/// The same with another runner than the simulator.
pub fn reproduce_with(
    runner: &dyn Runner,
    tables: &[Table],
    effort: Effort,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Scoreboard {
    let chosen: Vec<Vec<bool>> = tables.iter().map(|table| choose(table, effort)).collect();
    let mut loads: BTreeMap<&Recipe, BTreeSet<u64>> = BTreeMap::new();
    for (table, chosen) in tables.iter().zip(&chosen) {
        for (row, _) in table.rows.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
            let Ok((recipe, load)) = &row.recipe else { continue };
            loads.entry(recipe).or_default().insert(*load);
            if let Some(over) = &row.over {
                for recipe in [recipe, &over.reference] {
                    loads.entry(recipe).or_default().extend(over.loads);
                }
            }
        }
    }
    let mut found = Found::new();
    let (mut assumed, mut failed): (Vec<Assumed>, Vec<RunFailed>) = (Vec::new(), Vec::new());
    let mut complete = true;
    let all = loads.values().map(|loads| loads.len() * effort.repeats as usize * 2).sum();
    let mut done = 0;
    for (recipe, loads) in loads {
        let runs = loads.len() * effort.repeats as usize * 2;
        // Each load by itself: one that cannot be made is not in the way of the others.
        let (mut made, mut experiments): (Vec<u64>, Vec<Experiment>) = (Vec::new(), Vec::new());
        for load in loads {
            match spec(recipe, load, effort).and_then(|spec| spec.resolve()) {
                Ok(experiment) => {
                    made.push(load);
                    experiments.push(experiment);
                }
                // Where it was given is a flag that nobody gave.
                Err(error) => drop(found.insert((recipe, load), Err(first_line(&error.what)))),
            }
        }
        let runner = GoOn::new(runner);
        match compare_all(&runner, &experiments, jobs, &Part { progress, done, all }, stop) {
            Err(error) => {
                found.extend(made.iter().map(|&load| ((recipe, load), Err(why_failed(&error)))));
                failed.push(error);
            }
            Ok(comparisons) => {
                for ((load, experiment), comparison) in made.into_iter().zip(&experiments).zip(comparisons) {
                    let row = match runner.failure(&experiment.cases[0].workload.load) {
                        Some(failure) => {
                            let why = why_failed(&failure);
                            failed.push(failure);
                            Some(Err(why))
                        }
                        None => comparison.rows.into_iter().next().map(Ok),
                    };
                    complete &= row.is_some();
                    found.extend(row.map(|row| ((recipe, load), row)));
                    let new = comparison.assumed.into_iter().filter(|one| !assumed.contains(one)).collect::<Vec<_>>();
                    assumed.extend(new);
                }
            }
        }
        done += runs;
    }
    let scored = tables.iter().zip(&chosen).map(|(table, chosen)| {
        let rows: Vec<Scored> =
            table.rows.iter().zip(chosen).map(|(row, &chosen)| scored(row, chosen, &found)).collect();
        ScoredTable { name: table.name.clone(), summary: score::summary(&rows), rows, notes: table.notes.clone() }
    });
    Scoreboard { tables: scored.collect(), assumed, effort, failed, complete }
}

/// Why a case whose run failed is excluded.
fn why_failed(failed: &RunFailed) -> String {
    format!("a run failed: {}", first_line(&failed.to_string()))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Which rows are simulated.
fn choose(table: &Table, effort: Effort) -> Vec<bool> {
    if !effort.headlines {
        return vec![true; table.rows.len()];
    }
    let headline = |row: &Published| {
        let effect = row.compare_pct.is_some_and(|pct| Class::of(pct, noise_pct(row.spreads)) != Class::Same);
        let frequency = matches!(row.what, What::WorstRatio | What::Turbostat(_));
        effect || frequency || row.search.is_some() || row.rq_lock_pct.is_some()
    };
    let keys: Vec<Option<&Recipe>> = table
        .rows
        .iter()
        .map(|row| row.recipe.as_ref().ok().filter(|_| headline(row)).map(|(recipe, _)| recipe))
        .collect();
    let first = |at: usize| !keys[..at].contains(&keys[at]);
    let last = |at: usize| !keys[at + 1..].contains(&keys[at]);
    (0..keys.len()).map(|at| keys[at].is_some() && (first(at) || last(at))).collect()
}

fn spec(recipe: &Recipe, load: u64, effort: Effort) -> Result<Spec, crate::experiment::SpecError> {
    let Recipe { machine, kernel, base, with, workload, params, observer_cost_ns } = recipe;
    let unit = if wakelab_workload::is_by_rate(workload) { "/s" } else { "" };
    let mut spec = Spec::of_flags(machine, kernel, workload, Some(&format!("{load}{unit}")), base, with)?;
    for workload in &mut spec.workloads {
        workload.params =
            params.iter().map(|(name, value)| (name.clone(), Given::by_default("params", *value))).collect();
    }
    spec.repeats = Given::by_default("repeats", effort.repeats);
    spec.observer_cost_ns = *observer_cost_ns;
    let (settle_ns, time_ns) = effort.times_of(workload);
    spec.settle_ns = Given::by_default("settle", settle_ns);
    spec.time_ns = Given::by_default("time", time_ns);
    Ok(spec)
}

/// Part of all runs.
pub(crate) struct Part<'a> {
    pub(crate) progress: &'a dyn RunProgress,
    /// How many were done before.
    pub(crate) done: usize,
    pub(crate) all: usize,
}

impl RunProgress for Part<'_> {
    fn run(&self, done: usize, _: usize, run: &RunId) {
        self.progress.run(self.done + done, self.all, run);
    }
}

/// What was simulated, by recipe and load, or why it could not be.
type Found<'a> = BTreeMap<(&'a Recipe, u64), Result<CompareRow, String>>;

fn scored(row: &Published, chosen: bool, found: &Found<'_>) -> Scored {
    let mut scored = Scored {
        cells: row.cells.clone(),
        published_compare_pct: row.compare_pct,
        noise_pct: noise_pct(row.spreads),
        published_baseline: row.baseline.clone(),
        published_search: row.search,
        published_rq_lock_pct: row.rq_lock_pct,
        ..Scored::default()
    };
    if let (Some(computed), Some(unit), Some(published)) = (row.computed, row.what.unit(), row.beside) {
        scored.beside = Some(Beside { what: unit, published, simulated: [Some(computed), None] });
        return scored;
    }
    if let (Ok((recipe, _)), Some(over), true) = (&row.recipe, &row.over, chosen) {
        match worst_ratio(recipe, over, found) {
            Ok(ratio) => scored.beside = beside::of_base(row.what, row.beside, ratio),
            Err(why) => scored.excluded = Some(why.to_owned()),
        }
        return scored;
    }
    let simulated = match &row.recipe {
        Ok(_) if !chosen => Err("not a headline"),
        Ok((recipe, load)) => match found.get(&(recipe, *load)) {
            Some(Ok(simulated)) => Ok((simulated, *load)),
            Some(Err(why)) => Err(why.as_str()),
            None => Err("interrupted"),
        },
        Err(why) => Err(why.as_str()),
    };
    match simulated {
        Err(why) => scored.excluded = Some(why.to_owned()),
        Ok((simulated, load)) => {
            scored.simulated_compare_pct = difference(row.what, simulated);
            scored.simulated_search = rates(&simulated.base);
            scored.beside = beside::beside(row.what, row.beside, simulated);
            scored.simulated_baseline = match row.what {
                What::Latency(permille) => latency(&simulated.base, permille),
                What::RqLock | What::Turbostat(_) => None,
                _ => Some(baseline(simulated, load)),
            };
            scored.simulated_rq_lock_pct = row.rq_lock_pct.map(|_| simulated.base.rq_lock_pct);
        }
    }
    scored
}

/// The highest ratio of the base side's metric to that of the reference.
fn worst_ratio(recipe: &Recipe, over: &WorstOver, found: &Found<'_>) -> Result<f64, String> {
    let mean = |recipe, load| match found.get(&(recipe, load)) {
        Some(Ok(row)) => Ok(row.base.mean),
        Some(Err(why)) => Err(why.clone()),
        None => Err("interrupted".to_owned()),
    };
    over.loads
        .iter()
        .try_fold(0.0, |worst: f64, &load| Ok(worst.max(mean(recipe, load)? / mean(&over.reference, load)?)))
}

/// The base side's value in the unit of postings, but for a constant: hackbench prints the time that a number of loops takes,
/// through which each group goes, and the model counts messages.
fn baseline(row: &CompareRow, load: u64) -> f64 {
    match row.benchmark.as_str() {
        "hackbench" => load as f64 / row.base.mean,
        _ => row.base.mean,
    }
}

fn difference(what: What, row: &CompareRow) -> Option<f64> {
    let (base, with) = (row.base.search.counts, row.with.search.counts);
    let change = |old: u64, new: u64| (old != 0).then(|| 100.0 * (new as f64 / old as f64 - 1.0));
    // The postings' benchmarks do a fixed amount of work, the model's runs take a fixed time.
    let done = |side: &Side| side.runs.iter().map(|run| run.done).sum::<u64>() as f64;
    let per_work = done(&row.base) / done(&row.with);
    let work = |old: u64, new: u64| (old != 0).then(|| 100.0 * (new as f64 / old as f64 * per_work - 1.0));
    match what {
        What::Metric | What::Value(_) => Some(row.compare_pct),
        What::Power => power(&row.base).zip(power(&row.with)).map(|(base, with)| 100.0 * (1.0 - with / base)),
        What::Search | What::WalkUs { .. } | What::NrIdleScan | What::RqLock => None,
        What::WorstRatio | What::Turbostat(_) => None,
        What::Latency(permille) => {
            let sides = latency(&row.base, permille).zip(latency(&row.with, permille));
            sides.filter(|(base, _)| *base > 0.0).map(|(base, with)| 100.0 * (base - with) / base)
        }
        What::SisSearch => change(base.sis_search, with.sis_search),
        What::SisDomainSearch => change(base.sis_domain_search, with.sis_domain_search),
        What::SisScanned => change(base.sis_scanned, with.sis_scanned),
        What::SisFailed => change(base.sis_failed, with.sis_failed),
        What::WorkCalls => work(base.sis_search, with.sis_search),
        What::WorkDomainSearch => work(base.sis_domain_search, with.sis_domain_search),
        What::WorkScanned => work(base.sis_scanned, with.sis_scanned),
        What::WorkFailed => work(base.sis_failed, with.sis_failed),
        What::ScannedPerDomainSearch => {
            let pair = row.base.search.scanned_per_domain_search.zip(row.with.search.scanned_per_domain_search);
            pair.map(|(base, with)| 100.0 * (with / base - 1.0))
        }
    }
}

/// Mean power of a side, mW.
fn power(side: &Side) -> Option<f64> {
    side.power.as_ref().and_then(|power| power.total_mw)
}

/// A percentile of a side's latencies, ns, mean over repeats.
fn latency(side: &Side, permille: u32) -> Option<f64> {
    let values: Option<Vec<u64>> = side.runs.iter().map(|run| run.latency.at(permille)).collect();
    values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<u64>() as f64 / values.len() as f64)
}

fn rates(side: &Side) -> Option<SearchRates> {
    let search = &side.search;
    Some(SearchRates {
        se_eff_pct: search.se_eff_pct?,
        dom_eff_pct: search.dom_eff_pct?,
        fast_rate_pct: search.fast_rate_pct?,
        success_rate_pct: search.success_rate_pct?,
    })
}
