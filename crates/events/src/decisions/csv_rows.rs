//! A recording as CSV, row by row. A header names the columns.

use super::csv::{MAX_RECORD, Record, RecordError, Records, Source, SourceError};
use super::fields::{Column, Rows, Value};
use super::reader::WHAT_IS_READ;
use crate::error::{ReadError, shown};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A reader of the rows of a file.
pub(super) struct CsvRows {
    path: PathBuf,
    records: Records,
    /// The current row; before the first, the header.
    record: Record,
    /// The number of columns in the header.
    columns: usize,
    /// By [`Column`]: its index in a record.
    places: Vec<usize>,
}

impl CsvRows {
    /// Reads the header.
    pub(super) fn open(path: &Path, source: impl Read + Send + 'static) -> Result<Self, ReadError> {
        let source = Source::new(source).map_err(|e| source_error(path, 1, &e))?;
        let (mut records, mut record) = (Records::new(source), Record::default());
        if !records.read(&mut record).map_err(|e| record_error(path, &records, &record, &e))? {
            return Err(ReadError::of_file(path, "empty; expected a header line with the names of the columns")
                .with_hint(WHAT_IS_READ));
        }
        let (columns, places) = (record.count, places(path, &record)?);
        Ok(CsvRows { path: path.to_owned(), records, record, columns, places })
    }
}

impl Rows for CsvRows {
    /// Reads a record, which must have as many fields as the header.
    fn advance(&mut self, _: &dyn Fn(u64, i64) -> bool) -> Result<bool, ReadError> {
        let CsvRows { path, records, record, columns, .. } = self;
        if !records.read(record).map_err(|e| record_error(path, records, record, &e))? {
            return Ok(false);
        }
        let found = record.count;
        if found != *columns {
            let what = format!("expected {columns} columns as in the header, found {found}");
            return Err(ReadError::of_file(path, what)
                .at_line(record.line)
                .with_hint("a line that was cut off has fewer columns; was the whole file copied?"));
        }
        Ok(true)
    }

    fn line(&self) -> u64 {
        self.record.line
    }

    fn value(&self, column: Column) -> Result<Value<'_>, ReadError> {
        Ok(Value::Text(self.record.get(self.places[column as usize]).unwrap_or_default()))
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// By [`Column`]: its index in the header. Columns with other names are ignored.
fn places(path: &Path, header: &Record) -> Result<Vec<usize>, ReadError> {
    let error = |what: String| ReadError::of_file(path, what).at_line(header.line);
    let first = header.get(0).unwrap_or_default();
    if header.iter().any(|name| name.contains(&0) || std::str::from_utf8(name).is_err()) {
        return Err(error(format!(
            "expected a header line with the names of the columns, found bytes that are not text: {}",
            shown(first)
        ))
        .with_hint("a recording is a CSV file, plain or compressed with gzip; other compressions are not supported"));
    }
    let name_at = |(place, name)| if place == 0 { strip_bom(name) } else { name };
    let mut missing = Vec::new();
    let mut places = Vec::with_capacity(Column::ALL.len());
    for column in Column::ALL {
        let mut found = header
            .iter()
            .enumerate()
            .filter(|&field| name_at(field) == column.name().as_bytes())
            .map(|(place, _)| place);
        match (found.next(), found.next()) {
            (Some(place), None) => places.push(place),
            (None, _) if column.is_optional() => places.push(usize::MAX),
            (None, _) => missing.push(column.name()),
            (Some(_), Some(_)) => {
                return Err(error("the column appears twice; expected it once".into())
                    .in_column(column.name())
                    .with_hint("remove one of the two"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(places);
    }
    let few: Vec<_> = missing.iter().take(8).copied().collect();
    let more =
        if missing.len() > few.len() { format!(" and {} more", missing.len() - few.len()) } else { String::new() };
    let found = if places.iter().all(|&place| place == usize::MAX) {
        format!("; it begins with {}", shown(first))
    } else {
        String::new()
    };
    Err(error(format!("the header lacks {}{more}{found}", few.join(", ")))
        .with_hint("docs/formats.md lists the columns"))
}

fn strip_bom(name: &[u8]) -> &[u8] {
    name.strip_prefix(BOM).unwrap_or(name)
}

fn record_error(path: &Path, records: &Records, record: &Record, error: &RecordError) -> ReadError {
    let at_record = |what: String| ReadError::of_file(path, what).at_line(record.line);
    match error {
        RecordError::Source(error) => source_error(path, records.line(), error),
        RecordError::TooLong => {
            at_record(format!("expected a row of at most {} MiB, found a longer one", MAX_RECORD >> 20))
                .with_hint("is this a recording? An open quote also turns many lines into one row")
        }
        RecordError::OpenQuote => at_record("expected the closing quote of a field, found the end of the file".into())
            .with_hint("the quote begins in this row; was the whole file copied?"),
    }
}

fn source_error(path: &Path, line: u64, error: &SourceError) -> ReadError {
    let at_line = |what: String| ReadError::of_file(path, what).at_line(line);
    match error {
        SourceError::CutOff => at_line("the gzip stream ends too early: the file is cut off".into())
            .with_hint("copy the whole file again; `gzip -t` checks it"),
        SourceError::Damaged(e) => {
            at_line(format!("the gzip stream is damaged: {e}")).with_hint("copy it again; `gzip -t` checks it")
        }
        SourceError::Io(e) => at_line(e.to_string()).with_hint("the system failed to read on"),
    }
}
