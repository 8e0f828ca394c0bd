//! A machine fitted to what was measured on it before a patch.
//!
//! [`observations`] takes the base side of tables: levels over load, search statistics, idle time, latencies. It never
//! has their other side. The misfit is the distance of simulated rows from these, in units of their noise. The search
//! looks for the assumed constants with which it is least, from the middle of their ranges, and for all others that fit
//! as well: the ensemble that predictions come from. What has a measured origin stays as it is.

mod misfit;
mod observations;
mod problem;
mod search;

pub use misfit::{Misfit, Residual};
pub use observations::{Observations, observations};
pub use search::{BUDGET, BUDGET_MAX, BUDGET_MIN, ENSEMBLE, ENSEMBLE_MAX, Stage};

use crate::compare::run_seed;
use crate::reproduce::{Effort, Published};
use crate::runs::Runner;
use crate::sensitivity::Constant;
use problem::Problem;
use search::{Search, Tried};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_machine::{Ensemble, FittedConstant, MACHINE, MachineFile, Origin};

/// Why a machine is not fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// No table has a row of the machine.
    #[error(
        "--observed: no row was measured on {machine}; the tables are of {}\n  hint: `machine` of a table.toml must be \
         the name in the machine file", of.join(", ")
    )]
    OtherMachine {
        /// The name of the machine.
        machine: String,
        /// The machines of the tables.
        of: Vec<String>,
    },
    /// The tables have nothing of a base side.
    #[error(
        "--observed: nothing to fit to: {why}\n  hint: a table needs `base` values of one workload at two loads or \
         more, search statistics or idle_pct; `with` and `compare_pct` are never read"
    )]
    Nothing {
        /// Why rows are left out.
        why: String,
    },
    /// The machine has no constant that may change.
    #[error("{0}: no assumed cost has a range\n  hint: the fit searches from `low` to `high` of `range`")]
    NoConstants(String),
    /// A workload was named that no row has.
    #[error("--workload: no observed row measures {name}; expected one of {}", there.join(", "))]
    NoWorkload {
        /// The name.
        name: String,
        /// The workloads of the rows.
        there: Vec<String>,
    },
    /// It was stopped.
    #[error("interrupted after {tried} of {of} sets of constants; run the same command again to continue")]
    Interrupted {
        /// The sets that were tried.
        tried: usize,
        /// The sets that are tried in all.
        of: usize,
    },
    /// No row can be simulated with the constants in the middle of their ranges.
    #[error("no observed row could be simulated: {0}")]
    Failed(String),
}

/// A request for a fit: the machine, the observations, and how long to search.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The machine.
    pub machine: &'a MachineFile,
    /// Workloads whose assumed constants are fitted, too: `netperf:TCP_RR`.
    pub workloads: &'a [String],
    /// The sets of constants that are tried in short runs, [`BUDGET_MIN`] to [`BUDGET_MAX`].
    pub budget: usize,
    /// The most sets of the ensemble, 1 to [`ENSEMBLE_MAX`].
    pub ensemble: usize,
    /// The seed of the search. The runs have the seeds that they always have.
    pub seed: u64,
    /// The text behind "fitted to" in the origins of fitted constants: tables, rows, date.
    pub fitted: &'a str,
}

/// Receives how far a fit has come.
pub trait FitProgress {
    /// Set number `done` of `all` was tried in `stage`, from 1; `best` is the least misfit of the stage.
    fn tried(&self, stage: Stage, done: usize, all: usize, best: f64);
}

impl FitProgress for () {
    fn tried(&self, _: Stage, _: usize, _: usize, _: f64) {}
}

/// A fitted machine.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The machine with the constants that fit best, and the ensemble.
    pub machine: MachineFile,
    /// The constants that were fitted, in the order of the ensemble's.
    pub constants: Vec<FittedValue>,
    /// Why observed rows cannot be simulated, each reason once with the number of rows.
    pub left_out: BTreeMap<String, usize>,
    /// The misfit with all constants in the middle of their ranges.
    pub middle: Misfit,
    /// The misfit with the constants that the machine had before.
    pub before: Misfit,
    /// The misfit with the best.
    pub best: Misfit,
    /// A misfit up to which a set fits as well as the best, within the noise.
    pub fits_below: f64,
    /// The misfit of each set of the ensemble, in its order.
    pub ensemble: Vec<f64>,
    /// The sets that were tried in short runs, and in long ones.
    pub tried: [usize; 2],
}

/// A constant with its fitted values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FittedValue {
    /// The owner of the constant: [`MACHINE`], or a workload.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its range, which was searched.
    pub range: [u64; 2],
    /// Its value before. The search does not begin there.
    pub before: u64,
    /// Its best value.
    pub best: u64,
    /// Its lowest and highest value in the ensemble.
    pub ensemble: [u64; 2],
}

