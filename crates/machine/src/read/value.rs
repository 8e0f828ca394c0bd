//! Values that several tables of a machine file have: CPUs, numbers with a range, origins, lists of points.

use crate::{Amount, Origin};
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table, parse_cpulist};
use wakelab_sched::cpumask::CpuMask;

/// uW, up to 1 kW.
pub(super) const UW: RangeInclusive<u64> = 0..=1_000_000_000;

/// kHz, up to 1 THz.
pub(super) const KHZ: RangeInclusive<u64> = 1..=1_000_000_000;

/// % of a value that is not known well.
const PCT: RangeInclusive<u64> = 1..=1_000;

/// The CPUs of a table that must name some: `cpus = "0-3"`.
pub(super) fn need_cpus(table: &Table<'_>, nr_cpus: u32) -> Result<CpuMask, InputError> {
    let list = table.need_text("cpus", "a list of CPUs such as \"0-3,8\"")?;
    let cpus = parse_cpulist(list, nr_cpus).map_err(|what| table.wrong("cpus", what))?;
    Ok(CpuMask::from_cpus(nr_cpus, cpus))
}

/// Where a value was taken from: exactly one of `source` and `assumed`; of a table that may have the key, `measured` is
/// the third.
pub(super) fn origin(table: &Table<'_>) -> Result<Origin, InputError> {
    match (table.text("source")?, table.text("measured")?, table.text("assumed")?) {
        (Some(source), None, None) => Ok(Origin::Source(source.to_owned())),
        (None, Some(measured), None) => Ok(Origin::Measured(measured.to_owned())),
        (None, None, Some(assumed)) => Ok(Origin::Assumed(assumed.to_owned())),
        (Some(_), None, Some(_)) => Err(table
            .error("give `source` or `assumed`, not both")
            .with_hint("`source` names a publication that has the value; everything else is `assumed`")),
        (_, Some(_), _) => Err(table
            .error("give only one of `source`, `measured` and `assumed`")
            .with_hint("`measured` says when and how this machine was measured")),
        (None, None, None) => Err(table
            .error("expected `source = \"...\"` or `assumed = \"...\"`")
            .with_hint("`source` names the publication that has the value; `assumed` gives the reason for this value")),
    }
}

/// The range `key = [LOWEST, HIGHEST]` in which `value` must lie. Messages call the value `name`.
pub(super) fn range(
    table: &Table<'_>,
    key: &str,
    limits: &RangeInclusive<u64>,
    (name, value): (&str, u64),
) -> Result<[u64; 2], InputError> {
    let expected = format!("`{key} = [LOWEST, HIGHEST]`, in which the value may lie");
    let range = table.numbers(key, limits)?.ok_or_else(|| table.missing(key, &expected))?;
    let [low, high] = range[..] else {
        return Err(table.error(format!("{key} has {} numbers; expected {expected}", range.len())));
    };
    if low > high {
        return Err(table.error(format!("{key} = [{low}, {high}]: expected the lower number first")));
    }
    if !(low..=high).contains(&value) {
        let what = format!("{name} = {value} is outside its own range; expected {low} to {high}");
        return Err(table.error(what).with_hint(format!("widen `{key}`, with a reason, or change the value")));
    }
    Ok([low, high])
}

/// The range of a whole table, in per cent of what the table has.
pub(super) fn range_pct(table: &Table<'_>, key: &str) -> Result<[u64; 2], InputError> {
    range(table, key, &PCT, ("the table itself, in per cent,", 100))
}

/// A number and, under another key, its range. Returns `None` if there is no number.
pub(super) fn amount(
    table: &Table<'_>,
    key: &str,
    range_key: &str,
    limits: &RangeInclusive<u64>,
) -> Result<Option<Amount>, InputError> {
    let Some(value) = table.number(key, limits)? else { return Ok(None) };
    let [low, high] = range(table, range_key, limits, (key, value))?;
    Ok(Some(Amount { value, low, high }))
}

/// A number that must be there and, under another key, its range.
pub(super) fn need_amount(
    table: &Table<'_>,
    key: &str,
    range_key: &str,
    limits: &RangeInclusive<u64>,
) -> Result<Amount, InputError> {
    let value = table.need_number(key, limits)?;
    let [low, high] = range(table, range_key, limits, (key, value))?;
    Ok(Amount { value, low, high })
}

/// A list of points such as `[[300000, 537500], [574000, 600000]]`: a frequency in kHz, and a value that does not fall
/// with the frequency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    /// The value as messages call it, such as `voltage`.
    pub(super) what: &'static str,
    /// The value's unit.
    pub(super) unit: &'static str,
    /// Why the value cannot fall.
    pub(super) hint: &'static str,
    /// Whether two frequencies may have the same value.
    pub(super) may_stay: bool,
}

impl Points {
    /// Up to 1 THz, 1000 V, 1 kW.
    const LIMITS: RangeInclusive<u64> = 1..=1_000_000_000;

    /// Reads the points of a key, lowest frequency first. Returns `None` if the key is not there.
    pub(super) fn read(self, table: &Table<'_>, key: &str) -> Result<Option<Vec<(u64, u64)>>, InputError> {
        if table.get(key).is_none() {
            return Ok(None);
        }
        let Points { what, unit, hint, may_stay } = self;
        let expected = format!("a list of [kHz, {unit}] such as [[300000, 500000], [600000, 700000]]");
        let mut points: Vec<(u64, u64)> = Vec::new();
        for row in table.elements(key, &expected)? {
            let pair = row.get_ref().as_array().filter(|pair| pair.len() == 2);
            let pair = pair.ok_or_else(|| table.unexpected_at(key, row, &expected))?;
            let read = |i: usize| table.number_at(key, &pair[i], &Self::LIMITS);
            let (khz, y) = (read(0)?, read(1)?);
            let at = |what: String| table.wrong_at(key, row.span().start, what);
            if let Some(&(before, last)) = points.last() {
                if khz <= before {
                    let what = format!(
                        "found {khz} kHz after {before} kHz; expected frequencies in ascending order, each once"
                    );
                    return Err(at(what).with_hint("operating points are listed from the slowest to the fastest"));
                }
                if y < last || (y == last && !may_stay) {
                    let more =
                        if may_stay { format!("{last} {unit} or more") } else { format!("more than {last} {unit}") };
                    let found = format!("{y} {unit} at {khz} kHz, {last} at {before} kHz");
                    let what = format!("the {what} falls with the frequency: {found}; expected {more}");
                    return Err(at(what).with_hint(hint));
                }
            }
            points.push((khz, y));
        }
        Ok(Some(points))
    }
}
