//! `[[idle]]`.

use super::table::Table;
use super::{cpus, origin};
use crate::{IdleState, MachineError};
use std::ops::RangeInclusive;

/// The kernel counts microseconds in 32 bits.
const NS: RangeInclusive<u64> = 0..=u32::MAX as u64 * 1000;

/// The kernel has 10 (`CPUIDLE_STATE_MAX`), today.
const INDEX: RangeInclusive<u64> = 0..=u32::MAX as u64;

const KEYS: &[&str] =
    &["cpus", "index", "name", "description", "exit_latency_ns", "residency_ns", "disabled", "source", "assumed"];

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
            disabled: flag(&table, "disabled")?,
            origin: origin::read(&table)?,
        };
        if states.iter().any(|before| before.index == state.index && before.cpus.intersects(&state.cpus)) {
            let what = format!("some of its CPUs have a state {} already; expected one", state.index);
            return Err(table.error(what));
        }
        states.push(state);
    }
    states.sort_by_key(|state| (state.index, state.cpus.first()));
    Ok(states)
}

fn flag(table: &Table<'_>, key: &str) -> Result<bool, MachineError> {
    let Some(value) = table.get(key) else { return Ok(false) };
    value.get_ref().as_bool().ok_or_else(|| table.wrong(key, value, "true or false"))
}
