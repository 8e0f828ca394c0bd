//! The metadata of a Parquet file of wakelab: who wrote it, which table it is, and whether this program can read it.

use crate::error::{ReadError, clipped};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Who wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A recorder of a real kernel, or an import of what another one recorded.
    Recorded,
    /// The simulator.
    Simulated,
}

/// A file whose metadata have been read.
pub(crate) struct ParquetFile {
    path: PathBuf,
    pairs: Vec<KeyValue>,
    pub(crate) kind: FileKind,
    /// Which table it is.
    pub(crate) table: String,
}

/// What reads a file's rows.
pub(crate) type Builder = ParquetRecordBatchReaderBuilder<File>;

const WHAT_IS_READ: &str = "wakelab-record, `wakelab import` and --events write such files; docs/recording.md and \
                            docs/events.md describe them";

impl ParquetFile {
    /// Opens a file and looks at its end, where Parquet keeps what it says of itself.
    ///
    /// # Errors
    /// Where it is cut off, is none of wakelab's, or is of a schema that is newer than this program.
    pub(crate) fn open(path: &Path, file: File) -> Result<(Self, Builder), ReadError> {
        let error = |what: String| ReadError::of_file(path, what);
        let builder = Builder::try_new(file).map_err(|e| damaged(path, &e.to_string()))?;
        let pairs = builder.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let mut opened = ParquetFile { path: path.to_owned(), pairs, kind: FileKind::Recorded, table: String::new() };
        opened.kind = match opened.required("wakelab.kind")? {
            "recorded" => FileKind::Recorded,
            "simulated" => FileKind::Simulated,
            other => {
                let what = format!("expected a recorded or a simulated run, found {:?}", clipped(other));
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
                .with_hint("it was written by another version of wakelab; read it with that version"));
        }
        Ok((opened, builder))
    }

    /// A value that the file has to have.
    ///
    /// # Errors
    /// Where it has not.
    pub(crate) fn required(&self, key: &str) -> Result<&str, ReadError> {
        self.get(key)
            .ok_or_else(|| ReadError::of_file(&self.path, format!("the file says no {key}")).with_hint(WHAT_IS_READ))
    }

    /// A value that it may have.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.as_deref())
    }

    /// A number that it has to have.
    ///
    /// # Errors
    /// Where it has not, or it is no number.
    pub(crate) fn required_number(&self, key: &str) -> Result<u64, ReadError> {
        let text = self.required(key)?;
        text.parse().map_err(|_| {
            let what = format!("{key}: expected a number, found {:?}", clipped(text));
            ReadError::of_file(&self.path, what).with_hint(WHAT_IS_READ)
        })
    }
}

/// A file that ends too early, or is not of the format.
pub(crate) fn damaged(path: &Path, what: &str) -> ReadError {
    ReadError::of_file(path, format!("the Parquet file cannot be read: {}", clipped(what)))
        .with_hint("was it copied whole? A recorder that was killed leaves whole files beside its last")
}

/// Rows in the middle of a file that cannot be read.
pub(crate) fn damaged_rows(path: &Path, row: u64, what: &str) -> ReadError {
    ReadError::of_file(path, format!("the rows cannot be read: {}", clipped(what)))
        .at_line(row)
        .with_hint("was the file copied whole?")
}
