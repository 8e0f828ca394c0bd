//! `[[distribution]]`: values from which a step draws one each time, such as recorded lengths of work.

use super::resource::unknown;
use super::{name, step};
use crate::Distribution;
use std::num::NonZeroU32;
use wakelab_input::{InputError, Table};

/// The keys that it may hold.
pub(super) const KEYS: [&str; 2] = ["name", "ns"];
/// The most values of a distribution.
const VALUES_MAX: usize = 65_536;
/// The longest value, ns: an hour, as of any step.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Reads all of a file.
pub(super) fn read_all(tables: &[Table<'_>]) -> Result<Vec<Distribution>, InputError> {
    tables.iter().map(read).collect()
}

fn read(table: &Table<'_>) -> Result<Distribution, InputError> {
    let expected = "a list of nanoseconds such as [900, 1000, 1250]";
    let values = table.numbers("ns", &(0..=LONGEST_NS))?.ok_or_else(|| table.missing("ns", expected))?;
    if values.is_empty() || values.len() > VALUES_MAX {
        let what = format!("expected 1 to {VALUES_MAX} values, found {}", values.len());
        return Err(table.wrong("ns", what));
    }
    Ok(Distribution { name: name(table)?.to_owned(), values })
}

/// Returns the number, from 1, and the mean, ns, of the distribution that the table `{from = "name"}` under `key`
/// names. Returns `None` if `key` is not a table.
pub(super) fn named(
    table: &Table<'_>,
    key: &str,
    names: &step::Names<'_>,
) -> Result<Option<(NonZeroU32, u64)>, InputError> {
    if table.get(key).is_none_or(|value| value.get_ref().as_table().is_none()) {
        return Ok(None);
    }
    let from = table.need_table(key, &["from"])?;
    let text = from.need_text("from", "the name of a distribution in quotes")?;
    match names.distribution(text) {
        Some(found) => Ok(Some(found)),
        None => {
            let all: Vec<&str> = names.distributions.iter().map(|one| one.name.as_str()).collect();
            Err(unknown(&from, "from", "distribution", text, &all))
        }
    }
}
