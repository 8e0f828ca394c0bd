//! What is to be run.

use super::{Constant, Hypercube, constants, one_at_a_time};
use crate::compare::Experiment;
use crate::experiment::{Shelf, Shipped, Spec, SpecError};
use serde::Serialize;

/// Samples of a hypercube where nobody says how many.
pub const BUDGET: usize = 32;
/// More samples than this are refused.
pub const BUDGET_MAX: usize = 100_000;

/// How constants are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All at once, so that each is everywhere in its range: what they do together shows.
    LatinHypercube,
    /// Each alone, at both ends of its range.
    OneAtATime,
}

/// There is nothing to run, or not enough of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No constant has a range.
    #[error(
        "--sensitivity: no assumed constant of machine or workloads has a range\n  hint: `low` and `high` of a cost in a \
         machine file are its range"
    )]
    Nothing,
    /// Too few samples for every constant.
    #[error("--budget: {given} is too few; expected {needed} or more: two for each of {} constants", needed / 2)]
    Few {
        /// What was given.
        given: usize,
        /// Samples that are needed.
        needed: usize,
    },
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How constants are changed.
    pub method: Method,
    /// Where they are drawn from.
    pub seed: u64,
    /// What is changed.
    pub constants: Vec<Constant>,
    /// By sample, by constant.
    pub samples: Vec<Vec<u64>>,
    spec: Spec,
}

impl Plan {
    /// Of an experiment and what it was resolved from. `budget` is the number of samples, or [`BUDGET`] where none is
    /// given; one at a time needs two for each constant and takes no more.
    ///
    /// # Errors
    /// Where no constant can be changed, or the budget does not do for all.
    pub fn new(spec: &Spec, experiment: &Experiment, method: Method, budget: Option<usize>) -> Result<Self, PlanError> {
        let constants = constants::constants(spec, experiment.assumed());
        if constants.is_empty() {
            return Err(PlanError::Nothing);
        }
        let seed = experiment.seed;
        let samples = match method {
            Method::OneAtATime => {
                let samples = one_at_a_time::samples(&constants);
                match budget.filter(|&budget| budget < samples.len()) {
                    Some(given) => return Err(PlanError::Few { given, needed: samples.len() }),
                    None => samples,
                }
            }
            Method::LatinHypercube => hypercube(seed, &constants, budget.unwrap_or(BUDGET)),
        };
        Ok(Plan { method, seed, constants, samples, spec: spec.clone() })
    }

    /// The experiment with these values of the constants.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn experiment(&self, values: &[u64]) -> Result<Experiment, SpecError> {
        self.experiment_from(&Shipped, values)
    }

    /// The same with machines and workloads from `shelf`.
    ///
    /// # Errors
    /// The same.
    pub fn experiment_from(&self, shelf: &dyn Shelf, values: &[u64]) -> Result<Experiment, SpecError> {
        constants::with(&self.spec, shelf, &self.constants, values)
    }
}

fn hypercube(seed: u64, constants: &[Constant], samples: usize) -> Vec<Vec<u64>> {
    let names: Vec<String> = constants.iter().map(|constant| format!("{} {}", constant.of, constant.name)).collect();
    let cube = Hypercube::new(seed, &names, samples);
    let value = |(at, constant): (usize, &Constant), sample| cube.value(at, sample, [constant.low, constant.high]);
    (0..samples).map(|sample| constants.iter().enumerate().map(|one| value(one, sample)).collect()).collect()
}
