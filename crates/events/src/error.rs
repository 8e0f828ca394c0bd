//! Errors of reading and of writing, which name the file and what to do.

use parquet::errors::ParquetError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A recording or the events of a run cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The file.
    pub file: PathBuf,
    /// The line or row in it, from 1; `None` if the whole file is meant.
    pub line: Option<u64>,
    /// The name of the column, or the key in a JSON file.
    pub column: Option<String>,
    /// The error: what was expected and what was found.
    pub what: String,
    /// A hint on what to do about it.
    pub hint: Option<String>,
}

impl ReadError {
    /// An error of a whole file.
    pub fn of_file(file: &Path, what: impl Into<String>) -> Self {
        ReadError { file: file.to_owned(), line: None, column: None, what: what.into(), hint: None }
    }

    /// Adds the line, from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Adds the name of the column or key.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// Adds a hint on what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = &self.column {
            let json = self.file.extension().is_some_and(|extension| extension == "json");
            write!(f, ": {} {column}", if json { "key" } else { "column" })?;
        }
        write!(f, ": {}", self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}

/// Text from a file, as an error shows it: quoted, and at most 60 characters.
pub(crate) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    // A character has at most four bytes, so this prefix has enough characters.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * (LONGEST + 1))]);
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{:?}...", &text[..at]),
        None => format!("{text:?}"),
    }
}

/// The message of another library, cut to 300 characters and without control characters. It may quote all that it
/// found.
pub(crate) fn clipped(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut short = String::new();
    for c in text.chars().take(LONGEST) {
        if c.is_control() && c != '\n' { short.extend(c.escape_default()) } else { short.push(c) }
    }
    if text.chars().nth(LONGEST).is_some() {
        short.push_str("...");
    }
    short
}

/// Events or a recording cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct WriteError {
    /// The file or folder.
    pub path: PathBuf,
    /// The error: what failed.
    pub what: String,
}

impl WriteError {
    pub(crate) fn new(path: &Path, what: impl Into<String>) -> Self {
        WriteError { path: path.to_owned(), what: what.into() }
    }

    /// tempfile appends the name of its file to the cause, which only confuses here. The cause is not available by
    /// itself.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let text = error.to_string();
        WriteError::new(path, text.split_once(" at path ").map_or(text.as_str(), |(cause, _)| cause))
    }

    pub(crate) fn parquet(path: &Path, error: ParquetError) -> Self {
        match error {
            ParquetError::External(cause) => WriteError::new(path, cause.to_string()),
            // What the file could not take when it was closed, as a text in quotes.
            ParquetError::General(what) if what.contains("inner writer") => {
                WriteError::new(path, what.split_once(": ").map_or(&*what, |(_, cause)| cause.trim_matches('"')))
            }
            other => WriteError::new(path, other.to_string()),
        }
    }
}
