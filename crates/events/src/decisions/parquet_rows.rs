//! A recording in Parquet, row by row: each row becomes the fields that a CSV file would have, so that one code checks
//! both.

use super::csv::Record;
use super::fields::Column;
use super::topo::TopoFile;
use crate::error::{ReadError, clipped};
use crate::table::decode::{decode, next_batch};
use crate::table::metadata::{Builder, ParquetFile, damaged, damaged_rows};
use crate::table::pages::ListLimits;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Rows are decoded in batches of at most this size.
const BATCH_ROWS: usize = 1024;
/// The approximate size of the lists of a batch, bytes, and of those of a row for each CPU.
const BATCH_BYTES: usize = 64 << 20;
const ROW_BYTES_PER_CPU: usize = 128;
/// The most values of a list column in a row group, of which `RecordingWriter` begins a new one before.
pub(crate) const MOST_LIST_VALUES: u64 = 1 << 27;

/// How many rows are decoded at once on a machine of so many CPUs.
pub(super) fn batch_rows(nr_cpus: u32) -> usize {
    (BATCH_BYTES / (ROW_BYTES_PER_CPU * (nr_cpus as usize).max(1))).clamp(1, BATCH_ROWS)
}

/// The values that are the same in all rows of a file, from its metadata.
pub(super) struct RecordingMetadata {
    /// The kernel in short form (`6.12`).
    pub(super) kernel: String,
    /// The machine's name.
    pub(super) topology: String,
    /// The description of the machine, as in a topo file.
    domains: String,
    load: String,
    variant: String,
}

/// A reader of the rows of a file.
pub(super) struct ParquetRows {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    /// By [`Column`]: its index in a batch; `None` if its value is in the metadata, or missing.
    places: Vec<Option<usize>>,
    next: usize,
    row: u64,
    pub(super) metadata: RecordingMetadata,
}

const WHAT_IS_READ: &str = "wakelab-record writes such files; docs/formats.md describes them";

impl ParquetRows {
    /// Begins to read `rows`, the file of this metadata, with the description of its machine.
    pub(super) fn open(
        path: &Path,
        rows: &File,
        file: ParquetFile,
        builder: Builder,
    ) -> Result<(Self, TopoFile), ReadError> {
        let error = |what: String| ReadError::of_file(path, what);
        if file.table != "decisions" {
            let what = format!("expected the decisions of a recording, found the table {:?}", clipped(&file.table));
            return Err(error(what).with_hint(WHAT_IS_READ));
        }
        if file.get("wakelab.snapshot") == Some("none") {
            return Err(error("the recording has no states of CPUs, so its decisions cannot be replayed".into())
                .with_hint("record with --snapshot full or --snapshot llc; `wakelab stats` does not need the states"));
        }
        let value = |key: &str| file.required(key).map(str::to_owned);
        let metadata = RecordingMetadata {
            kernel: value("wakelab.kernel")?,
            topology: value("wakelab.machine")?,
            domains: value("wakelab.domains")?,
            load: value("wakelab.workload")?,
            variant: value("wakelab.variant")?,
        };
        let topo = TopoFile::parse(path, &metadata.domains)?;
        let schema = builder.schema().clone();
        let (mut places, mut read) = (Vec::new(), Vec::new());
        for &column in Column::ALL {
            let place = schema.fields().iter().position(|field| field.name() == column.name());
            read.extend(place);
            if place.is_none() && metadata.of_all_rows(column).is_none() && !column.is_optional() {
                return Err(error(format!("the file lacks the column {}", column.name())).with_hint(WHAT_IS_READ));
            }
            places.push(place);
        }
        let nr_cpus = topo.domains.nr_cpus;
        let lists = ListLimits { longest: nr_cpus.into(), most: MOST_LIST_VALUES };
        file.check_rows(rows, &builder, |name| read.iter().any(|&at| schema.field(at).name() == name), lists)?;
        // The columns of a batch are in the order of the file.
        read.sort_unstable();
        for place in places.iter_mut().flatten() {
            *place = read.partition_point(|at| at < place);
        }
        let mask = ProjectionMask::roots(builder.parquet_schema(), read);
        let batches = decode(|| builder.with_projection(mask).with_batch_size(batch_rows(nr_cpus)).build());
        let batches = batches.map_err(|e| damaged(path, &e))?.map_err(|e| damaged(path, &e.to_string()))?;
        let rows = ParquetRows { path: path.to_owned(), batches, batch: None, places, next: 0, row: 0, metadata };
        Ok((rows, topo))
    }

