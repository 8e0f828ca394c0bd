//! `[[channel]]`.

use super::table::Table;
use crate::error::WorkloadError;

/// A channel, or one for each instance.
#[derive(Clone, Debug)]
pub(super) struct ChannelDef {
    pub(super) name: String,
    pub(super) capacity: u32,
    pub(super) per_instance: bool,
}

/// Reads one.
pub(super) fn read(table: &Table<'_>) -> Result<ChannelDef, WorkloadError> {
    Ok(ChannelDef {
        name: table.need_text("name")?.to_owned(),
        capacity: table
            .number("capacity", 1, i64::from(u32::MAX))?
            .ok_or_else(|| table.missing("capacity", "capacity = 8"))? as u32,
        per_instance: table.flag("per_instance")?.unwrap_or(true),
    })
}
