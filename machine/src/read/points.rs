//! Lists of points: `[[300000, 537500], [574000, 600000]]`, frequency first.

use super::table::{Table, number};
use crate::MachineError;
use std::ops::RangeInclusive;

/// What a list of points holds beside frequencies, in kHz.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    /// As messages call it: `voltage`.
    pub(super) what: &'static str,
    /// Its unit.
    pub(super) unit: &'static str,
    /// Why it cannot fall.
    pub(super) hint: &'static str,
    /// Whether two frequencies can have the same.
    pub(super) may_stay: bool,
}

impl Points {
    /// The points of a key, frequencies rising, and what they hold not falling.
    pub(super) fn read(self, table: &Table<'_>, key: &str) -> Result<Option<Vec<(u64, u64)>>, MachineError> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let Points { what, unit, hint, may_stay } = self;
        let expected = format!("a list of [kHz, {unit}] such as [[300000, 500000], [600000, 700000]]");
        let rows = value.get_ref().as_array().filter(|rows| !rows.is_empty());
        let mut points: Vec<(u64, u64)> = Vec::new();
        for row in rows.ok_or_else(|| table.wrong(key, value, &expected))?.iter() {
            let pair = row.get_ref().as_array().filter(|pair| pair.len() == 2);
            let pair = pair.ok_or_else(|| table.wrong(key, row, &expected))?;
            let read = |i: usize| number(table.source, &table.path(key), &pair[i], &LIMITS);
            let (khz, y) = (read(0)?, read(1)?);
            let at =
                |text: String| table.source.error(Some(row.span().start), format!("`{}`: {text}", table.path(key)));
            if let Some(&(before, last)) = points.last() {
                if khz <= before {
                    let text =
                        format!("found {khz} kHz after {before} kHz; expected the lowest frequency first, each once");
                    return Err(at(text).with_hint("operating points are listed from the slowest to the fastest"));
                }
                if y < last || (y == last && !may_stay) {
                    let more =
                        if may_stay { format!("{last} {unit} or more") } else { format!("more than {last} {unit}") };
                    let text =
                        format!("the {what} falls with the frequency: {y} {unit} at {khz} kHz, {last} at {before} kHz");
                    return Err(at(format!("{text}; expected {more}")).with_hint(hint));
                }
            }
            points.push((khz, y));
        }
        Ok(Some(points))
    }
}

/// Up to 1 THz, 1000 V, 1 kW.
const LIMITS: RangeInclusive<u64> = 1..=1_000_000_000;
