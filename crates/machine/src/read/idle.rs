//! `[[idle]]` and `[demotion]`: idle states, and what the processor makes of requests for deep ones.

use super::value::{UW, amount, need_amount, need_cpus, origin};
use crate::{Demotion, IdleState};
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table};

/// ns: the kernel counts microseconds in 32 bits.
const NS: RangeInclusive<u64> = 0..=u32::MAX as u64 * 1000;

/// The kernel has at most 10 states today (`CPUIDLE_STATE_MAX`).
const INDEX: RangeInclusive<u64> = 0..=u32::MAX as u64;

/// us, up to a second.
const BELOW_US: RangeInclusive<u64> = 1..=1_000_000;

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

/// Reads the idle states, by index and lowest CPU.
pub(super) fn read(root: &Table<'_>, nr_cpus: u32) -> Result<Vec<IdleState>, InputError> {
    let mut states: Vec<IdleState> = Vec::new();
    for table in root.tables("idle", KEYS)? {
        let state = IdleState {
            cpus: need_cpus(&table, nr_cpus)?,
            index: table.need_number("index", &INDEX)? as u32,
            name: table.need_text("name", "a text such as \"C1\"")?.to_owned(),
            description: table.text("description")?.map(str::to_owned),
            exit_latency_ns: table.need_number("exit_latency_ns", &NS)?,
            residency_ns: table.need_number("residency_ns", &NS)?,
            power_uw: amount(&table, "power_uw", "power_range", &UW)?,
            disabled: table.flag("disabled")?.unwrap_or(false),
            origin: origin(&table)?,
        };
        if states.iter().any(|before| before.index == state.index && before.cpus.intersects(&state.cpus)) {
            let what = format!("some of these CPUs already have a state {}; expected one", state.index);
            return Err(table.error(what));
        }
        deeper_saves(&table, &states, &state)?;
        states.push(state);
    }
    states.sort_by_key(|state| (state.index, state.cpus.first()));
    Ok(states)
}

/// Refuses a state that takes more power than a shallower one, or less than a deeper one.
fn deeper_saves(table: &Table<'_>, others: &[IdleState], state: &IdleState) -> Result<(), InputError> {
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

/// Reads how the processor demotes requests for deep states. Returns `None` if the file does not mention it. `states`
/// are the machine's.
pub(super) fn read_demotion(root: &Table<'_>, states: &[IdleState]) -> Result<Option<Demotion>, InputError> {
    let keys = &["to", "below_us", "below_range", "source", "assumed"];
    let Some(table) = root.table("demotion", keys)? else { return Ok(None) };
    let to = table.need_text("to", "the name of an idle state such as \"C1\"")?;
    if !states.iter().any(|state| state.name == to) {
        let error = table.error(format!("to is {to}, but no `[[idle]]` has that name"));
        return Err(error.with_hint("`to` is the state in which cores that are often woken stay, such as C1"));
    }
    let below_us = need_amount(&table, "below_us", "below_range", &BELOW_US)?;
    Ok(Some(Demotion { to: to.to_owned(), below_us, origin: origin(&table)? }))
}
