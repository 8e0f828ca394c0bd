//! Values of an experiment file that know where they were given.

use super::{Given, Place, SpecError};
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table};

impl From<InputError> for SpecError {
    fn from(error: InputError) -> Self {
        let InputError { path, line, key, what, hint } = error;
        SpecError { place: Place::File { path, line, key }, what, hint }
    }
}

/// The value of a key, with its place.
pub(super) fn given<T>(table: &Table<'_>, name: &str, value: T) -> Given<T> {
    Given { value, place: SpecError::from(table.wrong(name, "")).place }
}

/// The text of a key. Returns `None` if the key is not there.
pub(super) fn text(table: &Table<'_>, name: &str) -> Result<Option<Given<String>>, SpecError> {
    Ok(table.any_text(name)?.map(|text| given(table, name, text.to_owned())))
}

/// The text of a key that must be there, such as `example`.
pub(super) fn need_text(table: &Table<'_>, name: &str, example: &str) -> Result<Given<String>, SpecError> {
    text(table, name)?.ok_or_else(|| missing(table, name, example))
}

/// The whole number of a key. Returns `None` if the key is not there.
pub(super) fn number(
    table: &Table<'_>,
    name: &str,
    limits: &RangeInclusive<u64>,
) -> Result<Option<Given<u64>>, SpecError> {
    Ok(table.number(name, limits)?.map(|number| given(table, name, number)))
}

/// The error that a key is not there, whose value could be `example`.
pub(super) fn missing(table: &Table<'_>, name: &str, example: &str) -> SpecError {
    table.missing(name, &format!("a value such as {example}")).into()
}
