//! The fields of one row, by column, with errors that say where.

use super::columns::Column;
use super::error::{ReadError, shown};
use super::records::Record;
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::{self, FromStr};
use wakelab_sched::CpuMask;

/// One line of the file, split into fields.
pub(super) struct Fields {
    pub(super) file: PathBuf,
    /// By [`Column`]: its place in this file.
    places: Vec<usize>,
    /// How many columns the header has.
    pub(super) columns: usize,
    pub(super) record: Record,
}

/// A number in decimal that can be bounded.
pub(super) trait Number: FromStr + PartialOrd + Display + Copy {}
impl<T: FromStr + PartialOrd + Display + Copy> Number for T {}

impl Fields {
    /// Fields of columns at these places.
    pub(super) fn new(file: &Path, places: Vec<usize>, columns: usize) -> Self {
        Fields { file: file.to_owned(), places, columns, record: Record::default() }
    }

    /// The line of the row that was read last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.record.line
    }

    pub(super) fn bytes(&self, column: Column) -> &[u8] {
        self.record.get(self.places[column as usize]).unwrap_or_default()
    }

    pub(super) fn text(&self, column: Column) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes(column))
    }

    pub(super) fn text_into(&self, column: Column, to: &mut String) {
        to.clear();
        to.push_str(&self.text(column));
    }

    pub(super) fn error(&self, column: Column, what: String) -> ReadError {
        ReadError::of_file(&self.file, what).at_line(self.line()).in_column(column.name())
    }

    pub(super) fn expected(&self, column: Column, what: &str) -> ReadError {
        self.error(column, format!("expected {what}, found {}", shown(self.bytes(column))))
    }

    /// A name that can be part of a file's name.
    pub(super) fn name(&self, column: Column) -> Result<String, ReadError> {
        if !is_name(self.bytes(column)) {
            return Err(self.expected(column, NAME).with_hint(NAMES));
        }
        Ok(self.text(column).into_owned())
    }

    /// A number within bounds.
    pub(super) fn number<T: Number>(&self, column: Column, range: RangeInclusive<T>) -> Result<T, ReadError> {
        match parse(self.bytes(column)) {
            Some(number) if range.contains(&number) => Ok(number),
            _ => Err(self
                .expected(column, &format!("a number from {} to {}", range.start(), range.end()))
                .with_hint(DAMAGED)),
        }
    }

    pub(super) fn flag(&self, column: Column) -> Result<bool, ReadError> {
        match self.bytes(column) {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.expected(column, "0 or 1").with_hint(DAMAGED)),
        }
    }

    pub(super) fn hex(&self, column: Column) -> Result<u32, ReadError> {
        let bytes = self.bytes(column);
        // from_str_radix() would take a sign too.
        let text = str::from_utf8(bytes).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        text.and_then(|text| u32::from_str_radix(text, 16).ok()).ok_or_else(|| {
            self.expected(column, "a hexadecimal number of 32 bits").with_hint("it is written without 0x")
        })
    }

    pub(super) fn cpu(&self, column: Column, nr_cpus: u32) -> Result<u32, ReadError> {
        match parse::<u32>(self.bytes(column)) {
            Some(cpu) if cpu < nr_cpus => Ok(cpu),
            _ => Err(self.expected(column, &format!("a CPU from 0 to {}", nr_cpus - 1)).with_hint(BELONGS)),
        }
    }

    pub(super) fn mask(&self, column: Column, nr_cpus: u32) -> Result<CpuMask, ReadError> {
        str::from_utf8(self.bytes(column)).ok().and_then(|text| CpuMask::from_hex(nr_cpus, text)).ok_or_else(|| {
            self.expected(column, &format!("a hexadecimal mask of CPUs 0 to {}", nr_cpus - 1)).with_hint(BELONGS)
        })
    }

    /// A list with one number for each of `n` things: `what` is one CPU or one LLC.
    pub(super) fn list<T: Number>(
        &self,
        column: Column,
        (n, what): (usize, &str),
        range: RangeInclusive<T>,
        to: &mut Vec<T>,
    ) -> Result<(), ReadError> {
        to.clear();
        let bytes = self.bytes(column);
        let items = || bytes.split(|&b| b == b' ').filter(|item| !item.is_empty());
        for item in items().take(n) {
            match parse(item) {
                Some(number) if range.contains(&number) => to.push(number),
                _ => {
                    let (from, till) = (range.start(), range.end());
                    let what =
                        format!("expected numbers from {from} to {till}, found {} at {what} {}", shown(item), to.len());
                    return Err(self.error(column, what).with_hint(DAMAGED));
                }
            }
        }
        match items().count() {
            count if count == n => Ok(()),
            count => {
                let what = format!("expected one number for each {what}, {n} in all; found {count}");
                Err(self.error(column, what).with_hint(BELONGS))
            }
        }
    }
}

/// Whether this can be a kernel's or a machine's name.
pub(super) fn is_name(bytes: &[u8]) -> bool {
    let may = |b: &u8| b.is_ascii_alphanumeric() || b"._+~-".contains(b);
    (1..=64).contains(&bytes.len()) && bytes.iter().all(may)
}

/// What [`is_name`] asks for.
pub(super) const NAME: &str = "a name of at most 64 letters, digits and ._+~-";
/// Such names.
pub(super) const NAMES: &str = "a kernel is a release such as 6.12, a topology a machine's name such as A-8c-1s4x2";

/// For values that no kernel gives.
const DAMAGED: &str = "no kernel gives such a value; was the file edited or damaged?";

/// For what contradicts the description of the machine.
pub(super) const BELONGS: &str = "does the topo file belong to this recording?";

/// A decimal number; unlike `parse()`, without a plus sign.
fn parse<T: FromStr>(bytes: &[u8]) -> Option<T> {
    str::from_utf8(bytes).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}
