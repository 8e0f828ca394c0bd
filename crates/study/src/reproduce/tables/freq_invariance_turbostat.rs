//! `freq-invariance-turbostat-i7-2600k`: columns of turbostat with the script pinned and not pinned.

use super::freq_invariance_sequential_tasks::{MACHINE, PERFORMANCE, WORST_RATE, pinned, recipe};
use super::{Published, PublishedTable, Row};
use crate::compare::PublishedError;
use crate::compare::published::CsvTable;
use crate::reproduce::{Quantity, TurbostatColumn};

const COLUMNS: [(TurbostatColumn, &str); 4] = [
    (TurbostatColumn::BusyPct, "busy_pct"),
    (TurbostatColumn::BzyMhz, "bzy_mhz"),
    (TurbostatColumn::Irq, "irq_per_60s"),
    (TurbostatColumn::PkgWatt, "pkg_watt"),
];

pub(super) struct Turbostat;

impl PublishedTable for Turbostat {
    fn name(&self) -> &'static str {
        "freq-invariance-turbostat-i7-2600k"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["placement", "busy_pct", "bzy_mhz", "irq_per_60s", "pkg_watt"]
    }

    /// Returns each column as a row of its own.
    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let recipe = match row.text("placement")? {
            "pinned to one CPU" => Ok(pinned()),
            "scheduler decides" => Ok(recipe(MACHINE, "sequential-tasks:any", PERFORMANCE, "governor=powersave")),
            other => Err(format!("placement {other} is not known")),
        };
        let published = row.published(recipe.map(|recipe| (recipe, WORST_RATE)));
        let column = |(column, name)| {
            Ok(Published {
                quantity: Quantity::Turbostat(column),
                values: Some([Some(row.above_0(name)?), None]),
                ..published.clone()
            })
        };
        COLUMNS.into_iter().map(column).collect()
    }

    /// Replaces the published repeats of each placement by their mean.
    fn complete(&self, _: &CsvTable, rows: Vec<Published>) -> Result<(Vec<Published>, Vec<String>), PublishedError> {
        let placement =
            |row: &Published| row.cells.iter().find(|(name, _)| name == "placement").map(|(_, cell)| cell.clone());
        let mut sums: Vec<(Published, f64, f64)> = Vec::new();
        for row in rows {
            let value = row.values.and_then(|[base, _]| base).unwrap_or_default();
            let same = |one: &Published| one.quantity == row.quantity && placement(one) == placement(&row);
            match sums.iter_mut().find(|(one, ..)| same(one)) {
                Some((_, sum, n)) => (*sum, *n) = (*sum + value, *n + 1.0),
                None => sums.push((row, value, 1.0)),
            }
        }
        let mean = |(row, sum, n): (Published, f64, f64)| Published { values: Some([Some(sum / n), None]), ..row };
        Ok((sums.into_iter().map(mean).collect(), Vec::new()))
    }
}
