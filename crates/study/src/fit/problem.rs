//! The observed rows simulated with a set of constants.

use super::FitError;
use crate::compare::{Block, CompareRow, compare_each};
use crate::reproduce::{Choice, Effort, Published, Recipe, Scored, experiment, scored};
use crate::runs::Runner;
use crate::sensitivity::Constant;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_machine::{MACHINE, Machine};

/// The rows that are simulated, with an experiment for each of their cases.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    rows: Vec<Published>,
    /// The cases, the longest runs first, so that no core is left with one at the end.
    cases: Vec<(Recipe, u64, Block)>,
    effort: Effort,
    /// The constants of the machine and of the named workloads that may change.
    pub(super) constants: Vec<Constant>,
    /// Why rows cannot be built, each reason once with the number of rows.
    pub(super) left_out: BTreeMap<String, usize>,
}

impl Problem {
    /// Builds the experiments of `rows` on `machine`, whose own values of the constants do not matter.
    ///
    /// # Errors
    /// Fails if no row can be built.
    pub(super) fn new(
        machine: &Machine,
        rows: &[Published],
        workloads: &[String],
        effort: Effort,
    ) -> Result<Self, FitError> {
        let needed: BTreeSet<(Recipe, u64)> = rows.iter().filter_map(|row| row.recipe.clone().ok()).collect();
        let (mut cases, mut left_out) = (Vec::new(), BTreeMap::<String, usize>::new());
        for (recipe, load) in needed {
            match experiment(&recipe, load, effort) {
                Ok(mut experiment) => {
                    experiment.machine = Machine { ensemble: None, ..machine.clone() };
                    cases.push((recipe, load, experiment));
                }
                Err(error) => {
                    let is_of = |row: &&Published| row.recipe.as_ref().is_ok_and(|of| *of == (recipe.clone(), load));
                    *left_out.entry(error.what).or_default() += rows.iter().filter(is_of).count();
                }
            }
        }
        if cases.is_empty() {
            let why = left_out.into_keys().next().unwrap_or_else(|| "no row".to_owned());
            return Err(FitError::Nothing { why });
        }
        let tasks =
            |experiment: &Block| -> usize { experiment.cases.iter().map(|case| case.workload.tasks.len()).sum() };
        cases.sort_by_key(|(.., experiment)| std::cmp::Reverse(tasks(experiment) as u64 * experiment.end_ns()));
        let built = |row: &&Published| {
            row.recipe.as_ref().is_ok_and(|(recipe, load)| cases.iter().any(|(r, l, _)| (r, l) == (recipe, load)))
        };
        let rows = rows.iter().filter(built).cloned().collect();
        let constants = constants(machine, &cases, workloads);
        Ok(Problem { rows, cases, effort, constants, left_out })
    }

    /// Simulates the rows with these values of `constants`; `None` once `stop` is set.
    pub(super) fn simulate(
        &self,
        runner: &dyn Runner,
        jobs: usize,
        constants: &[Constant],
        values: &[u64],
        stop: &AtomicBool,
    ) -> Option<Vec<Scored>> {
        let experiments: Vec<Block> = self.cases.iter().map(|case| self.experiment(case, constants, values)).collect();
        let comparisons = compare_each(runner, &experiments, jobs, &(), stop);
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let found: BTreeMap<(&Recipe, u64), Result<CompareRow, String>> = self
            .cases
            .iter()
            .zip(comparisons)
            .map(|((recipe, load, _), comparison)| {
                let row = comparison
                    .map_err(|failed| failed.to_string())
                    .and_then(|comparison| comparison.rows.into_iter().next().ok_or_else(|| "interrupted".to_owned()));
                ((recipe, *load), row)
            })
            .collect();
        Some(self.rows.iter().map(|row| scored(row, Choice::Simulated, &found)).collect())
    }

    /// The experiment of a case with these values. Those of a workload change its tasks.
    fn experiment(
        &self,
        (recipe, load, built): &(Recipe, u64, Block),
        constants: &[Constant],
        values: &[u64],
    ) -> Block {
        let of = |owner: &str| {
            let of_owner = constants.iter().zip(values).filter(|(constant, _)| constant.of == owner);
            of_owner.map(|(constant, &value)| (constant.name.clone(), value)).collect::<Vec<_>>()
        };
        let params = of(&recipe.workload);
        let mut machine = built.machine.clone();
        for (name, value) in of(MACHINE) {
            machine.set_constant(&name, value);
        }
        let mut changed = built.clone();
        if !params.is_empty() {
            let params = recipe.params.iter().cloned().chain(params).collect();
            let recipe = Recipe { params, ..recipe.clone() };
            // Values are within the ranges that the workload states, so that it can be built as it was before.
            changed = experiment(&recipe, *load, self.effort).unwrap_or(changed);
        }
        changed.machine = machine;
        changed
    }
}

/// The assumed constants with a range: those of the machine that a run on it can reach, and those of the named
/// workloads that no row sets.
fn constants(machine: &Machine, cases: &[(Recipe, u64, Block)], workloads: &[String]) -> Vec<Constant> {
    let mut found: Vec<Constant> = Vec::new();
    for (recipe, _, experiment) in cases {
        for one in experiment.assumed() {
            let wanted = match one.of.as_str() {
                // What has ": " in its name is of power management.
                MACHINE => !one.name.contains(": ") && reached(machine, &one.name),
                _ => workloads.contains(&one.of) && !recipe.params.iter().any(|(name, _)| *name == one.name),
            };
            let known = found.iter().any(|constant| (&constant.of, &constant.name) == (&one.of, &one.name));
            if wanted && !known && one.low < one.high {
                found.push(one.into());
            }
        }
    }
    found
}

/// Whether something on the machine costs this: nothing crosses between LLCs where there is one.
fn reached(machine: &Machine, name: &str) -> bool {
    let counts = machine.counts();
    match name {
        "ipi_far" => counts.packages > 1,
        "cluster_line" => machine.has_clusters(),
        name if name.ends_with("_far") => counts.llcs > 1,
        "smt_slowdown" | "newidle_max_smt" => counts.cores < counts.cpus,
        _ => true,
    }
}
