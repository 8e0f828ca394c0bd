//! `[costs.NAME]`.

use super::origin;
use super::table::Table;
use crate::limits::{in_words, key, limits};
use crate::{Cost, Costs, MachineError, Unit};

/// All costs: those of the file, and for the rest `inherited`.
pub(super) fn read(root: &Table<'_>, inherited: Option<&Costs>) -> Result<Costs, MachineError> {
    let tables = root.table("costs")?;
    if let Some(tables) = &tables {
        tables.only(Costs::NAMES)?;
    }
    Costs::try_from_fn(|name, unit| {
        let table = tables.as_ref().map(|tables| tables.table(name)).transpose()?.flatten();
        match (table, inherited) {
            (Some(table), _) => cost(&table, name, unit),
            (None, Some(inherited)) => Ok(inherited.clone().get_mut(name).expect("all costs have a name").clone()),
            (None, None) => Err(missing(root, name, unit)),
        }
    })
}

fn missing(root: &Table<'_>, name: &str, unit: Unit) -> MachineError {
    let expected = format!("a table with `{}`, `range` and `source` or `assumed`: {}", key(unit), doc(name));
    let error = root.source.error(None, format!("`costs.{name}` is missing; expected {expected}"));
    error.with_hint("`costs_of = \"NAME\"` at the top takes what is not given from a machine of `wakelab machine list`")
}

/// What the cost is.
fn doc(name: &str) -> &'static str {
    Costs::DOCS[Costs::NAMES.iter().position(|known| *known == name).expect("it is one of the names")]
}

fn cost(table: &Table<'_>, name: &str, unit: Unit) -> Result<Cost, MachineError> {
    let other = key(if unit == Unit::Ns { Unit::Pct } else { Unit::Ns });
    if table.get(other).is_some() {
        let what = format!("this cost is in {}; expected `{}`, found `{other}`", in_words(unit), key(unit));
        return Err(table.error(what));
    }
    table.only(&[key(unit), "range", "source", "assumed"])?;
    let limits = limits(name, unit);
    let value = table.need_number(key(unit), &limits)?;
    let [low, high] = origin::range(table, "range", &limits, (key(unit), value))?;
    Ok(Cost { value, low, high, origin: origin::read(table)? })
}
