//! What reproducing tables takes, before anything is simulated.

use super::scoreboard::{choose, experiment, needed};
use super::{Effort, Recipe, Table};
use crate::compare::{Experiment, Runner, setups};
use std::collections::BTreeMap;
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

/// What a table needs.
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
/// 3 GHz. A run of netperf takes 0.05 to 0.15, one of compute-bound tasks far less.
const CPU_S_PER_BUSY_S: f64 = 0.06;

/// Returns what reproducing `tables` takes, and how many of the runs `runner` keeps.
pub fn plan(runner: &dyn Runner, tables: &[Table], effort: Effort) -> Plan {
    let mut found: BTreeMap<(&Recipe, u64), Result<Cost, String>> = BTreeMap::new();
    let mut whole = Plan { tables: Vec::new(), runs: 0, kept: 0, cpu_s: 0.0 };
    for table in tables {
        let chosen = choose(table, effort);
        let mut planned = PlannedTable { name: table.name.clone(), rows: table.rows.len(), ..PlannedTable::default() };
        for (recipe, load) in needed(std::slice::from_ref(table), std::slice::from_ref(&chosen)) {
            let cost = found.entry((recipe, load)).or_insert_with(|| {
                let cost = experiment(recipe, load, effort).map(|experiment| Cost::of(runner, &experiment));
                let cost = cost.map_err(|error| error.what.lines().next().unwrap_or_default().to_owned());
                if let Ok(cost) = &cost {
                    whole.runs += cost.runs - cost.kept;
                    whole.kept += cost.kept;
                    whole.cpu_s += cost.cpu_s;
                }
                cost
            });
            if let Ok(cost) = cost {
                planned.runs += cost.runs;
                planned.kept += cost.kept;
                planned.cpu_s += cost.cpu_s;
            }
        }
        for (row, chosen) in table.rows.iter().zip(chosen) {
            let why = match &row.recipe {
                _ if row.computed.is_some() => None,
                Err(why) => Some(why.clone()),
                Ok(_) if !chosen => Some("not a headline".to_owned()),
                Ok((recipe, load)) => found.get(&(recipe, *load)).and_then(|cost| cost.clone().err()),
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

/// What an experiment takes.
#[derive(Clone, Debug)]
struct Cost {
    runs: usize,
    kept: usize,
    cpu_s: f64,
}

impl Cost {
    fn of(runner: &dyn Runner, experiment: &Experiment) -> Self {
        let mut cost = Cost { runs: 0, kept: 0, cpu_s: 0.0 };
        for (setup, settle_ns) in setups(experiment) {
            cost.runs += 1;
            if runner.keeps(&setup, settle_ns, experiment.regret) {
                cost.kept += 1;
            } else {
                cost.cpu_s += cpu_s(&setup, experiment.end_ns());
            }
        }
        cost
    }
}

/// About how much CPU time a run takes, s. A run whose end is that of its tasks is taken for one of `usual_ns`.
fn cpu_s(setup: &Setup<'_>, usual_ns: u64) -> f64 {
    let busy = setup.workload.tasks.len().min(setup.machine.topology.nr_cpus() as usize);
    setup.until.min(usual_ns) as f64 / 1e9 * busy as f64 * CPU_S_PER_BUSY_S
}
