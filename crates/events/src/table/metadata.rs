//! The metadata of a Parquet file of wakelab: who wrote it, which table it is, and whether this program can read it.

use super::decode::decode;
use super::pages::ListLimits;
use super::{checksum, pages};
use crate::error::{ReadError, clipped};
use crate::limits::MAX_TIME;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The origin of a file (`wakelab.kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A recorder of a real kernel, or an import of another recorder's file.
    Recorded,
    /// The simulator.
    Simulated,
}

/// The metadata of a file.
pub(crate) struct ParquetFile {
    path: PathBuf,
    pairs: Vec<KeyValue>,
    /// Whether a writer of wakelab wrote the bytes, and not a program that copied the metadata.
    is_own: bool,
    pub(crate) kind: FileKind,
    /// The table that the file has rows of (`wakelab.table`).
    pub(crate) table: String,
}

/// The beginning of `created_by` in files that wakelab wrote.
pub(crate) const CREATED_BY: &str = "wakelab ";
/// The first minor version of the schemas, both of recordings and of simulated runs, whose files have a checksum.
const CHECKSUM_SINCE: u32 = 4;

/// Builds a reader of the file's rows.
pub(crate) type Builder = ParquetRecordBatchReaderBuilder<File>;

const WHAT_IS_READ: &str = "wakelab-record, `wakelab import` and --events write such files; \
                            docs/formats.md describes them";

impl ParquetFile {
    /// Reads the metadata, which Parquet keeps at the end of a file.
    ///
    /// # Errors
    /// Fails if the file is cut off, was not written by wakelab, or has a schema of another major version.
    pub(crate) fn open(path: &Path, file: File) -> Result<(Self, Builder), ReadError> {
        let error = |what: String| ReadError::of_file(path, what);
        let broken = |e: ParquetError| damaged(path, &e.to_string());
        let about = decode(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()));
        let about = about.map_err(|e| damaged(path, &e))?.map_err(broken)?;
        let options = ArrowReaderOptions::new().with_schema(with_shared_texts(about.schema()));
        let about = ArrowReaderMetadata::try_new(Arc::clone(about.metadata()), options).map_err(broken)?;
        let builder = Builder::new_with_metadata(file, about);
        let pairs = builder.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let is_own = builder.metadata().file_metadata().created_by().is_some_and(|by| by.starts_with(CREATED_BY));
        let (kind, table) = (FileKind::Recorded, String::new());
        let mut opened = ParquetFile { path: path.to_owned(), pairs, is_own, kind, table };
        opened.kind = match opened.required("wakelab.kind")? {
            "recorded" => FileKind::Recorded,
            "simulated" => FileKind::Simulated,
            other => {
                let what = format!("expected a recorded or simulated run, found {:?}", clipped(other));
                return Err(error(what).with_hint(WHAT_IS_READ));
            }
        };
        opened.table = opened.required("wakelab.table")?.to_owned();
        let version = opened.required("wakelab.schema_version")?;
        let known = match opened.kind {
            FileKind::Recorded => crate::recording::SCHEMA_VERSION,
            FileKind::Simulated => crate::simulated::SCHEMA_VERSION,
        };
        let major = |version: &str| version.split('.').next().and_then(|n| n.parse::<u32>().ok());
        if major(version) != major(known) {
            return Err(error(format!("expected schema version {known}, found {}", clipped(version)))
                .with_hint("another version of wakelab wrote it; read it with that version"));
        }
        Ok((opened, builder))
    }

    /// Checks the bytes of the file before its rows are read: those of its checksum, and what the pages of the columns
    /// for which `wanted` returns true are said to hold.
    ///
    /// # Errors
    /// Fails if the file is damaged, or its pages hold more than its rows can.
    pub(crate) fn check_rows(
        &self,
        file: &File,
        builder: &Builder,
        wanted: impl Fn(&str) -> bool,
        lists: ListLimits,
    ) -> Result<(), ReadError> {
        if self.is_own && !checksum::verify(&self.path, file)? && self.has_checksum() {
            return Err(checksum::differs(&self.path));
        }
        pages::check(&self.path, file, builder.metadata(), wanted, lists)
    }

    /// Whether files of this version of the schema have a checksum.
    fn has_checksum(&self) -> bool {
        let minor =
            self.get("wakelab.schema_version").and_then(|version| version.split_once('.')?.1.parse::<u32>().ok());
        minor.is_none_or(|minor| minor >= CHECKSUM_SINCE)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The value of a key that the file must have.
    ///
    /// # Errors
    /// Fails if the file does not have it.
    pub(crate) fn required(&self, key: &str) -> Result<&str, ReadError> {
        self.get(key).ok_or_else(|| {
            ReadError::of_file(&self.path, format!("the file lacks the key {key}")).with_hint(WHAT_IS_READ)
        })
    }

    /// The value of a key, if the file has it.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.as_deref())
    }

    /// The value of a key that the file must have, as a time, ns.
    ///
    /// # Errors
    /// Fails if the file does not have it, or it is not a number from 0 to [`MAX_TIME`].
    pub(crate) fn required_time(&self, key: &str) -> Result<u64, ReadError> {
        let text = self.required(key)?;
        text.parse().ok().filter(|&time| time <= MAX_TIME).ok_or_else(|| {
            let what = format!("{key}: expected a number from 0 to {MAX_TIME}, found {:?}", clipped(text));
            ReadError::of_file(&self.path, what).with_hint(WHAT_IS_READ)
        })
    }
}

/// The schema with texts that refer to the page that they are in. A page of a few bytes may have a text of megabytes in
/// each row, which would otherwise be copied for each.
fn with_shared_texts(schema: &Schema) -> SchemaRef {
    let shared = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    };
    let fields: Vec<_> = schema.fields().iter().map(shared).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The error of a file that ends too early or is not Parquet.
pub(crate) fn damaged(path: &Path, what: &str) -> ReadError {
    ReadError::of_file(path, format!("the Parquet file cannot be read: {}", clipped(what)))
        .with_hint("was the whole file copied? A recorder that was killed leaves complete files, except for the last")
}

/// The error of a row, from 1, that cannot be decoded.
pub(crate) fn damaged_rows(path: &Path, row: u64, what: &str) -> ReadError {
    ReadError::of_file(path, format!("the rows cannot be read: {}", clipped(what)))
        .at_line(row)
        .with_hint("was the whole file copied?")
}
