//! Events cannot be written.

use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// Events cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct RecordError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

impl RecordError {
    pub(crate) fn new(path: &Path, what: impl Into<String>) -> Self {
        RecordError { path: path.to_owned(), what: what.into() }
    }

    /// tempfile names its file after the cause; nobody asked for that, and the cause cannot be had alone.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let text = error.to_string();
        RecordError::new(path, text.split_once(" at path ").map_or(text.as_str(), |(cause, _)| cause))
    }

    pub(crate) fn parquet(path: &Path, error: ParquetError) -> Self {
        match error {
            ParquetError::External(cause) => RecordError::new(path, cause.to_string()),
            other => RecordError::new(path, other.to_string()),
        }
    }
}
