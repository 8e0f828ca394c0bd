//! The scoreboard: each distinct case of the tables is simulated once, and every row is compared with what was
//! published.

use super::plan::cpu_s;
use super::quantity::{latency, power, search_rates};
use super::{Published, Quantity, Recipe, SearchRates, SideBySide, Summary, Table, WorstOver, score};
use crate::compare::{Assumed, Block, CompareRow, RunProgress, compare_each, setups};
use crate::compare::{Class, noise_pct};
use crate::experiment::{Given, Spec, SpecError};
use crate::runs::{RunFailed, RunId, Runner};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_statistics::Better;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The number of runs of each case on each side.
    pub repeats: u32,
    /// The number of runs on each side of a case that shows an effect in `repeats` runs. A single run is at the mercy
    /// of its seed where a machine has two states, or where a percentile is measured; postings have means or medians
    /// of several. Not less than `repeats`.
    pub confirm: u32,
    /// The simulated time before measuring begins, ns. Half of it is left when the last task has started.
    pub settle_ns: u64,
    /// The measured time, ns.
    pub time_ns: u64,
    /// Whether only headlines are simulated: of each table the rows whose published differences are the largest and
    /// the least, in units of their noise, and the last row with search statistics, lock times or frequencies; each of
    /// those that take little time.
    pub headlines: bool,
    /// Whether each run is as long as its benchmark asks for where it is compared with published results, which is
    /// longer than what it needs to mean anything.
    pub as_published: bool,
}

impl Effort {
    /// All rows.
    pub const FULL: Effort = Effort {
        repeats: 1,
        confirm: 3,
        settle_ns: 500_000_000,
        time_ns: 100_000_000,
        headlines: false,
        as_published: true,
    };
    /// Few rows, once and shortly.
    pub const QUICK: Effort = Effort {
        repeats: 1,
        confirm: 1,
        settle_ns: 250_000_000,
        time_ns: 50_000_000,
        headlines: true,
        as_published: false,
    };
}

impl Effort {
    /// Returns the simulated time before measuring and the measured time, ns, which are longer if the benchmark needs
    /// it.
    fn times_of(self, workload: &str) -> (u64, u64) {
        use wakelab_workload::{published_run, shortest_run};
        let shortest = if self.as_published { published_run(workload) } else { shortest_run(workload) };
        (self.settle_ns.max(shortest.settle_ns), self.time_ns.max(shortest.time_ns))
    }
}

/// A row with the result of the simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scored {
    /// The columns of the file with the cells of the row.
    pub cells: Vec<(String, String)>,
    /// The simulated workload, with the number of instances, if the row is a result of the benchmark and no statistic.
    pub simulated: Option<(Recipe, u64)>,
    /// Why the row is not simulated.
    pub excluded: Option<String>,
    /// The published difference, %.
    pub published_compare_pct: Option<f64>,
    /// The simulated difference, %.
    pub simulated_compare_pct: Option<f64>,
    /// The directions in which the published and the simulated quantity are better: of hackbench a time is published
    /// and a throughput simulated. `None` if the row is not simulated.
    pub better: Option<[Better; 2]>,
    /// The noise limit, %: a larger difference is an effect.
    pub noise_pct: f64,
    /// The published baseline, with the name of the curve that it is a point of.
    pub published_baseline: Option<(String, f64)>,
    /// The simulated baseline, in a unit that is a constant times the published one.
    pub simulated_baseline: Option<f64>,
    /// The published search statistics of the base side.
    pub published_search: Option<SearchRates>,
    /// The simulated search statistics of the base side.
    pub simulated_search: Option<SearchRates>,
    /// Values that are compared as they are, not as a difference.
    pub side_by_side: Option<SideBySide>,
    /// The published share of CPU time in run-queue locks of the base side, %.
    pub published_rq_lock_pct: Option<f64>,
    /// The simulated share of CPU time that waits for run-queue locks, %.
    pub simulated_rq_lock_pct: Option<f64>,
    /// The published spread of the base side, % of its mean.
    pub published_base_std_pct: Option<f64>,
    /// The published share of the machine's CPU time that was idle on the base side, %.
    pub published_idle_pct: Option<f64>,
    /// The simulated share, %.
    pub simulated_idle_pct: Option<f64>,
}

