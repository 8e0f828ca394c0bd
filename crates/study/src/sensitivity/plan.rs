//! The samples of a sensitivity study: which constants are changed, and how.

use super::Constant;
use super::hypercube::Hypercube;
use crate::compare::assumed::DEMOTION;
use crate::compare::{Assumed, Block};
use crate::experiment::{Given, Spec, SpecError};
use serde::Serialize;
use wakelab_machine::{FittedConstant, MACHINE, Machine};

/// The default number of samples of a hypercube.
pub const BUDGET: usize = 32;
/// The highest number of samples.
pub const BUDGET_MAX: usize = 100_000;

/// How constants are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All at once, so that each is everywhere in its range and joint effects show.
    LatinHypercube,
    /// One at a time, at both ends of its range.
    OneAtATime,
    /// To each of the sets that fit what was measured on the machine.
    Ensemble,
}

/// Why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No constant has a range.
    #[error(
        "--sensitivity: no assumed constant of the machine or the workloads has a range\n  hint: `low` and `high` of a \
         cost in a machine file are its range"
    )]
    Nothing,
    /// There are too few samples for every constant.
    #[error("--budget: {given} is too few; expected {needed} or more: two for each of {} constants", needed / 2)]
    Few {
        /// The given number.
        given: usize,
        /// The number of samples that are needed.
        needed: usize,
    },
}

/// The samples of a study.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How constants are changed.
    pub method: Method,
    /// The seed of the samples.
    pub seed: u64,
    /// The constants that are changed.
    pub constants: Vec<Constant>,
    /// The values by sample, by constant.
    pub samples: Vec<Vec<u64>>,
    /// The measurements that the machine was fitted to, if the samples are its ensemble.
    pub fitted: Option<String>,
    spec: Spec,
}

impl Plan {
    /// Plans the samples of an experiment that was resolved from `spec`. `budget` is the number of samples, or
    /// [`BUDGET`] if there is none. One at a time needs exactly two samples for each constant, and an ensemble has the
    /// samples of the machine: all, or up to `budget`.
    ///
    /// # Errors
    /// Fails if no constant can be changed, or if the budget is too small.
    pub fn new(spec: &Spec, experiment: &Block, method: Method, budget: Option<usize>) -> Result<Self, PlanError> {
        if method == Method::Ensemble {
            return Ok(Self::of_ensemble(spec, experiment, budget.unwrap_or(usize::MAX)));
        }
        let constants = constants(spec, experiment.assumed());
        if constants.is_empty() {
            return Err(PlanError::Nothing);
        }
        let seed = experiment.seed;
        let samples = match method {
            Method::OneAtATime => {
                let samples = one_at_a_time(&constants);
                match budget.filter(|&budget| budget < samples.len()) {
                    Some(given) => return Err(PlanError::Few { given, needed: samples.len() }),
                    None => samples,
                }
            }
            Method::LatinHypercube | Method::Ensemble => hypercube(seed, &constants, budget.unwrap_or(BUDGET)),
        };
        Ok(Plan { method, seed, constants, samples, fitted: None, spec: spec.clone() })
    }

    /// The sets of the machine's ensemble, up to `most` of them; no constants and no samples if it was not fitted.
    fn of_ensemble(spec: &Spec, experiment: &Block, most: usize) -> Self {
        let ensemble = experiment.machine.ensemble.as_ref();
        let sets = ensemble.map_or(&[][..], |ensemble| &ensemble.sets);
        let assumed = experiment.assumed();
        let of = |(at, fitted): (usize, &FittedConstant)| {
            // A number that the experiment sets, and one of a workload that it does not have, stay out.
            let known = assumed.iter().find(|one| (&one.of, &one.name) == (&fitted.of, &fitted.name))?;
            let values = || sets.iter().map(|set| set[at]);
            let (low, high) = (values().min()?, values().max()?);
            let (of, name, unit) = (fitted.of.clone(), fitted.name.clone(), known.unit.clone());
            (!given(spec, known)).then_some((at, Constant { of, name, unit, value: known.value, low, high }))
        };
        let kept = ensemble.map_or(&[][..], |ensemble| &ensemble.constants).iter().enumerate().filter_map(of);
        let (places, constants): (Vec<usize>, Vec<Constant>) = kept.unzip();
        let samples = sets.iter().take(most).map(|set| places.iter().map(|&at| set[at]).collect()).collect();
        let fitted = ensemble.map(|ensemble| ensemble.fitted.clone());
        Plan { method: Method::Ensemble, seed: experiment.seed, constants, samples, fitted, spec: spec.clone() }
    }