/// Fits the machine of `request` to `observed`.
///
/// # Errors
/// Fails if there is nothing to fit, if no row can be simulated, or once `stop` is set.
pub fn fit(
    runner: &dyn Runner,
    observed: &Observations,
    request: &Request<'_>,
    jobs: usize,
    progress: &dyn FitProgress,
    stop: &AtomicBool,
) -> Result<Fit, FitError> {
    let machine = &request.machine.machine;
    if let Some(name) = request.workloads.iter().find(|name| !observed.workloads().contains(name)) {
        return Err(FitError::NoWorkload { name: name.clone(), there: observed.workloads() });
    }
    let rows = observed.rows.as_slice();
    let problem = |every: Loads, effort| Problem::new(machine, &every.of(rows), request.workloads, effort);
    let (short, long) = (problem(Loads::Two, search::SHORT)?, problem(Loads::Four, search::LONG)?);
    let mut constants = short.constants.clone();
    constants.sort_by_key(|constant| key(constant).key());
    if constants.is_empty() {
        return Err(FitError::NoConstants(machine.name.clone()));
    }
    let seed = run_seed(request.seed, "fit", 0);
    let (budget, size) = (request.budget, request.ensemble);
    let search = Search { runner, jobs, stop, progress, constants: &constants, budget, size, seed };
    let found = search.run(&short, &long)?;
    let all = problem(Loads::All, Effort::FULL)?;
    let measure = |values: &[u64]| {
        let rows = all.simulate(runner, jobs, &constants, values, stop);
        rows.map(|rows| Misfit::of(&rows)).ok_or_else(|| search.interrupted(found.tried))
    };
    let best = &found.sets[0];
    let before: Vec<u64> = constants.iter().map(|constant| constant.value).collect();
    let (middle, before, best_misfit) = (measure(&found.middle)?, measure(&before)?, measure(&best.values)?);
    Ok(Fit {
        machine: fitted_machine(request, &constants, &found.sets),
        constants: fitted_values(&constants, &found.sets),
        left_out: all.left_out.clone(),
        middle,
        before,
        best: best_misfit,
        fits_below: found.fits_below,
        ensemble: found.sets.iter().map(|set| set.misfit).collect(),
        tried: found.tried,
    })
}

/// Which loads of a workload are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loads {
    Two,
    Four,
    All,
}

impl Loads {
    /// The rows at these loads: the last of each half or quarter of the loads of a recipe.
    fn of(self, rows: &[Published]) -> Vec<Published> {
        let parts = match self {
            Loads::Two => 2,
            Loads::Four => 4,
            Loads::All => return rows.to_vec(),
        };
        let chosen = |row: &&Published| {
            let Ok((recipe, load)) = &row.recipe else { return false };
            let mut loads: Vec<u64> = rows
                .iter()
                .filter_map(|row| row.recipe.as_ref().ok().filter(|(other, _)| other == recipe).map(|(_, load)| *load))
                .collect();
            loads.sort_unstable();
            loads.dedup();
            let count = loads.len();
            (1..=parts).any(|part| count * part >= parts && loads[count * part / parts - 1] == *load)
        };
        rows.iter().filter(chosen).cloned().collect()
    }
}

fn key(constant: &Constant) -> FittedConstant {
    FittedConstant { of: constant.of.clone(), name: constant.name.clone() }
}

/// The machine with the values of the first set, their origin, and all sets.
fn fitted_machine(request: &Request<'_>, constants: &[Constant], sets: &[Tried]) -> MachineFile {
    let mut file = request.machine.clone();
    let machine = &mut file.machine;
    let origin = || Origin::Assumed(format!("fitted to {}", request.fitted));
    for (constant, &value) in constants.iter().zip(&sets[0].values).filter(|(constant, _)| constant.of == MACHINE) {
        machine.set_constant(&constant.name, value);
        match machine.costs.get_mut(&constant.name) {
            Some(cost) => cost.origin = origin(),
            None => machine.noise_origin.origin = origin(),
        }
    }
    machine.ensemble = Some(Ensemble {
        fitted: request.fitted.to_owned(),
        constants: constants.iter().map(key).collect(),
        sets: sets.iter().map(|set| set.values.clone()).collect(),
    });
    file
}

fn fitted_values(constants: &[Constant], sets: &[Tried]) -> Vec<FittedValue> {
    let of = |(at, constant): (usize, &Constant)| {
        let values = || sets.iter().map(|set| set.values[at]);
        FittedValue {
            of: constant.of.clone(),
            name: constant.name.clone(),
            unit: constant.unit.clone(),
            range: [constant.low, constant.high],
            before: constant.value,
            best: sets[0].values[at],
            ensemble: [values().min().unwrap_or_default(), values().max().unwrap_or_default()],
        }
    };
    constants.iter().enumerate().map(of).collect()
}