/// A table with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredTable {
    /// The stem of its file.
    pub name: String,
    /// Its rows, as in the file.
    pub rows: Vec<Scored>,
    /// Notes on all of it.
    pub notes: Vec<String>,
    /// Its score.
    pub summary: Summary,
}

/// All tables with their scores.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    /// The tables, in the order in which they were asked for.
    pub tables: Vec<ScoredTable>,
    /// The score of the rows of all tables.
    pub of_all: Summary,
    /// The assumed numbers of the machines and workloads.
    pub assumed: Vec<Assumed>,
    /// How much was simulated.
    pub effort: Effort,
    /// The first failed run of each case that had one. The rows of the case are excluded with the reason.
    pub failed: Vec<RunFailed>,
    /// False after a stop: the rows that were not reached are excluded.
    pub complete: bool,
}

/// Simulates what the tables need with `runner`, `jobs` runs at a time (0: as many as there are cores), and scores
/// them. Cases that show an effect are simulated [`confirm`](Effort::confirm) times.
///
/// A case that cannot be built, or of which a run fails, excludes its own rows and no others. Once `stop` is set, the
/// runs end early, and the rows that were not reached are excluded.
pub fn reproduce(
    runner: &dyn Runner,
    tables: &[Table],
    effort: Effort,
    jobs: usize,
    progress: &dyn RunProgress,
    stop: &AtomicBool,
) -> Scoreboard {
    let chosen: Vec<Vec<Choice>> = tables.iter().map(|table| choose(table, effort)).collect();
    let mut cases =
        Cases { runner, jobs, progress, stop, done: 0, found: Found::new(), assumed: Vec::new(), failed: Vec::new() };
    let mut complete = cases.simulate(&needed(tables, &chosen), effort);
    let score = |found: &Found<'_>| -> Vec<ScoredTable> {
        let scored = tables.iter().zip(&chosen).map(|(table, chosen)| {
            let rows: Vec<Scored> =
                table.rows.iter().zip(chosen).map(|(row, &chosen)| scored(row, chosen, found)).collect();
            ScoredTable { name: table.name.clone(), summary: score::summary(&rows), rows, notes: table.notes.clone() }
        });
        scored.collect()
    };
    let mut scored = score(&cases.found);
    if complete && effort.confirm > effort.repeats {
        complete = cases.simulate(&with_effect(tables, &scored), Effort { repeats: effort.confirm, ..effort });
        scored = score(&cases.found);
    }
    let of_all = score::summary_of_all(&scored);
    let Cases { assumed, failed, .. } = cases;
    Scoreboard { tables: scored, of_all, assumed, effort, failed, complete }
}

