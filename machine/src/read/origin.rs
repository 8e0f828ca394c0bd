//! Where a value was taken from, and the range in which it may lie.

use super::table::Table;
use crate::{MachineError, Origin};
use std::ops::RangeInclusive;

/// Exactly one of `source` and `assumed`.
pub(super) fn read(table: &Table<'_>) -> Result<Origin, MachineError> {
    match (table.text("source")?, table.text("assumed")?) {
        (Some(source), None) => Ok(Origin::Source(source.to_owned())),
        (None, Some(assumed)) => Ok(Origin::Assumed(assumed.to_owned())),
        (Some(_), Some(_)) => Err(table
            .error("expected one of `source` and `assumed`, found both")
            .with_hint("`source` names a publication that has the value; all else is `assumed`")),
        (None, None) => Err(table
            .error("expected `source = \"...\"` or `assumed = \"...\"`")
            .with_hint("`source` names the publication that has the value; `assumed` says why this value")),
    }
}

/// A range in which `value`, which is called `name`, must lie.
pub(super) fn range(
    table: &Table<'_>,
    key: &str,
    limits: &RangeInclusive<u64>,
    (name, value): (&str, u64),
) -> Result<[u64; 2], MachineError> {
    let expected = format!("`{key} = [LOWEST, HIGHEST]`, in which the value may lie");
    let range = table.numbers(key, limits)?.ok_or_else(|| table.missing(key, &expected))?;
    let [low, high] = range[..] else {
        return Err(table.error(format!("{key} has {} numbers; expected {expected}", range.len())));
    };
    if low > high {
        return Err(table.error(format!("{key} = [{low}, {high}]: expected the lower number first")));
    }
    if !(low..=high).contains(&value) {
        let what = format!("{name} = {value} is not in its own range; expected {low} to {high}");
        return Err(table.error(what).with_hint(format!("widen `{key}`, with a reason, or change the value")));
    }
    Ok([low, high])
}
