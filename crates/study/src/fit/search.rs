//! The search for the constants that fit, and for all others that fit as well.
//!
//! Short runs at few loads are cheap and tell most sets apart: a Latin hypercube over all ranges, then CMA-ES (Hansen,
//! "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772) from its best point, then the best with each constant
//! at either end of its range. Long runs then decide among what fits: CMA-ES with a small step around the best, and
//! sets that are as far from each other as there are. Every run has the seed that it has in any comparison, so that
//! sets differ by their constants alone.

use super::problem::Problem;
use super::{FitError, FitProgress, Misfit};
use crate::reproduce::Effort;
use crate::runs::Runner;
use crate::sensitivity::{Constant, Hypercube};
use cmaes::{CMAESOptions, DVector};
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The default number of sets that are tried in short runs.
pub const BUDGET: usize = 300;
/// The lowest number of sets: CMA-ES needs some generations of a dozen.
pub const BUDGET_MIN: usize = 60;
/// The highest number of sets.
pub const BUDGET_MAX: usize = 100_000;
/// The default number of sets of an ensemble.
pub const ENSEMBLE: usize = 12;
/// The highest number of sets of an ensemble.
pub const ENSEMBLE_MAX: usize = 200;

/// How short runs are. Connections of netperf are there after 20 ms.
pub(super) const SHORT: Effort =
    Effort { settle_ns: 40_000_000, time_ns: 10_000_000, headlines: false, ..Effort::QUICK };
/// How long runs are: a state that lasts has been reached.
pub(super) const LONG: Effort =
    Effort { settle_ns: 150_000_000, time_ns: 50_000_000, headlines: false, ..Effort::QUICK };

/// The first step of CMA-ES in a range of 1, and the step around the best.
const STEPS: [f64; 2] = [0.25, 0.06];
/// One set in so many of the budget is tried in long runs.
const LONG_SHARE: usize = 12;
/// The share of sets that noise alone takes beyond the limit of those that fit.
const CONFIDENCE: f64 = 0.95;

/// A part of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The middle of all ranges and a Latin hypercube, in short runs.
    Hypercube,
    /// CMA-ES, in short runs.
    Cmaes,
    /// Each constant at both ends of its range, in short runs.
    Ends,
    /// CMA-ES with a small step, in long runs.
    TrustRegion,
    /// The sets that may belong to the ensemble, in long runs.
    Ensemble,
}

/// A set of constants that was tried in long runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tried {
    pub(super) values: Vec<u64>,
    /// As [`Misfit::mean`].
    pub(super) misfit: f64,
}

/// What was found.
pub(super) struct Found {
    /// The middle of all ranges.
    pub(super) middle: Vec<u64>,
    /// The ensemble, the best first.
    pub(super) sets: Vec<Tried>,
    pub(super) fits_below: f64,
    /// In short and in long runs.
    pub(super) tried: [usize; 2],
}

pub(super) struct Search<'a> {
    pub(super) runner: &'a dyn Runner,
    pub(super) jobs: usize,
    pub(super) stop: &'a AtomicBool,
    pub(super) progress: &'a dyn FitProgress,
    pub(super) constants: &'a [Constant],
    pub(super) budget: usize,
    /// The most sets of the ensemble.
    pub(super) size: usize,
    pub(super) seed: u64,
}

/// The sets that were tried with runs of one length.
struct Trials<'a> {
    search: &'a Search<'a>,
    problem: &'a Problem,
    /// The sum of each set, as [`Misfit::sum`].
    sums: BTreeMap<Vec<u64>, f64>,
    /// The numbers that are compared.
    numbers: usize,
    stopped: bool,
    /// Why no row could be simulated with a set.
    failed: Option<String>,
}