/// The cases of the rows that have an effect in the simulation, each once.
fn with_effect<'a>(tables: &'a [Table], scored: &[ScoredTable]) -> Vec<(&'a Recipe, u64)> {
    let rows = tables.iter().zip(scored).flat_map(|(table, scored)| table.rows.iter().zip(&scored.rows));
    let effects = rows.filter(|(_, scored)| {
        scored.published_compare_pct.is_some()
            && scored.simulated_compare_pct.is_some_and(|pct| Class::of(pct, scored.noise_pct) != Class::Same)
    });
    let cases = effects.filter_map(|(row, _)| row.recipe.as_ref().ok());
    cases.map(|(recipe, load)| (recipe, *load)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What is simulated, and what came of it so far.
struct Cases<'a, 'b> {
    runner: &'b dyn Runner,
    jobs: usize,
    progress: &'b dyn RunProgress,
    stop: &'b AtomicBool,
    /// The runs that are done.
    done: usize,
    found: Found<'a>,
    assumed: Vec<Assumed>,
    failed: Vec<RunFailed>,
}

impl<'a> Cases<'a, '_> {
    /// Simulates cases, in place of what was found of them before, and returns whether it was not stopped.
    fn simulate(&mut self, cases: &[(&'a Recipe, u64)], effort: Effort) -> bool {
        let mut complete = true;
        let all = self.done + cases.iter().map(|(recipe, _)| runs_of(recipe, effort)).sum::<usize>();
        for batch in cases.chunks(AT_A_TIME) {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            // Each load is an experiment of its own, so that a load that cannot be built does not affect the others.
            let (mut made, mut experiments): (Vec<(&Recipe, u64)>, Vec<Block>) = (Vec::new(), Vec::new());
            for &(recipe, load) in batch {
                match experiment(recipe, load, effort) {
                    Ok(experiment) => {
                        made.push((recipe, load));
                        experiments.push(experiment);
                    }
                    // The place in the error is a flag that the user did not give.
                    Err(error) => drop(self.found.insert((recipe, load), Err(first_line(&error.what)))),
                }
            }
            let progress = PartialProgress { progress: self.progress, done: self.done, all };
            let comparisons = compare_each(self.runner, &experiments, self.jobs, &progress, self.stop);
            for (key, comparison) in made.into_iter().zip(comparisons) {
                match comparison {
                    Err(error) => {
                        let why = format!("a run failed: {}", first_line(&error.to_string()));
                        self.found.insert(key, Err(why));
                        self.failed.push(error);
                    }
                    Ok(comparison) => {
                        let row = comparison.rows.into_iter().next();
                        complete &= row.is_some();
                        self.found.extend(row.map(|row| (key, Ok(row))));
                        for one in comparison.assumed {
                            if !self.assumed.contains(&one) {
                                self.assumed.push(one);
                            }
                        }
                    }
                }
            }
            self.done += batch.iter().map(|(recipe, _)| runs_of(recipe, effort)).sum::<usize>();
        }
        complete
    }
}

/// How many experiments are built at a time, because each holds its workloads.
const AT_A_TIME: usize = 64;

/// The number of runs of a recipe at a load.
pub(super) fn runs_of(recipe: &Recipe, effort: Effort) -> usize {
    effort.repeats as usize * if recipe.with.is_some() { 2 } else { 1 }
}

/// What the chosen rows need, each recipe at each load once.
pub(super) fn needed<'a>(tables: &'a [Table], chosen: &[Vec<Choice>]) -> Vec<(&'a Recipe, u64)> {
    let mut needed: BTreeSet<(&Recipe, u64)> = BTreeSet::new();
    for (table, chosen) in tables.iter().zip(chosen) {
        for (row, _) in table.rows.iter().zip(chosen).filter(|(_, chosen)| **chosen == Choice::Simulated) {
            let Ok((recipe, load)) = &row.recipe else { continue };
            needed.insert((recipe, *load));
            if let Some(over) = &row.over {
                for recipe in [recipe, &over.reference] {
                    needed.extend(over.loads.iter().map(|&load| (recipe, load)));
                }
            }
        }
    }
    needed.into_iter().collect()
}

pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// About how much CPU time the runs of a headline may take, s. Those of all tables together then took a minute and a
/// half on two cores.
const HEADLINE_CPU_S: f64 = 5.0;

/// Whether a row is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// It is, if it can be.
    Simulated,
    /// It is not: others are headlines.
    NotAHeadline,
    /// It would be a headline if it took less time.
    TooLong,
}

impl Choice {
    /// Why it is not simulated, if it is not.
    pub(super) fn why_not(self) -> Option<&'static str> {
        match self {
            Choice::Simulated => None,
            Choice::NotAHeadline => Some("not a headline"),
            Choice::TooLong => Some("takes too long for --quick"),
        }
    }
}

