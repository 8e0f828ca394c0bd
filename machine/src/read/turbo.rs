//! `[turbo]`.

use super::origin;
use super::table::Table;
use super::topology::COUNT;
use crate::{FreqPolicy, IdleState, MachineError, Turbo, TurboBin};
use std::ops::RangeInclusive;

/// kHz, up to 1 THz.
const KHZ: RangeInclusive<u64> = 1..=1_000_000_000;

/// What limits turbo, if the file says so; `policies` and `states` are the machine's.
pub(super) fn read(
    root: &Table<'_>,
    policies: &[FreqPolicy],
    states: &[IdleState],
) -> Result<Option<Turbo>, MachineError> {
    let Some(table) = root.table("turbo")? else { return Ok(None) };
    table.only(&["khz", "cores", "active_states", "source", "assumed"])?;
    let Some(highest) = policies.iter().map(|policy| policy.max_khz).max() else {
        let error = table.error("the machine has no frequencies");
        return Err(error.with_hint("`[[frequency]]` says which frequencies the CPUs have; turbo limits them"));
    };
    let khz = table.numbers("khz", &KHZ)?.filter(|khz| !khz.is_empty());
    let khz = khz.ok_or_else(|| table.missing("khz", "a list: the highest frequency with 1, 2... active cores"))?;
    if let Some(pair) = khz.windows(2).find(|pair| pair[1] > pair[0]) {
        let what = format!("khz has {} after {}; expected it not to rise with the active cores", pair[1], pair[0]);
        return Err(table.error(what).with_hint("the first is for one active core, which can run the fastest"));
    }
    if khz[0] > highest {
        let what =
            format!("khz begins with {}; expected {highest} at most, the highest max_khz of `[[frequency]]`", khz[0]);
        return Err(table.error(what).with_hint("max_khz is with turbo"));
    }
    let cores = match table.numbers("cores", &COUNT)? {
        None => (1..=khz.len() as u64).collect(),
        Some(cores) if cores.len() != khz.len() => {
            let what = format!("cores has {} numbers; expected one for each of khz, {}", cores.len(), khz.len());
            return Err(table.error(what));
        }
        Some(cores) if !cores.is_sorted_by(|a, b| a < b) => {
            return Err(table.error("expected `cores` lowest first, each once"));
        }
        Some(cores) => cores,
    };
    let bins = cores.into_iter().zip(khz).map(|(cores, khz)| TurboBin { cores: cores as u32, khz }).collect();
    let active_states = table.texts("active_states")?.unwrap_or_default();
    if let Some(name) = active_states.iter().find(|name| !states.iter().any(|state| state.name == **name)) {
        let error = table.error(format!("active_states has {name}, and no `[[idle]]` is of that name"));
        return Err(error.with_hint("they are the states in which a core still counts as active, such as C1"));
    }
    Ok(Some(Turbo { bins, active_states, origin: origin::read(&table)? }))
}
