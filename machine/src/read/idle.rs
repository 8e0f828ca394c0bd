//! `[[idle]]`.

use super::table::Table;
use super::{amount, cpus, origin};
use crate::{IdleState, MachineError};
use std::ops::RangeInclusive;

/// The kernel counts microseconds in 32 bits.
const NS: RangeInclusive<u64> = 0..=u32::MAX as u64 * 1000;

/// The kernel has 10 (`CPUIDLE_STATE_MAX`), today.
const INDEX: RangeInclusive<u64> = 0..=u32::MAX as u64;

const KEYS: &[&str] = &[
    "cpus",
    "index",
    "name",
    "description",
    "exit_latency_ns",
    "residency_ns",
    "power_uw",
    "power_range",
    "disabled",
    "source",
    "assumed",
];

/// The states, by index and lowest CPU.
pub(super) fn read(root: &Table<'_>, nr_cpus: u32) -> Result<Vec<IdleState>, MachineError> {
    let mut states: Vec<IdleState> = Vec::new();
    for table in root.tables("idle")? {
        table.only(KEYS)?;
        let state = IdleState {
            cpus: cpus::need(&table, nr_cpus)?,
            index: table.need_number("index", &INDEX)? as u32,
            name: table.need_text("name", "a text such as \"C1\"")?.to_owned(),
            description: table.text("description")?.map(str::to_owned),
            exit_latency_ns: table.need_number("exit_latency_ns", &NS)?,
            residency_ns: table.need_number("residency_ns", &NS)?,
            power_uw: amount::read(&table, "power_uw", "power_range", &amount::UW)?,
            disabled: flag(&table, "disabled")?,
            origin: origin::read(&table)?,
        };
        if states.iter().any(|before| before.index == state.index && before.cpus.intersects(&state.cpus)) {
            let what = format!("some of its CPUs have a state {} already; expected one", state.index);
            return Err(table.error(what));
        }
        deeper_saves(&table, &states, &state)?;
        states.push(state);
    }
    states.sort_by_key(|state| (state.index, state.cpus.first()));
    Ok(states)
}

/// Refuses a state that takes more than one that is shallower, or less than one that is deeper.
fn deeper_saves(table: &Table<'_>, others: &[IdleState], state: &IdleState) -> Result<(), MachineError> {
    let Some(power) = state.power_uw else { return Ok(()) };
    for other in others.iter().filter(|other| other.cpus.intersects(&state.cpus)) {
        let Some(of_other) = other.power_uw else { continue };
        let (deeper, shallower) = if other.index < state.index { (power, of_other) } else { (of_other, power) };
        if deeper.value > shallower.value {
            let (index, value, of_other) = (other.index, power.value, of_other.value);
            let what = format!("power_uw = {value} in state {}, {of_other} in state {index}", state.index);
            return Err(table.error(what + "; expected less in the deeper one, or the same"));
        }
    }
    Ok(())
}

fn flag(table: &Table<'_>, key: &str) -> Result<bool, MachineError> {
    let Some(value) = table.get(key) else { return Ok(false) };
    value.get_ref().as_bool().ok_or_else(|| table.wrong(key, value, "true or false"))
}
