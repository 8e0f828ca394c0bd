//! `[ensemble]`: the sets of constants that fit a machine.

use crate::ensemble::{DAEMONS, Ensemble, FittedConstant, KWORKER_PERIOD, KWORKER_RUN, MACHINE};
use crate::{Costs, ScxCosts};
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table};

/// More sets say no more about a machine.
const SETS_MAX: usize = 1000;

/// Reads the sets. Returns `None` if the file has none.
pub(super) fn read(root: &Table<'_>) -> Result<Option<Ensemble>, InputError> {
    let Some(table) = root.table("ensemble", &["fitted", "constants"])? else { return Ok(None) };
    let fitted = table.need_text("fitted", "the data to which the sets were fitted, and the date")?.to_owned();
    let expected = "a table of lists, one for each constant, with a value for each set: `probe = [60, 72]`";
    let lists = table.map("constants", expected)?.ok_or_else(|| table.missing("constants", expected))?;
    let (mut constants, mut columns) = (Vec::new(), Vec::<Vec<u64>>::new());
    for (key, _) in lists.entries() {
        let (of, name) = key.rsplit_once(' ').unwrap_or((MACHINE, key));
        let limits = limits(of, name).ok_or_else(|| {
            lists.wrong(key, "no cost has this name; expected the name of a cost, or \"WORKLOAD NAME\"")
        })?;
        let values = lists.numbers(key, &limits)?.unwrap_or_default();
        if values.is_empty() || values.len() > SETS_MAX {
            return Err(lists.wrong(key, format!("{} values; expected 1 to {SETS_MAX}", values.len())));
        }
        if let Some(first) = columns.first().filter(|first| first.len() != values.len()) {
            let what = format!("{} values; expected {}, as the first constant has", values.len(), first.len());
            return Err(lists.wrong(key, what));
        }
        constants.push(FittedConstant { of: of.to_owned(), name: name.to_owned() });
        columns.push(values);
    }
    let count = columns.first().map_or(0, Vec::len);
    if count == 0 {
        return Err(table.missing("constants", expected));
    }
    let sets = (0..count).map(|set| columns.iter().map(|column| column[set]).collect()).collect();
    Ok(Some(Ensemble { fitted, constants, sets }))
}

/// The values that a constant can have; `None` if the machine has none of that name. Workloads check their own.
fn limits(of: &str, name: &str) -> Option<RangeInclusive<u64>> {
    match (of, name) {
        (MACHINE, KWORKER_PERIOD | KWORKER_RUN) => Some(0..=1_000_000_000_000),
        (MACHINE, DAEMONS) => Some(0..=100_000),
        (MACHINE, name) => Costs::unit(name).or(ScxCosts::unit(name)).map(|unit| unit.limits(name)),
        _ => Some(0..=i64::MAX as u64),
    }
}
