//! Numbers that come with a range.

use super::origin;
use super::table::Table;
use crate::{Amount, MachineError};
use std::ops::RangeInclusive;

/// uW, up to 1 kW.
pub(super) const UW: RangeInclusive<u64> = 0..=1_000_000_000;

/// A number and, under another key, its range; `None` where there is no number.
pub(super) fn read(
    table: &Table<'_>,
    key: &str,
    range: &str,
    limits: &RangeInclusive<u64>,
) -> Result<Option<Amount>, MachineError> {
    let Some(value) = table.number(key, limits)? else { return Ok(None) };
    let [low, high] = origin::range(table, range, limits, (key, value))?;
    Ok(Some(Amount { value, low, high }))
}

/// The same of a number that must be there.
pub(super) fn need(
    table: &Table<'_>,
    key: &str,
    range: &str,
    limits: &RangeInclusive<u64>,
) -> Result<Amount, MachineError> {
    let amount = read(table, key, range, limits)?;
    amount.map_or_else(|| table.need_number(key, limits).map(|value| Amount { value, low: value, high: value }), Ok)
}
