//! The writer of one table's file, and the encodings that it uses.

use super::Table;
use super::checksum::{self, SummedFile};
use super::metadata::CREATED_BY;
use crate::error::WriteError;
use crate::folder::Folder;
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::sync::Arc;

/// A table that is being written to `NAME.part`, which is renamed to `NAME.parquet` when it is complete. NAME is the
/// name of the table, with a number for segments of a recording.
pub struct TableFile<T> {
    table: T,
    rows: usize,
    /// `None` after an error.
    writer: Option<ArrowWriter<SummedFile>>,
    folder: Arc<Folder>,
    name: String,
}

impl<T: Table + Default> TableFile<T> {
    /// Begins the file of a table in a folder.
    pub(crate) fn new(folder: &Arc<Folder>, metadata: &[(&str, String)]) -> Result<Self, WriteError> {
        TableFile::named(folder, T::NAME.to_owned(), metadata)
    }

    /// Begins a file of a table with another name in a folder.
    pub(crate) fn named(folder: &Arc<Folder>, name: String, metadata: &[(&str, String)]) -> Result<Self, WriteError> {
        let own = ("wakelab.table", T::NAME.to_owned());
        let pairs = metadata.iter().chain([&own]).map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        let part = format!("{name}.part");
        let path = folder.path_of(&part);
        let file = folder.create(&part).map_err(|e| WriteError::io(&path, &e))?;
        let writer = ArrowWriter::try_new(SummedFile::new(file), T::schema(), Some(properties::<T>(pairs.collect())));
        let writer = writer.map_err(|e| WriteError::parquet(&path, e))?;
        Ok(TableFile { table: T::default(), rows: 0, writer: Some(writer), folder: Arc::clone(folder), name })
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: T::Row<'_>) -> Result<(), WriteError> {
        self.table.push(row);
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.write_batch() } else { Ok(()) }
    }

    #[cold]
    fn write_batch(&mut self) -> Result<(), WriteError> {
        self.rows = 0;
        let batch = RecordBatch::try_new(T::schema(), self.table.finish()).expect("all columns have the same length");
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.write(&batch).map_err(|e| {
            self.writer = None;
            WriteError::parquet(&self.folder.path_of(&self.file_name("part")), e)
        })
    }

    /// The approximate size of the file so far, bytes.
    pub fn bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, |writer| writer.bytes_written() + writer.in_progress_size())
    }

    /// Writes the remaining rows and renames the file.
    pub fn finish(self) -> Result<(), WriteError> {
        self.finish_with(&[])
    }

    /// Writes the remaining rows, adds metadata that was not known when the file was begun, and renames the file.
    pub fn finish_with(mut self, metadata: &[(&str, String)]) -> Result<(), WriteError> {
        self.write_batch()?;
        let checksum = (checksum::KEY, checksum::UNKNOWN.to_owned());
        for (key, value) in metadata.iter().chain([&checksum]) {
            if let Some(writer) = &mut self.writer {
                writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
            }
        }
        let (part, complete) = (self.file_name("part"), self.file_name("parquet"));
        let path = self.folder.path_of(&part);
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let file = writer.into_inner().map_err(|e| WriteError::parquet(&path, e))?;
        file.finish().and_then(|()| self.folder.rename(&part, &complete)).map_err(|e| WriteError::io(&path, &e))
    }

    fn file_name(&self, extension: &str) -> String {
        format!("{}.{extension}", self.name)
    }
}

/// Rows are passed to Arrow's writer in batches of this size.
const BATCH_ROWS: usize = 2048;

/// The rows of a row group, which is in memory, encoded, until it is complete.
const ROW_GROUP_ROWS: usize = 1 << 16;

/// The encodings of a table's columns. Numbers are written as differences to the number before, which is faster than a
/// dictionary and suits most columns. Names and sets of CPUs repeat, so they have dictionaries.
fn properties<T: Table>(metadata: Vec<KeyValue>) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false)
        .set_created_by(format!("{CREATED_BY}{}", env!("CARGO_PKG_VERSION")))
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
