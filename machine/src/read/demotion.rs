//! `[demotion]`.

use super::table::Table;
use super::{amount, origin};
use crate::{Demotion, IdleState, MachineError};
use std::ops::RangeInclusive;

/// Up to a second.
const US: RangeInclusive<u64> = 1..=1_000_000;

/// How the processor demotes requests for deep states, if the file says that it does; `states` are the machine's.
pub(super) fn read(root: &Table<'_>, states: &[IdleState]) -> Result<Option<Demotion>, MachineError> {
    let Some(table) = root.table("demotion")? else { return Ok(None) };
    table.only(&["to", "below_us", "below_range", "source", "assumed"])?;
    let to = table.need_text("to", "the name of an idle state such as \"C1\"")?;
    if !states.iter().any(|state| state.name == to) {
        let error = table.error(format!("to is {to}, and no `[[idle]]` is of that name"));
        return Err(error.with_hint("it is the state in which cores stay that are woken often, such as C1"));
    }
    let below_us = amount::need(&table, "below_us", "below_range", &US)?;
    Ok(Some(Demotion { to: to.to_owned(), below_us, origin: origin::read(&table)? }))
}
