//! The rows of a sweep as Parquet: one file for each part.

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
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
use wakelab_study::experiment::AxisValue;
use wakelab_study::sweep::{MEASURED, MeasuredOf, Sweep, SweepRow};

/// The metadata of a part: the sweep that it is of, and how many of its runs failed.
const ID: &str = "wakelab.sweep";
const FAILED: &str = "wakelab.failed";

/// What the values of a tunable are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Whole,
    Number,
    Word,
}

/// The tunables of a sweep, each with what its values are: whole numbers, numbers, or words if one of them is a word.
fn tunables(sweep: &Sweep) -> Vec<(&str, Of)> {
    let of = |name: &str| {
        let axes = sweep.spec().grids.iter().flat_map(|grid| &grid.axes).filter(|axis| axis.name == name);
        let values = axes.flat_map(|axis| axis.listed().into_iter().flatten().cloned()).map(|value| match value {
            AxisValue::Whole(_) => Of::Whole,
            AxisValue::Number(_) => Of::Number,
            AxisValue::Word(_) => Of::Word,
        });
        values.fold(Of::Whole, |all, one| match (all, one) {
            (Of::Word, _) | (_, Of::Word) => Of::Word,
            (Of::Number, _) | (_, Of::Number) => Of::Number,
            _ => Of::Whole,
        })
    };
    sweep.tunables().into_iter().map(|name| (name, of(name))).collect()
}

/// A part as a file of Parquet. The same rows give the same bytes.
pub fn parquet(sweep: &Sweep, id: &str, rows: &[SweepRow]) -> Vec<u8> {
    let mut columns: Vec<(Field, ArrayRef)> = Vec::new();
    let text = |of: &dyn Fn(&SweepRow) -> Option<String>| -> ArrayRef {
        let mut builder = StringBuilder::new();
        rows.iter().for_each(|row| builder.append_option(of(row)));
        Arc::new(builder.finish())
    };
    let whole = |of: &dyn Fn(&SweepRow) -> Option<u64>| -> ArrayRef {
        let mut builder = UInt64Builder::new();
        rows.iter().for_each(|row| builder.append_option(of(row)));
        Arc::new(builder.finish())
    };
    let number = |of: &dyn Fn(&SweepRow) -> Option<f64>| -> ArrayRef {
        let mut builder = Float64Builder::new();
        // A number that is none, such as a share of nothing, is missing.
        rows.iter().for_each(|row| builder.append_option(of(row).filter(|value| value.is_finite())));
        Arc::new(builder.finish())
    };
    let mut add = |name: &str, unit: &str, array: ArrayRef| {
        let field = Field::new(name, array.data_type().clone(), true);
        let unit = HashMap::from([("unit".to_owned(), unit.to_owned())]);
        let field = if unit["unit"].is_empty() { field } else { field.with_metadata(unit) };
        columns.push((field, array));
    };
    add("run", "", whole(&|row| Some(row.run)));
    add("point", "", whole(&|row| Some(row.point)));
    add("machine", "", text(&|row| Some(row.machine.clone())));
    add("kernel", "", text(&|row| Some(row.kernel.to_owned())));
    add("side", "", text(&|row| Some(row.side.clone())));
    for (name, of) in tunables(sweep) {
        let value =
            |row: &SweepRow| row.tunables.iter().find(|(tunable, _)| tunable == name).map(|(_, value)| value.clone());
        let array: ArrayRef = match of {
            Of::Whole => {
                let mut builder = Int64Builder::new();
                let as_whole = |value| if let AxisValue::Whole(value) = value { Some(value) } else { None };
                rows.iter().for_each(|row| builder.append_option(value(row).and_then(as_whole)));
                Arc::new(builder.finish())
            }
            Of::Number => number(&|row| match value(row)? {
                AxisValue::Whole(value) => Some(value as f64),
                AxisValue::Number(value) => Some(value),
                AxisValue::Word(_) => None,
            }),
            Of::Word => text(&|row| value(row).map(|value| value.to_string())),
        };
        add(&format!("tunable_{name}"), "", array);
    }
    add("benchmark", "", text(&|row| Some(row.benchmark.clone())));
    add("case", "", text(&|row| Some(row.case.clone())));
    add("load", "", text(&|row| Some(row.load.clone())));
    let mut repeats = UInt32Builder::new();
    rows.iter().for_each(|row| repeats.append_value(row.repeat));
    add("repeat", "", Arc::new(repeats.finish()));
    add("seed", "", whole(&|row| Some(row.seed)));
    add("metric", "", text(&|row| Some(row.metric.clone())));
    add("unit", "", text(&|row| Some(row.unit.clone())));
    add("better", "", text(&|row| Some(if row.higher_is_better { "higher" } else { "lower" }.to_owned())));
    add("value", "", number(&|row| Some(row.stats.as_ref().ok()?.metric(&row.metric))));
    for measured in MEASURED {
        let array = match measured.of {
            MeasuredOf::Whole(of) => whole(&|row| row.stats.as_ref().ok().and_then(of)),
            MeasuredOf::Number(of) => number(&|row| row.stats.as_ref().ok().and_then(of)),
        };
        add(measured.name, measured.unit, array);
    }
    add("error", "", text(&|row| row.stats.as_ref().err().cloned()));

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
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).expect("all columns have a value for each row");
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).expect("such a table can be written");
    writer.write(&batch).expect("memory can be written");
    writer.into_inner().expect("memory can be written")
}

/// How many of these runs failed.
pub fn failed_runs(rows: &[SweepRow]) -> u64 {
    rows.iter().filter(|row| row.stats.is_err()).count() as u64
}

/// How many runs of a part failed, if the file is that part, whole: of this sweep, with so many rows.
pub fn failed_of(path: &Path, id: &str, rows: u64) -> Option<u64> {
    let reader = SerializedFileReader::new(wakelab_input::files::open_own(path).ok()?).ok()?;
    let file = reader.metadata().file_metadata();
    let value = |key| file.key_value_metadata()?.iter().find(|pair| pair.key == key)?.value.as_deref();
    (file.num_rows() == rows as i64 && value(ID) == Some(id)).then(|| value(FAILED)?.parse().ok()).flatten()
}
