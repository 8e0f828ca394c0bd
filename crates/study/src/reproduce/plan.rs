//! What reproducing tables takes, before anything is simulated.

use super::scoreboard::{choose, experiment, first_line, needed};
use super::{Effort, Recipe, Table};
use crate::compare::{Block, setups};
use crate::runs::estimate::Estimator;
use crate::runs::{Key, Program, Runner};
use std::collections::{BTreeMap, HashSet};
use wakelab_sim::Setup;

/// The runs that tables need.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Each table, in the order in which they were asked for.
    pub tables: Vec<PlannedTable>,
    /// The runs of all of them, each once, that are not kept yet.
    pub runs: usize,
    /// The runs that are kept.
    pub kept: usize,
    /// About how much CPU time the runs take that are not kept, s.
    pub cpu_s: f64,
}

/// The plan for a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedTable {
    /// Its name.
    pub name: String,
    /// The number of its rows.
    pub rows: usize,
    /// The rows that are simulated.
    pub simulated: usize,
    /// The runs that these need, with those that other tables need, too.
    pub runs: usize,
    /// Those of them that are kept.
    pub kept: usize,
    /// About how much CPU time the others take, s.
    pub cpu_s: f64,
    /// Why rows are not simulated, each reason once with the number of rows.
    pub excluded: BTreeMap<String, usize>,
}

/// The CPU time of a simulated second of a busy CPU, s: the mean of the tables that the project has, on a core of
/// 3 GHz. By it `--quick` tells long rows, on any machine alike; what runs will take, [`Estimator`] says.
const CPU_S_PER_BUSY_S: f64 = 0.06;

/// Returns what reproducing `tables` takes, and how many of the runs `runner` keeps.
pub fn plan(runner: &dyn Runner, tables: &[Table], effort: Effort) -> Plan {
    let mut found: BTreeMap<(&Recipe, u64), Result<Vec<PlannedRun>, String>> = BTreeMap::new();
    let mut counted = HashSet::new();
    let estimator = Estimator::new(runner.costs());
    let mut whole = Plan { tables: Vec::new(), runs: 0, kept: 0, cpu_s: 0.0 };
    for table in tables {
        let chosen = choose(table, effort);
        let mut planned = PlannedTable { name: table.name.clone(), rows: table.rows.len(), ..PlannedTable::default() };
        for (recipe, load) in needed(std::slice::from_ref(table), std::slice::from_ref(&chosen)) {
            let runs = found.entry((recipe, load)).or_insert_with(|| {
                let experiment = experiment(recipe, load, effort).map_err(|error| first_line(&error.what))?;
                Ok(runs(runner, &estimator, &experiment))
            });
            for run in runs.iter().flatten() {
                planned.runs += 1;
                planned.kept += usize::from(run.kept);
                planned.cpu_s += run.cpu_s;
                // Tables share runs: the base sides of three patches on one kernel.
                if counted.insert(run.key) {
                    whole.runs += usize::from(!run.kept);
                    whole.kept += usize::from(run.kept);
                    whole.cpu_s += run.cpu_s;
                }
            }
        }
        for (row, chosen) in table.rows.iter().zip(chosen) {
            let why = match (&row.recipe, chosen.why_not()) {
                _ if row.computed.is_some() => None,
                (Err(why), _) => Some(why.clone()),
                (Ok(_), Some(why)) => Some(why.to_owned()),
                (Ok((recipe, load)), None) => found.get(&(recipe, *load)).and_then(|runs| runs.clone().err()),
            };
            match why {
                Some(why) => *planned.excluded.entry(why).or_default() += 1,
                None => planned.simulated += 1,
            }
        }
        whole.tables.push(planned);
    }
    whole
}

/// A run that a table needs.
#[derive(Clone, Debug)]
struct PlannedRun {
    key: Key,
    kept: bool,
    /// 0 if it is kept.
    cpu_s: f64,
}

fn runs(runner: &dyn Runner, estimator: &Estimator, experiment: &Block) -> Vec<PlannedRun> {
    // Keys are compared with each other alone, whatever the program.
    let program = Program::named("plan");
    let run = |(setup, settle_ns): (Setup<'_>, u64)| {
        let kept = runner.keeps(&setup, settle_ns, experiment.regret);
        let cpu_s = if kept { 0.0 } else { estimator.cpu_s(&setup, experiment.end_ns()) };
        PlannedRun { key: Key::new(program, &setup, settle_ns), kept, cpu_s }
    };
    setups(experiment).map(run).collect()
}

/// About how much CPU time a run takes, s, by its CPUs and tasks alone. A run whose end is that of its tasks is taken
/// for one of `usual_ns`.
pub(super) fn cpu_s(setup: &Setup<'_>, usual_ns: u64) -> f64 {
    let busy = setup.workload.tasks.len().min(setup.machine.topology.nr_cpus() as usize);
    setup.until.min(usual_ns) as f64 / 1e9 * busy as f64 * CPU_S_PER_BUSY_S
}
