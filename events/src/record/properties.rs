//! How files are written.

use super::table::Table;
use arrow_schema::DataType;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// Rows are handed to the writer in batches of so many.
pub const BATCH_ROWS: usize = 2048;

/// A row group has so many rows; it is in memory, encoded, until it is full.
pub const ROW_GROUP_ROWS: usize = 1 << 16;

/// Numbers that stand close to those before them are written as the difference; that is faster than a dictionary, and
/// most columns are such. Names and sets of CPUs repeat.
pub fn properties<T: Table>(metadata: Vec<KeyValue>) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false)
        .set_created_by(concat!("wakelab ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(metadata));
    for field in T::schema().fields() {
        let name = field.name().clone();
        let element = |name| ColumnPath::new(vec![name, "list".to_owned(), "element".to_owned()]);
        let (path, differences) = match field.data_type() {
            DataType::Int32 | DataType::Int64 => (ColumnPath::from(name), true),
            DataType::List(of) if *of.data_type() == DataType::UInt64 => (element(name), false),
            DataType::List(_) => (element(name), true),
            DataType::Boolean => continue,
            _ => (ColumnPath::from(name), false),
        };
        builder = if differences {
            builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
        } else {
            builder.set_column_dictionary_enabled(path, true)
        };
    }
    builder.build()
}