impl Trials<'_> {
    fn new<'a>(search: &'a Search<'a>, problem: &'a Problem) -> Trials<'a> {
        Trials { search, problem, sums: BTreeMap::new(), numbers: 0, stopped: false, failed: None }
    }

    /// Tries a set as number `done` of `all` in `stage`, and returns its sum; infinity after a stop.
    fn sum(&mut self, stage: Stage, (done, all): (usize, usize), values: &[u64]) -> f64 {
        let Search { runner, jobs, constants, stop, progress, .. } = *self.search;
        if let Some(&sum) = self.sums.get(values) {
            return sum;
        }
        let rows = if self.stopped { None } else { self.problem.simulate(runner, jobs, constants, values, stop) };
        let Some(rows) = rows else {
            self.stopped = true;
            return f64::INFINITY;
        };
        let misfit = Misfit::of(&rows);
        if misfit.residuals.is_empty() {
            self.failed = rows.iter().find_map(|row| row.excluded.clone());
        }
        self.numbers = misfit.count();
        self.sums.insert(values.to_vec(), misfit.sum());
        progress.tried(stage, done, all, self.mean(self.best().1));
        misfit.sum()
    }

    fn best(&self) -> (&[u64], f64) {
        let best = self.sums.iter().min_by(|a, b| a.1.total_cmp(b.1)).expect("a set was tried");
        (best.0, *best.1)
    }

    fn mean(&self, sum: f64) -> f64 {
        (sum / self.numbers.max(1) as f64).sqrt()
    }

    /// The sum up to which a set fits as well as the best. Of numbers with Gaussian noise, the sum of squares at the
    /// true constants is above its least by a number that has a chi-squared distribution with as many degrees of
    /// freedom as there are constants. Where the best is off by more than the noise, the model is wrong by that
    /// much, and the noise is taken to be as large.
    fn fits_below(&self) -> f64 {
        let (constants, best) = (self.search.constants.len().min(self.numbers).max(1), self.best().1);
        let above = ChiSquared::new(constants as f64).map_or(0.0, |of| of.inverse_cdf(CONFIDENCE));
        best + above * (best / self.numbers.max(1) as f64).max(1.0)
    }

    /// The sets that fit, the best first.
    fn fitting(&self) -> Vec<Vec<u64>> {
        let limit = self.fits_below();
        let mut sets: Vec<(&Vec<u64>, f64)> =
            self.sums.iter().map(|(values, &sum)| (values, sum)).filter(|(_, sum)| *sum <= limit).collect();
        sets.sort_by(|a, b| a.1.total_cmp(&b.1));
        sets.into_iter().map(|(values, _)| values.clone()).collect()
    }
}

