//! The fields of one row, by column, with errors that say where.

use super::columns::Column;
use super::error::ReadError;
use csv::{ByteRecord, Position};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::str::{self, FromStr};
use wakelab_sched::CpuMask;

/// One line of the file, split into fields.
pub(super) struct Fields {
    pub(super) file: PathBuf,
    /// By [`Column`]: its place in this file.
    places: Vec<usize>,
    pub(super) record: ByteRecord,
}

impl Fields {
    /// Takes the places of the columns from the header.
    pub(super) fn new(file: &Path, header: &ByteRecord) -> Result<Self, ReadError> {
        Ok(Fields { file: file.to_owned(), places: places(file, header)?, record: ByteRecord::new() })
    }

    /// The line of the row that was read last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.record.position().map_or(0, Position::line)
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
        let mut found = self.text(column).into_owned();
        if found.chars().count() > 60 {
            found = found.chars().take(60).collect::<String>() + "...";
        }
        self.error(column, format!("expected {what}, found {found:?}"))
    }

    pub(super) fn number<T: FromStr>(&self, column: Column) -> Result<T, ReadError> {
        parse(self.bytes(column)).ok_or_else(|| self.expected(column, "a number that is not negative"))
    }

    pub(super) fn signed(&self, column: Column) -> Result<i64, ReadError> {
        parse(self.bytes(column)).ok_or_else(|| self.expected(column, "a number"))
    }

    pub(super) fn flag(&self, column: Column) -> Result<bool, ReadError> {
        match self.bytes(column) {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.expected(column, "0 or 1")),
        }
    }

    pub(super) fn hex(&self, column: Column) -> Result<u32, ReadError> {
        str::from_utf8(self.bytes(column))
            .ok()
            .and_then(|text| u32::from_str_radix(text, 16).ok())
            .ok_or_else(|| self.expected(column, "a hexadecimal number of 32 bits"))
    }

    pub(super) fn cpu(&self, column: Column, nr_cpus: u32) -> Result<u32, ReadError> {
        match parse::<u32>(self.bytes(column)) {
            Some(cpu) if cpu < nr_cpus => Ok(cpu),
            _ => Err(self.expected(column, &format!("a CPU from 0 to {}", nr_cpus - 1))),
        }
    }

    pub(super) fn mask(&self, column: Column, nr_cpus: u32) -> Result<CpuMask, ReadError> {
        str::from_utf8(self.bytes(column))
            .ok()
            .and_then(|text| CpuMask::from_hex(nr_cpus, text))
            .ok_or_else(|| self.expected(column, &format!("a hexadecimal mask of {nr_cpus} CPUs")))
    }

    /// A list with one number for each CPU.
    pub(super) fn list<T: FromStr>(&self, column: Column, n: usize, to: &mut Vec<T>) -> Result<(), ReadError> {
        self.items(column, Some(n), to).map_err(|e| {
            e.with_hint(format!("the machine's topo file has {n} CPUs; does it belong to this recording?"))
        })
    }

    pub(super) fn items<T: FromStr>(&self, column: Column, n: Option<usize>, to: &mut Vec<T>) -> Result<(), ReadError> {
        to.clear();
        let bytes = self.bytes(column);
        for item in bytes.split(|&b| b == b' ').filter(|item| !item.is_empty()) {
            to.push(parse(item).ok_or_else(|| self.expected(column, "numbers with one space between two"))?);
        }
        match n {
            Some(n) if n != to.len() => {
                Err(self.expected(column, &format!("a list of {n} numbers")))
            }
            _ => Ok(()),
        }
    }
}

fn parse<T: FromStr>(bytes: &[u8]) -> Option<T> {
    str::from_utf8(bytes).ok()?.parse().ok()
}

/// Where each column is, by the header.
fn places(path: &Path, header: &ByteRecord) -> Result<Vec<usize>, ReadError> {
    let mut missing = Vec::new();
    let mut places = Vec::with_capacity(Column::ALL.len());
    for column in Column::ALL {
        match header.iter().position(|name| name == column.name().as_bytes()) {
            Some(place) => places.push(place),
            None => missing.push(column.name()),
        }
    }
    if missing.is_empty() {
        return Ok(places);
    }
    let few: Vec<_> = missing.iter().take(8).copied().collect();
    let more = if missing.len() > few.len() { format!(" and {} more", missing.len() - few.len()) } else { String::new() };
    Err(ReadError::of_file(path, format!("the header lacks {}{more}", few.join(", ")))
        .at_line(1)
        .with_hint("docs/recording-format.md lists the columns"))
}

