//! What can be wrong with a recording, said so that it can be found and mended.

use std::fmt;
use std::path::{Path, PathBuf};

/// A recording could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1; `None` if it is the file as a whole.
    pub line: Option<u64>,
    /// The column's name, or the key in a JSON file.
    pub column: Option<String>,
    /// What is wrong: what was expected and what was found.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ReadError {
    /// An error of the whole file.
    pub fn of_file(file: &Path, what: impl Into<String>) -> Self {
        ReadError { file: file.to_owned(), line: None, column: None, what: what.into(), hint: None }
    }

    /// The same error, at a line.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same error, in a column.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// The same error, with what to do about it.
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
            write!(f, ": column {column}")?;
        }
        write!(f, ": {}", self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}