impl Search<'_> {
    /// Searches with the runs of `short` and `long`.
    pub(super) fn run(&self, short: &Problem, long: &Problem) -> Result<Found, FitError> {
        let middle = self.values(&vec![0.5; self.constants.len()]);
        let mut trials = Trials::new(self, short);
        let ends = 2 * self.constants.len();
        let (points, in_short) = (self.points(), self.in_short());

        trials.sum(Stage::Hypercube, (1, in_short), &middle);
        if let Some(why) = trials.failed {
            return Err(FitError::Failed(why));
        }
        let names: Vec<String> = self.constants.iter().map(|c| format!("{} {}", c.of, c.name)).collect();
        let cube = Hypercube::new(self.seed, &names, points);
        for point in 1..points {
            let place: Vec<f64> = (0..self.constants.len()).map(|at| cube.place(at, point)).collect();
            trials.sum(Stage::Hypercube, (point + 1, in_short), &self.values(&place));
        }
        if trials.stopped {
            return Err(self.interrupted([trials.sums.len(), 0]));
        }
        let from = self.place(trials.best().0);
        let generations = (in_short - points - ends) / self.population();
        self.cmaes(&mut trials, Stage::Cmaes, &from, STEPS[0], generations, (points, in_short));
        let best = trials.best().0.to_vec();
        let mut done = in_short - ends;
        for (at, constant) in self.constants.iter().enumerate() {
            for end in [constant.low, constant.high] {
                let mut values = best.clone();
                values[at] = end;
                done += 1;
                trials.sum(Stage::Ends, (done, in_short), &values);
            }
        }
        if trials.stopped {
            return Err(self.interrupted([trials.sums.len(), 0]));
        }

        let in_long = self.in_long();
        let mut decided = Trials::new(self, long);
        let fitting = trials.fitting();
        decided.sum(Stage::TrustRegion, (1, in_long), &fitting[0]);
        if decided.stopped {
            return Err(self.interrupted([trials.sums.len(), 0]));
        }
        let generations = ((in_long.saturating_sub(self.size)) / self.population()).max(1);
        let from = self.place(&fitting[0]);
        self.cmaes(&mut decided, Stage::TrustRegion, &from, STEPS[1], generations, (1, in_long));
        let mut done = 1 + generations * self.population();
        let all = in_long.max(done + self.size);
        for values in self.far_apart(&fitting, self.size) {
            done += 1;
            decided.sum(Stage::Ensemble, (done, all), &values);
        }
        if decided.stopped {
            return Err(self.interrupted([trials.sums.len(), decided.sums.len()]));
        }
        let mut sets = self.far_apart(&decided.fitting(), self.size);
        sets.sort_by(|a, b| decided.sums[a].total_cmp(&decided.sums[b]));
        let tried = |values: Vec<u64>| Tried { misfit: decided.mean(decided.sums[&values]), values };
        Ok(Found {
            middle,
            sets: sets.into_iter().map(tried).collect(),
            fits_below: decided.mean(decided.fits_below()),
            tried: [trials.sums.len(), decided.sums.len()],
        })
    }

    /// The points of the hypercube.
    fn points(&self) -> usize {
        (self.budget / 5).max(8)
    }

    /// How many sets are tried in short runs: the budget, or as many as each stage needs.
    fn in_short(&self) -> usize {
        self.budget.max(self.points() + 2 * self.constants.len() + self.population() + 1)
    }

    /// How many sets are tried in long runs, about.
    fn in_long(&self) -> usize {
        (self.budget / LONG_SHARE).max(self.size + self.population())
    }

    /// The error after a stop, when so many sets had been tried in short and in long runs.
    pub(super) fn interrupted(&self, tried: [usize; 2]) -> FitError {
        let tried = tried.iter().sum();
        FitError::Interrupted { tried, of: (self.in_short() + self.in_long()).max(tried) }
    }

    /// CMA-ES from a place in the ranges.
    fn cmaes(
        &self,
        trials: &mut Trials<'_>,
        stage: Stage,
        from: &[f64],
        step: f64,
        generations: usize,
        (mut done, all): (usize, usize),
    ) {
        let population = self.population();
        let objective = |at: &DVector<f64>| {
            done += 1;
            let inside: Vec<f64> = at.iter().map(|place| place.clamp(0.0, 1.0)).collect();
            // Places outside of the ranges are as good as the nearest inside, less their distance, which leads back.
            let outside: f64 = at.iter().zip(&inside).map(|(a, b)| (a - b).powi(2)).sum();
            let sum = trials.sum(stage, (done, all), &self.values(&inside));
            if sum.is_finite() { sum * (1.0 + outside) } else { f64::MAX }
        };
        let options = CMAESOptions::new(from.to_vec(), step).population_size(population).seed(self.seed);
        let Ok(mut state) = options.build(objective) else { return };
        for _ in 0..generations {
            if state.next().is_some() {
                return;
            }
        }
    }

    /// The sets of a generation, as the tutorial has it.
    fn population(&self) -> usize {
        4 + (3.0 * (self.constants.len() as f64).ln()) as usize
    }

    /// The values at a place in the ranges, each from 0 to 1. Ranges are by ratio, but for those that begin at 0.
    fn values(&self, place: &[f64]) -> Vec<u64> {
        let value = |(constant, &place): (&Constant, &f64)| {
            let [low, high] = [constant.low, constant.high].map(|end| end as f64);
            let value = if constant.low > 0 { low * (high / low).powf(place) } else { low + place * (high - low) };
            (value.round() as u64).clamp(constant.low, constant.high)
        };
        self.constants.iter().zip(place).map(value).collect()
    }

    /// The place of values in the ranges.
    fn place(&self, values: &[u64]) -> Vec<f64> {
        let place = |(constant, &value): (&Constant, &u64)| {
            let [low, high, value] = [constant.low, constant.high, value].map(|value| value as f64);
            if constant.low > 0 { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) }
        };
        self.constants.iter().zip(values).map(place).collect()
    }

    /// The first of `sets`, and up to `count` in all, each as far as can be from those before it.
    fn far_apart(&self, sets: &[Vec<u64>], count: usize) -> Vec<Vec<u64>> {
        let places: Vec<Vec<f64>> = sets.iter().map(|set| self.place(set)).collect();
        let distance = |a: usize, b: usize| places[a].iter().zip(&places[b]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let mut chosen: Vec<usize> = (0..sets.len().min(1)).collect();
        let mut nearest: Vec<f64> = (0..sets.len()).map(|at| distance(0, at)).collect();
        while chosen.len() < count.min(sets.len()) {
            let next = (0..sets.len())
                .filter(|at| !chosen.contains(at))
                .max_by(|&a, &b| nearest[a].total_cmp(&nearest[b]).then(b.cmp(&a)));
            let Some(next) = next else { break };
            chosen.push(next);
            (0..sets.len()).for_each(|at| nearest[at] = nearest[at].min(distance(next, at)));
        }
        chosen.into_iter().map(|at| sets[at].clone()).collect()
    }
}
