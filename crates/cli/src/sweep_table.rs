//! The rows of a sweep as Parquet: one file for each part.

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use wakelab_report::VERSION;
use wakelab_study::sweep::columns::{Column, Values, columns, failed_runs};
use wakelab_study::sweep::{Sweep, SweepRow};

/// The metadata of a part: the sweep that it is of, and how many of its runs failed.
const ID: &str = "wakelab.sweep";
const FAILED: &str = "wakelab.failed";

/// A part as a file of Parquet. The same rows give the same bytes.
pub fn parquet(sweep: &Sweep, id: &str, rows: &[SweepRow]) -> Vec<u8> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns(sweep, rows).into_iter().map(array).unzip();
    let pairs = [
        ("wakelab.table", "sweep".to_owned()),
        ("wakelab.kind", "simulated".to_owned()),
        ("wakelab.version", VERSION.to_owned()),
        (ID, id.to_owned()),
        (FAILED, failed_runs(rows).to_string()),
    ];
    let pairs = pairs.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(pairs.to_vec()))
        .set_created_by(format!("wakelab {VERSION}"))
        .build();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).expect("all columns have a value for each row");
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).expect("such a table can be written");
    writer.write(&batch).expect("memory can be written");
    writer.into_inner().expect("memory can be written")
}

/// A column in Arrow.
fn array(column: Column) -> (Field, ArrayRef) {
    let array: ArrayRef = match column.values {
        Values::Int(values) => Arc::new(Int64Array::from(values)),
        Values::Whole(values) => Arc::new(UInt64Array::from(values)),
        Values::Repeat(values) => Arc::new(UInt32Array::from(values)),
        Values::Number(values) => Arc::new(Float64Array::from(values)),
        Values::Text(values) => Arc::new(StringArray::from(values)),
    };
    let field = Field::new(column.name, array.data_type().clone(), true);
    let unit = HashMap::from([("unit".to_owned(), column.unit.to_owned())]);
    (if column.unit.is_empty() { field } else { field.with_metadata(unit) }, array)
}

/// How many runs of a part failed, if the file is that part, whole: of this sweep, with so many rows.
pub fn failed_of(path: &Path, id: &str, rows: u64) -> Option<u64> {
    let reader = SerializedFileReader::new(wakelab_input::files::open_own(path).ok()?).ok()?;
    let file = reader.metadata().file_metadata();
    let value = |key| file.key_value_metadata()?.iter().find(|pair| pair.key == key)?.value.as_deref();
    (file.num_rows() == rows as i64 && value(ID) == Some(id)).then(|| value(FAILED)?.parse().ok()).flatten()
}
