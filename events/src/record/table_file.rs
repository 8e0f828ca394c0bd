//! One table of one run, as it is written.

use super::RecordError;
use super::properties::{BATCH_ROWS, properties};
use super::table::Table;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A table that is being written to `NAME.part`, to become `NAME.parquet` when it is whole. NAME is the table's, but for
/// segments of a recording.
pub struct TableFile<T> {
    table: T,
    rows: usize,
    /// `None` after an error.
    writer: Option<ArrowWriter<File>>,
    folder: PathBuf,
    name: String,
}

impl<T: Table + Default> TableFile<T> {
    /// Begins the table in a folder.
    pub fn new(folder: &Path, metadata: &[(&str, String)]) -> Result<Self, RecordError> {
        TableFile::named(folder, T::NAME.to_owned(), metadata)
    }

    /// The same in a file of another name.
    pub fn named(folder: &Path, name: String, metadata: &[(&str, String)]) -> Result<Self, RecordError> {
        let own = ("wakelab.table", T::NAME.to_owned());
        let pairs = metadata.iter().chain([&own]).map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        let path = folder.join(format!("{name}.part"));
        let file = File::create(&path).map_err(|e| RecordError::io(&path, &e))?;
        let writer = ArrowWriter::try_new(file, T::schema(), Some(properties::<T>(pairs.collect())));
        let writer = writer.map_err(|e| RecordError::parquet(&path, e))?;
        Ok(TableFile { table: T::default(), rows: 0, writer: Some(writer), folder: folder.to_owned(), name })
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: T::Row<'_>) -> Result<(), RecordError> {
        self.table.push(row);
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.write() } else { Ok(()) }
    }

    #[cold]
    fn write(&mut self) -> Result<(), RecordError> {
        self.rows = 0;
        let batch = RecordBatch::try_new(T::schema(), self.table.finish()).expect("columns are as long as each other");
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.write(&batch).map_err(|e| {
            self.writer = None;
            RecordError::parquet(&self.path("part"), e)
        })
    }

    /// How many bytes it has by now, about.
    pub fn bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, |writer| writer.bytes_written() + writer.in_progress_size())
    }

    /// Writes what is left, and gives the file its name.
    pub fn finish(self) -> Result<(), RecordError> {
        self.finish_with(&[])
    }

    /// The same with more metadata, that was not known when the file was begun.
    pub fn finish_with(mut self, metadata: &[(&str, String)]) -> Result<(), RecordError> {
        self.write()?;
        for (key, value) in metadata {
            if let Some(writer) = &mut self.writer {
                writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
            }
        }
        let (part, whole) = (self.path("part"), self.path("parquet"));
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let file = writer.into_inner().map_err(|e| RecordError::parquet(&part, e))?;
        file.sync_all().and_then(|()| fs::rename(&part, &whole)).map_err(|e| RecordError::io(&part, &e))
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}
