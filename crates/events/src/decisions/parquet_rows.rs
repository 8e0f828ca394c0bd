//! A recording in Parquet, row by row. What a row has in a column is handed over as Arrow has it.

use super::fields::{Column, Rows, Value};
use super::topo::TopoFile;
use crate::error::{ReadError, clipped};
use crate::limits::MOST_LIST_VALUES;
use crate::recording::Decisions;
use crate::table::Table;
use crate::table::decode::Batches;
use crate::table::metadata::{Builder, ParquetFile};
use crate::table::pages::ListLimits;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use parquet::arrow::ProjectionMask;
use std::fs::File;
use std::path::Path;

/// Rows are decoded in batches of at most this size.
const BATCH_ROWS: usize = 1024;
/// The approximate size of the lists of a batch, bytes, and of those of a row for each CPU.
const BATCH_BYTES: usize = 64 << 20;
const ROW_BYTES_PER_CPU: usize = 128;

/// How many rows are decoded at once on a machine of so many CPUs.
pub(super) fn batch_rows(nr_cpus: u32) -> usize {
    (BATCH_BYTES / (ROW_BYTES_PER_CPU * (nr_cpus as usize).max(1))).clamp(1, BATCH_ROWS)
}

/// A reader of the rows of a file.
pub(super) struct ParquetRows {
    batches: Batches,
    /// By [`Column`]: its index in a batch; `None` if its value is in the metadata, or missing.
    places: Vec<Option<usize>>,
    /// The columns that are the same in all rows, from the metadata.
    of_all_rows: [(Column, String); 4],
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
        let (kernel, machine) = (value("wakelab.kernel")?, value("wakelab.machine")?);
        let domains = file.required("wakelab.domains")?;
        let (load, variant) = (value("wakelab.workload")?, value("wakelab.variant")?);
        let topo = TopoFile::parse(path, domains)?;
        let of_all_rows =
            [(Column::kernel, kernel), (Column::topology, machine), (Column::load, load), (Column::variant, variant)];
        let schema = builder.schema().clone();
        let (mut places, mut read) = (Vec::new(), Vec::new());
        for &column in Column::ALL {
            let place = schema.fields().iter().position(|field| field.name() == column.name());
            read.extend(place);
            if place.is_none() && of_all_rows.iter().all(|(of_all, _)| *of_all != column) && !column.is_optional() {
                return Err(error(format!("the file lacks the column {}", column.name())).with_hint(WHAT_IS_READ));
            }
            places.push(place);
        }
        let nr_cpus = topo.domains.nr_cpus;
        let lists = ListLimits { longest: nr_cpus.into(), most: MOST_LIST_VALUES };
        file.check_rows(rows, &builder, |name| read.iter().any(|&at| schema.field(at).name() == name), lists)?;
        check_types::<Decisions>(path, &schema, Column::ALL.iter().map(|column| column.name()))?;
        // The columns of a batch are in the order of the file.
        read.sort_unstable();
        for place in places.iter_mut().flatten() {
            *place = read.partition_point(|at| at < place);
        }
        let mask = ProjectionMask::roots(builder.parquet_schema(), read);
        let batches = Batches::open(path, builder.with_projection(mask).with_batch_size(batch_rows(nr_cpus)))?;
        Ok((ParquetRows { batches, places, of_all_rows }, topo))
    }
}

impl Rows for ParquetRows {
    fn advance(&mut self, _: &dyn Fn(u64, i64) -> bool) -> Result<bool, ReadError> {
        self.batches.advance()
    }

    fn line(&self) -> u64 {
        self.batches.row
    }

    fn value(&self, column: Column) -> Result<Value<'_>, ReadError> {
        let (Some(place), Some((batch, row))) = (self.places[column as usize], self.batches.current()) else {
            let of_all = self.of_all_rows.iter().find(|(of_all, _)| *of_all == column);
            return Ok(Value::Text(of_all.map(|(_, text)| text.as_bytes()).unwrap_or_default()));
        };
        Ok(value_at(batch.column(place), row))
    }
}

/// Checks that columns have the types of their table. Columns that only CSV files have are texts.
pub(super) fn check_types<'a, T: Table>(
    path: &Path,
    found: &Schema,
    columns: impl Iterator<Item = &'a str>,
) -> Result<(), ReadError> {
    let schema = T::schema();
    for name in columns {
        let Ok(found) = found.field_with_name(name) else { continue };
        let (expected, kind) = match schema.index_of(name) {
            Ok(at) => (schema.field(at).data_type(), T::COLUMNS[at].kind),
            Err(_) => (&DataType::Utf8, "text"),
        };
        if !is_read_as(found.data_type(), expected) {
            let found = found.data_type().to_string();
            let what = format!("columns of type {} are not supported, expected {kind}", clipped(&found));
            return Err(ReadError::of_file(path, what).at_line(1).in_column(name).with_hint(WHAT_IS_READ));
        }
    }
    Ok(())
}

/// Whether values of a type are read where another is expected.
fn is_read_as(found: &DataType, expected: &DataType) -> bool {
    use DataType::{Dictionary, Int32, Int64, List, Utf8, Utf8View};
    match (expected, found) {
        (List(expected), List(found)) => is_read_as(found.data_type(), expected.data_type()),
        // No decision reads names.
        (Int32, Int64) | (Utf8, Utf8View) | (Dictionary(..), _) => true,
        _ => found == expected,
    }
}

/// What an array of such a type has in a row.
pub(super) fn value_at(array: &ArrayRef, row: usize) -> Value<'_> {
    if array.is_null(row) {
        return Value::Text(b"");
    }
    match array.data_type() {
        DataType::Boolean => Value::Number(array.as_boolean().value(row).into()),
        DataType::Int32 => Value::Number(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Value::Number(array.as_primitive::<Int64Type>().value(row)),
        DataType::List(of) => {
            let list = array.as_list::<i32>();
            let (items, offsets) = (list.values(), list.value_offsets());
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            match of.data_type() {
                DataType::UInt64 => Value::Cpus(&items.as_primitive::<UInt64Type>().values()[range]),
                DataType::Int32 => {
                    Value::List(items.as_primitive::<Int32Type>().values()[range].iter().map(|&n| n.into()).collect())
                }
                _ => Value::List(items.as_primitive::<Int64Type>().values()[range].into()),
            }
        }
        _ => Value::Text(array.as_string_view().value(row).as_bytes()),
    }
}