/// Returns which rows are simulated.
pub(super) fn choose(table: &Table, effort: Effort) -> Vec<Choice> {
    if !effort.headlines {
        return vec![Choice::Simulated; table.rows.len()];
    }
    let simulated = |at: &usize| table.rows[*at].recipe.is_ok();
    let in_noises = |at: &usize| {
        let row = &table.rows[*at];
        row.compare_pct.map_or(0.0, |pct| pct.abs() / noise_pct(row.spreads))
    };
    let observed = |at: &usize| {
        let row = &table.rows[*at];
        let frequency = matches!(row.quantity, Quantity::WorstRatio | Quantity::Turbostat(_));
        frequency || row.search.is_some() || row.rq_lock_pct.is_some()
    };
    let rows = || (0..table.rows.len()).filter(simulated);
    let mut choices = vec![Choice::NotAHeadline; table.rows.len()];
    // The first of the candidates that does not take too long.
    let mut choose_from = |candidates: Vec<usize>| {
        for at in candidates {
            if cpu_s_of(&table.rows[at], effort).is_none_or(|cpu_s| cpu_s <= HEADLINE_CPU_S) {
                choices[at] = Choice::Simulated;
                break;
            }
            choices[at] = Choice::TooLong;
        }
    };
    let mut largest: Vec<usize> = rows().filter(|at| in_noises(at) > 1.0).collect();
    largest.sort_by(|a, b| in_noises(b).total_cmp(&in_noises(a)));
    // The largest of all is no candidate for the least.
    let has_least = |at: &usize| table.rows[*at].compare_pct.is_some() && largest.first() != Some(at);
    let mut least: Vec<usize> = rows().filter(has_least).collect();
    least.sort_by(|a, b| in_noises(a).total_cmp(&in_noises(b)));
    choose_from(largest);
    choose_from(least);
    choose_from(rows().rev().filter(observed).collect());
    choices
}

/// About how much CPU time the runs of a row take, s; `None` if it cannot be simulated.
fn cpu_s_of(row: &Published, effort: Effort) -> Option<f64> {
    let (recipe, load) = row.recipe.as_ref().ok()?;
    let loads = row.over.as_ref().map_or_else(|| vec![*load], |over| over.loads.to_vec());
    let of_load = |load: u64| {
        let experiment = experiment(recipe, load, effort).ok()?;
        Some(setups(&experiment).map(|(setup, _)| cpu_s(&setup, experiment.end_ns())).sum::<f64>())
    };
    loads.into_iter().map(of_load).sum()
}

/// Returns the experiment of a recipe at a load.
pub(crate) fn experiment(recipe: &Recipe, load: u64, effort: Effort) -> Result<Block, SpecError> {
    let Recipe { machine, kernel, base, with, workload, params, pinned, observer_cost_ns } = recipe;
    let unit = if wakelab_workload::load_is_rate(workload) { "/s" } else { "" };
    let (load, other) = (format!("{load}{unit}"), with.as_ref().unwrap_or(base));
    let mut spec = Spec::of_two_sides(machine, kernel, workload, Some(&load), base, other)?;
    if with.is_none() {
        spec.variants.clear();
    }
    for workload in &mut spec.workloads {
        workload.params =
            params.iter().map(|(name, value)| (name.clone(), Given::by_default("params", *value))).collect();
    }
    spec.repeats = Given::by_default("repeats", effort.repeats);
    spec.observer_cost_ns = *observer_cost_ns;
    spec.pinned = pinned.clone().map(|cpus| Given::by_default("pinned", cpus));
    let (settle_ns, time_ns) = effort.times_of(workload);
    spec.settle_ns = Given::by_default("settle", settle_ns);
    spec.time_ns = Given::by_default("time", time_ns);
    let mut experiment = spec.resolve_two_sides()?;
    // Groups of hackbench start one task after another, 300 of them for longer than a run settles.
    let starts = experiment.cases.iter().flat_map(|case| &case.workload.tasks).map(|task| task.start_ns);
    experiment.settle_ns = experiment.settle_ns.max(starts.max().unwrap_or(0) + settle_ns / 2);
    if experiment.each_side().any(|side| side.acts_without_flips().is_some()) {
        experiment.settle_ns = experiment.settle_ns.max(wakelab_sim::FLIPS_GONE_NS);
    }
    Ok(experiment)
}

