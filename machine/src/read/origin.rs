//! Where a value was taken from.

use super::table::Table;
use crate::{MachineError, Origin};

/// Exactly one of `source` and `assumed`.
pub(super) fn read(table: &Table<'_>) -> Result<Origin, MachineError> {
    match (table.text("source")?, table.text("assumed")?) {
        (Some(source), None) => Ok(Origin::Source(source.to_owned())),
        (None, Some(assumed)) => Ok(Origin::Assumed(assumed.to_owned())),
        (Some(_), Some(_)) => Err(table
            .error("expected one of `source` and `assumed`, found both")
            .with_hint("`source` names a publication that has the value; all else is `assumed`")),
        (None, None) => Err(table
            .error("expected `source = \"...\"` or `assumed = \"...\"`")
            .with_hint("`source` names the publication that has the value; `assumed` says why this value")),
    }
}