    /// Returns the experiment with these values of the constants.
    ///
    /// # Errors
    /// Fails if it cannot be built.
    pub fn experiment(&self, values: &[u64]) -> Result<Block, SpecError> {
        with_values(&self.spec, &self.constants, values)
    }
}

fn hypercube(seed: u64, constants: &[Constant], samples: usize) -> Vec<Vec<u64>> {
    let names: Vec<String> = constants.iter().map(|constant| format!("{} {}", constant.of, constant.name)).collect();
    let cube = Hypercube::new(seed, &names, samples);
    let value = |(at, constant): (usize, &Constant), sample| cube.value(at, sample, [constant.low, constant.high]);
    (0..samples).map(|sample| constants.iter().enumerate().map(|one| value(one, sample)).collect()).collect()
}

/// Whether the experiment sets a number itself.
fn given(spec: &Spec, one: &Assumed) -> bool {
    spec.workloads.iter().any(|w| w.name.value == one.of && w.params.iter().any(|(name, _)| *name == one.name))
}

/// Returns the assumed constants with a range. A number that the experiment sets is the user's own, and is not changed.
fn constants(spec: &Spec, assumed: Vec<Assumed>) -> Vec<Constant> {
    // Powers do not affect a difference between two speeds.
    let speed = |one: &Assumed| one.of != MACHINE || one.name == DEMOTION || !one.name.contains(": ");
    let varied = assumed.into_iter().filter(|one| one.low < one.high && !given(spec, one) && speed(one));
    varied.map(Constant::from).collect()
}

/// Returns the experiment of `spec` with these values of the constants.
fn with_values(spec: &Spec, constants: &[Constant], values: &[u64]) -> Result<Block, SpecError> {
    // The verdicts need only differences, and each sample is as often repeated as the others.
    let mut spec = Spec { regret: false, until: None, ..spec.clone() };
    let mut of_machine = Vec::new();
    for (constant, &value) in constants.iter().zip(values) {
        if constant.of == MACHINE {
            of_machine.push((constant.name.as_str(), value));
            continue;
        }
        for workload in spec.workloads.iter_mut().filter(|workload| workload.name.value == constant.of) {
            workload.params.push((constant.name.clone(), Given::by_flag("--sensitivity", value)));
        }
    }
    let mut experiment = spec.resolve_two_sides()?;
    // The same set has the same runs, whatever others there are.
    experiment.machine.ensemble = None;
    of_machine.into_iter().for_each(|(name, value)| set(&mut experiment.machine, name, value));
    Ok(experiment)
}

fn set(machine: &mut Machine, name: &str, value: u64) {
    match (name, &mut machine.demotion) {
        (DEMOTION, Some(demotion)) => demotion.below_us.value = value,
        _ => {
            let known = machine.set_constant(name, value);
            debug_assert!(known, "the machine listed {name}");
        }
    }
}

/// Returns two samples for each constant: at its lowest and at its highest.
fn one_at_a_time(constants: &[Constant]) -> Vec<Vec<u64>> {
    let usual: Vec<u64> = constants.iter().map(|constant| constant.value).collect();
    let changed = |at: usize, value| {
        let mut values = usual.clone();
        values[at] = value;
        values
    };
    let both = |(at, constant): (usize, &Constant)| [changed(at, constant.low), changed(at, constant.high)];
    constants.iter().enumerate().flat_map(both).collect()
}