/// The progress of a part of all runs.
pub(crate) struct PartialProgress<'a> {
    pub(crate) progress: &'a dyn RunProgress,
    /// The number of runs that were done before.
    pub(crate) done: usize,
    pub(crate) all: usize,
}

impl RunProgress for PartialProgress<'_> {
    fn run(&self, done: usize, _: usize, run: &RunId) {
        self.progress.run(self.done + done, self.all, run);
    }
}

/// The simulated rows by recipe and load, or why there is none.
pub(crate) type Found<'a> = BTreeMap<(&'a Recipe, u64), Result<CompareRow, String>>;

/// Returns a row with its simulation, if it was chosen.
pub(crate) fn scored(row: &Published, chosen: Choice, found: &Found<'_>) -> Scored {
    let mut scored = Scored {
        cells: row.cells.clone(),
        published_compare_pct: row.compare_pct,
        noise_pct: noise_pct(row.spreads),
        published_baseline: row.baseline.clone(),
        published_search: row.search,
        published_rq_lock_pct: row.rq_lock_pct,
        published_base_std_pct: row.base_std_pct,
        published_idle_pct: row.idle_pct,
        ..Scored::default()
    };
    if let (Some(computed), Some(unit), Some(published)) = (row.computed, row.quantity.unit(), row.values) {
        scored.side_by_side = Some(SideBySide { what: unit, published, simulated: [Some(computed), None] });
        return scored;
    }
    if let (Ok((recipe, _)), Some(over), Choice::Simulated) = (&row.recipe, &row.over, chosen) {
        match worst_ratio(recipe, over, found) {
            Ok(ratio) => scored.side_by_side = row.quantity.of_base(row.values, ratio),
            Err(why) => scored.excluded = Some(why.to_owned()),
        }
        return scored;
    }
    let simulated = match (&row.recipe, chosen.why_not()) {
        (Ok(_), Some(why)) => Err(why),
        (Ok((recipe, load)), None) => match found.get(&(recipe, *load)) {
            Some(Ok(simulated)) => Ok((simulated, *load)),
            Some(Err(why)) => Err(why.as_str()),
            None => Err("interrupted"),
        },
        (Err(why), _) => Err(why.as_str()),
    };
    match simulated {
        Err(why) => scored.excluded = Some(why.to_owned()),
        Ok((simulated, load)) => {
            let two_sided = row.recipe.as_ref().is_ok_and(|(recipe, _)| recipe.with.is_some());
            scored.simulated = row.recipe.clone().ok().filter(|_| row.quantity.is_of_benchmark());
            scored.better = Some([row.better(simulated), row.quantity.better(simulated)]);
            scored.simulated_compare_pct = row.quantity.difference(simulated).filter(|_| two_sided);
            scored.simulated_search = search_rates(&simulated.base);
            scored.side_by_side = row.quantity.side_by_side(row.values, simulated);
            scored.simulated_baseline = match row.quantity {
                Quantity::Latency(permille) => latency(&simulated.base, permille),
                Quantity::Power => power(&simulated.base),
                Quantity::RqLock | Quantity::Turbostat(_) => None,
                _ if row.per_instance => Some(baseline(simulated, load) / load as f64),
                _ => Some(baseline(simulated, load)),
            };
            scored.simulated_idle_pct = row.idle_pct.map(|_| simulated.base.idle_pct);
            scored.simulated_rq_lock_pct = row.rq_lock_pct.map(|_| simulated.base.rq_lock_pct);
        }
    }
    scored
}

/// Returns the highest ratio of the metric of the base side to that of the reference.
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

/// Returns the value of the base side in the unit of postings, up to a constant factor.
fn baseline(row: &CompareRow, load: u64) -> f64 {
    wakelab_workload::printed(&row.benchmark, load, row.base.mean)
}
