//! `[calibration]`: how the machine was measured.

use crate::Calibration;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table};

/// ns: an operation of a load takes a second at most.
const WORK: RangeInclusive<u64> = 0..=1_000_000_000;

/// Ticks per second.
const HZ: RangeInclusive<u64> = 1..=10_000;

/// Reads how the machine was measured. Returns `None` if the file does not say.
pub(super) fn read(root: &Table<'_>) -> Result<Option<Calibration>, InputError> {
    let Some(table) = root.table("calibration", &["date", "kernel", "preset", "hz", "noise", "work"])? else {
        return Ok(None);
    };
    let text = |key: &str, expected: &str| table.need_text(key, expected).map(str::to_owned);
    let expected = "a table with the work of each load in ns: `tcp = 5200`";
    let list = table.map("work", expected)?.ok_or_else(|| table.missing("work", expected))?;
    let names: Vec<String> = list.entries().map(|(name, _)| name.to_owned()).collect();
    let work = names.into_iter().map(|name| Ok((name.clone(), list.need_number(&name, &WORK)?)));
    Ok(Some(Calibration {
        date: text("date", "when the machine was measured, in UTC")?,
        kernel: text("kernel", "the release of the kernel that it was measured on")?,
        preset: text("preset", "the kernel preset that stands for it")?,
        hz: table.need_number("hz", &HZ)? as u32,
        noise: text("noise", "how noisy the machine was, in one line")?,
        work: work.collect::<Result<BTreeMap<_, _>, InputError>>()?,
    }))
}
