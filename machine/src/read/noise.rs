//! `[noise]`.

use super::origin;
use super::table::Table;
use crate::{MachineError, Noise, NoiseOrigin};
use std::ops::RangeInclusive;

/// Up to 1000 s: less than one kworker in most runs.
const PERIOD: RangeInclusive<u64> = 0..=1_000_000_000_000;

/// Up to a second, like the costs.
const RUN: RangeInclusive<u64> = 0..=1_000_000_000;

/// The background work, if the file describes it.
pub(super) fn read(root: &Table<'_>) -> Result<Option<(Noise, NoiseOrigin)>, MachineError> {
    let Some(table) = root.table("noise")? else { return Ok(None) };
    table.only(&[
        "kworker_period_ns",
        "kworker_period_range",
        "kworker_run_ns",
        "kworker_run_range",
        "source",
        "assumed",
    ])?;
    let period = table.need_number("kworker_period_ns", &PERIOD)?;
    let run = table.need_number("kworker_run_ns", &RUN)?;
    if period > 0 && !(1..period).contains(&run) {
        let what = format!("kworker_run_ns is {run}; expected 1 up to less than kworker_period_ns, {period}");
        return Err(table.error(what).with_hint("`kworker_period_ns = 0` switches the kworkers off"));
    }
    // What is switched off has no range.
    let range = |key: &str, limits, of: (&str, u64)| match table.get(key) {
        None if period == 0 => Ok([of.1; 2]),
        _ => origin::range(&table, key, limits, of),
    };
    let period_range = range("kworker_period_range", &PERIOD, ("kworker_period_ns", period))?;
    let run_range = range("kworker_run_range", &RUN, ("kworker_run_ns", run))?;
    let noise = Noise { kworker_period_ns: period, kworker_run_ns: run };
    Ok(Some((noise, NoiseOrigin { period_range, run_range, origin: origin::read(&table)? })))
}
