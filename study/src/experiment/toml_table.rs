//! Values of an experiment file that know where they were given.

use super::{Given, Place, SpecError};
use wakelab_workload::toml_table::{Table, TomlError};

impl From<TomlError> for SpecError {
    fn from(error: TomlError) -> Self {
        let TomlError { path, line, key, what, hint } = error;
        SpecError { place: Place::File { path, line, key }, what, hint }
    }
}

/// The value of a key, with its place.
pub(super) fn given<T>(table: &Table<'_>, name: &str, value: T) -> Given<T> {
    Given { value, place: SpecError::from(table.wrong(name, "")).place }
}

/// A text; `example` is what it could be.
pub(super) fn text(table: &Table<'_>, name: &str, example: &str) -> Result<Option<Given<String>>, SpecError> {
    Ok(table.any_text(name, example)?.map(|text| given(table, name, text.to_owned())))
}

/// A text that must be there.
pub(super) fn need_text(table: &Table<'_>, name: &str, example: &str) -> Result<Given<String>, SpecError> {
    text(table, name, example)?.ok_or_else(|| missing(table, name, example))
}

/// A whole number from `low` to `high`, the highest that TOML has at most.
pub(super) fn number(table: &Table<'_>, name: &str, low: u32, high: i64) -> Result<Option<Given<u64>>, SpecError> {
    Ok(table.number(name, i64::from(low), high)?.map(|number| given(table, name, number.unsigned_abs())))
}

/// A key that must be there is not.
pub(super) fn missing(table: &Table<'_>, name: &str, example: &str) -> SpecError {
    table.missing(name, &format!("{name} = {example}")).into()
}
