//! What is the same of all policies of a row of `[[frequency]]`.

use super::origin;
use super::points::Points;
use super::table::Table;
use crate::{Clock, FreqPolicy, MachineError};
use std::ops::RangeInclusive;
use wakelab_sched::cpumask::CpuMask;

/// kHz, up to 1 THz.
const KHZ: RangeInclusive<u64> = 1..=1_000_000_000;

/// us, up to a second.
const US: RangeInclusive<u64> = 0..=1_000_000;

/// Per cent of a value that is not known well.
pub(super) const PCT: RangeInclusive<u64> = 1..=1_000;

pub(super) const KEYS: &[&str] = &[
    "cpus",
    "policy",
    "min_khz",
    "max_khz",
    "base_khz",
    "steps_khz",
    "grain_khz",
    "opps",
    "voltages",
    "voltage_range_pct",
    "latency_us",
    "delay_us",
    "clock",
    "driver",
    "source",
    "assumed",
];

const VOLTAGES: Points = Points {
    what: "voltage",
    unit: "uV",
    hint: "a faster operating point that needs no higher voltage makes the slower one useless: check the table",
    may_stay: true,
};

/// A policy without its CPUs.
pub(super) fn read(table: &Table<'_>, cpus: CpuMask) -> Result<FreqPolicy, MachineError> {
    let opps = VOLTAGES.read(table, "opps")?;
    let instead = ["steps_khz", "voltages", "grain_khz"].into_iter().find(|key| table.get(key).is_some());
    if let (Some(_), Some(key)) = (&opps, instead) {
        return Err(table.error(format!("expected `opps` or `{key}`, found both")));
    }
    let ends = opps.as_ref().map(|opps| [opps[0].0, opps[opps.len() - 1].0]);
    let end = |key: &str, limits: RangeInclusive<u64>, which: usize| match (table.number(key, &limits)?, ends) {
        (None, Some(ends)) => Ok(ends[which]),
        _ => table.need_number(key, &limits),
    };
    let min_khz = end("min_khz", 0..=*KHZ.end(), 0)?;
    let max_khz = end("max_khz", KHZ, 1)?;
    if min_khz > max_khz {
        return Err(table.error(format!("max_khz = {max_khz}; expected min_khz, {min_khz}, or more")));
    }
    if let Some([low, high]) = ends.filter(|&[low, high]| low < min_khz || high > max_khz) {
        let what =
            format!("`opps` are {low} to {high} kHz; expected {min_khz} to {max_khz} at most, min_khz to max_khz");
        return Err(table.error(what));
    }
    let steps_khz = table.numbers("steps_khz", &KHZ)?.unwrap_or_default();
    if !steps_khz.is_sorted_by(|a, b| a < b) {
        return Err(table.error("expected `steps_khz` lowest first, each once"));
    }
    let grain_khz = table.number("grain_khz", &KHZ)?;
    if grain_khz.is_some() && !steps_khz.is_empty() {
        let error = table.error("expected `steps_khz` or `grain_khz`, found both");
        return Err(error.with_hint("a driver with a table has steps; one that chooses freely has a grain"));
    }
    let steps_khz = opps.as_ref().map_or(steps_khz, |opps| opps.iter().map(|&(khz, _)| khz).collect());
    let ns = |key: &str| table.number(key, &US).map(|us| us.map(|us| us * 1000));
    Ok(FreqPolicy {
        cpus,
        driver: table.text("driver")?.map(str::to_owned),
        min_khz,
        max_khz,
        base_khz: table.number("base_khz", &KHZ)?,
        steps_khz,
        grain_khz,
        voltages: match opps {
            Some(opps) => opps,
            None => VOLTAGES.read(table, "voltages")?.unwrap_or_default(),
        },
        voltage_range_pct: match table.get("voltage_range_pct") {
            Some(_) => origin::range(table, "voltage_range_pct", &PCT, ("what the file has, in per cent,", 100))?,
            None => [100; 2],
        },
        latency_ns: ns("latency_us")?,
        delay_ns: ns("delay_us")?,
        clock: clock(table)?,
        origin: origin::read(table)?,
    })
}

fn clock(table: &Table<'_>) -> Result<Clock, MachineError> {
    match (table.text("clock")?, table.get("clock")) {
        (None | Some("policy"), _) | (_, None) => Ok(Clock::Policy),
        (Some("core"), _) => Ok(Clock::Core),
        (Some("package"), _) => Ok(Clock::Package),
        (Some(_), Some(value)) => Err(table.wrong("clock", value, "\"policy\", \"core\" or \"package\"")),
    }
}
