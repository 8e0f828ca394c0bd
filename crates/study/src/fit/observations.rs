//! The base side of tables: what a person could measure before a patch.

use super::FitError;
use crate::reproduce::{Published, Quantity, Recipe, Table};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_machine::Machine;

/// The rows of the base side that a machine is fitted to.
#[derive(Clone, Debug)]
pub struct Observations {
    /// The rows. None has a number of another side.
    pub rows: Vec<Published>,
    /// Why rows of the tables are not used, each reason once with the number of rows.
    pub left_out: BTreeMap<String, usize>,
    /// The tables that the rows are of.
    pub tables: Vec<String>,
}

impl Observations {
    /// The workloads of the rows, each once, in order.
    pub fn workloads(&self) -> Vec<String> {
        let of = |row: &Published| row.recipe.as_ref().ok().map(|(recipe, _)| recipe.workload.clone());
        self.rows.iter().filter_map(of).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Returns the base side of the rows that are of `machine`, which the caller gave as `given`, a name or a path. The
/// runs of all rows are then of `given`.
///
/// # Errors
/// Fails if no row is of the machine, or if none says anything of its base side.
pub fn observations(tables: &[Table], machine: &Machine, given: &str) -> Result<Observations, FitError> {
    let mut found = Observations { rows: Vec::new(), left_out: BTreeMap::new(), tables: Vec::new() };
    let mut others = BTreeSet::new();
    for table in tables {
        let before = found.rows.len();
        for row in &table.rows {
            let row = base_side(row);
            let why = match &row.recipe {
                Err(why) => Err(why.clone()),
                Ok((recipe, _)) if !is_of(recipe, machine, given) => {
                    others.insert(recipe.machine.clone());
                    Err(format!("of machine {}", recipe.machine))
                }
                Ok(_) if !observes(&row) => Err("no number of its base side is simulated".to_owned()),
                Ok(_) => Ok(()),
            };
            match why {
                Ok(()) => found.rows.push(on(row, given, &table.name)),
                Err(why) => *found.left_out.entry(why).or_default() += 1,
            }
        }
        if found.rows.len() > before {
            found.tables.push(table.name.clone());
        }
    }
    if !found.rows.is_empty() {
        return Ok(found);
    }
    if !others.is_empty() {
        return Err(FitError::OtherMachine { machine: machine.name.clone(), of: others.into_iter().collect() });
    }
    let why = found.left_out.keys().next().map_or("no row", String::as_str).to_owned();
    Err(FitError::Nothing { why })
}

/// The row without anything that was measured on its other side.
fn base_side(row: &Published) -> Published {
    Published {
        recipe: row.recipe.clone().map(|(recipe, load)| (Recipe { with: None, ..recipe }, load)),
        compare_pct: None,
        spreads: None,
        values: row.values.map(|[base, _]| [base, None]),
        cells: row.cells.iter().filter(|(column, _)| !OTHER_SIDE.contains(&column.as_str())).cloned().collect(),
        ..row.clone()
    }
}

/// The columns of tables that have a number of the other side.
const OTHER_SIDE: [&str; 4] = ["with", "with_std_pct", "compare_pct", "compare_std_pct"];

fn is_of(recipe: &Recipe, machine: &Machine, given: &str) -> bool {
    let named = || wakelab_machine::get(&recipe.machine).is_ok_and(|of| of.name == machine.name);
    recipe.machine == machine.name || recipe.machine == given || named()
}

/// Whether the row has a number that the constants have an effect on. Power and turbostat are those of other constants.
fn observes(row: &Published) -> bool {
    let value = match row.quantity {
        Quantity::NrIdleScan | Quantity::WorstRatio | Quantity::Turbostat(_) | Quantity::Power => return false,
        Quantity::Metric | Quantity::Value(_) | Quantity::Latency(_) => false,
        _ => row.values.is_some(),
    };
    value || row.baseline.is_some() || row.search.is_some() || row.rq_lock_pct.is_some() || row.idle_pct.is_some()
}

/// The row of a run on the given machine. Curves of different tables have different levels.
fn on(row: Published, given: &str, table: &str) -> Published {
    let recipe = row.recipe.map(|(recipe, load)| (Recipe { machine: given.to_owned(), ..recipe }, load));
    let baseline = row.baseline.map(|(curve, base)| (format!("{table} {curve}"), base));
    Published { recipe, baseline, ..row }
}