    /// Reads the next row. Returns false at the end.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
            let Some(batch) = next_batch(&mut self.batches) else { return Ok(false) };
            self.batch = Some(batch.map_err(|e| damaged_rows(&self.path, self.row + 1, &e))?);
            self.next = 0;
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        self.row += 1;
        record.begin(self.row);
        for (&column, place) in Column::ALL.iter().zip(&self.places) {
            let mut known = true;
            record.field(|to| match place {
                Some(place) => known = append_value(to, column, batch.column(*place), self.next),
                None => to.extend_from_slice(self.metadata.of_all_rows(column).unwrap_or_default().as_bytes()),
            });
            if !known {
                let kind = batch.schema().field(place.unwrap_or_default()).data_type().to_string();
                return Err(ReadError::of_file(
                    &self.path,
                    format!("columns of type {} are not supported", clipped(&kind)),
                )
                .at_line(self.row)
                .in_column(column.name())
                .with_hint(WHAT_IS_READ));
            }
        }
        self.next += 1;
        Ok(true)
    }

    /// By [`Column`]: its index in a record.
    pub(super) fn record_places() -> Vec<usize> {
        (0..Column::ALL.len()).collect()
    }
}

impl RecordingMetadata {
    /// The value of a column that is the same in all rows.
    fn of_all_rows(&self, column: Column) -> Option<&str> {
        match column {
            Column::kernel => Some(&self.kernel),
            Column::topology => Some(&self.topology),
            Column::load => Some(&self.load),
            Column::variant => Some(&self.variant),
            _ => None,
        }
    }
}

/// Whether a CSV file has the column in hexadecimal.
fn is_hex(column: Column) -> bool {
    matches!(column, Column::waker_flags | Column::wakee_flags | Column::wake_flags | Column::preempt_count)
}

/// Appends a value in the form of a CSV file. Returns false for an unexpected type.
pub(super) fn append_value(to: &mut Vec<u8>, column: Column, array: &ArrayRef, row: usize) -> bool {
    if array.is_null(row) {
        return true;
    }
    // Writing to a vector does not fail.
    let _ = match array.data_type() {
        DataType::Boolean => write!(to, "{}", u8::from(array.as_boolean().value(row))),
        DataType::Int32 => write!(to, "{}", array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 if is_hex(column) => write!(to, "{:x}", array.as_primitive::<Int64Type>().value(row)),
        DataType::Int64 => write!(to, "{}", array.as_primitive::<Int64Type>().value(row)),
        DataType::Utf8View => to.write_all(array.as_string_view().value(row).as_bytes()),
        DataType::List(_) => return append_list(to, &array.as_list::<i32>().value(row)),
        _ => return false,
    };
    true
}

pub(super) fn append_list(to: &mut Vec<u8>, items: &ArrayRef) -> bool {
    let _ = match items.data_type() {
        // A set of CPUs; the lowest CPU is bit 0 of the first word.
        DataType::UInt64 => {
            let words = items.as_primitive::<UInt64Type>().values();
            let highest = words.iter().rposition(|&word| word != 0).unwrap_or(0);
            let mut words = words.iter().take(highest + 1).rev();
            let first = write!(to, "{:x}", words.next().copied().unwrap_or(0));
            words.try_fold((), |(), word| write!(to, "{word:016x}")).and(first)
        }
        DataType::Int32 => join(to, items.as_primitive::<Int32Type>().values()),
        DataType::Int64 => join(to, items.as_primitive::<Int64Type>().values()),
        _ => return false,
    };
    true
}

fn join<T: std::fmt::Display>(to: &mut Vec<u8>, items: &[T]) -> std::io::Result<()> {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            to.push(b' ');
        }
        write!(to, "{item}")?;
    }
    Ok(())
}
