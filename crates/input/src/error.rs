//! Errors in files and arguments that people wrote.

use crate::{shortened, shortened_message};
use std::fmt;
use std::path::{Path, PathBuf};

/// An error in a file: where, what was expected, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file. For something that is not in a file, such as an unknown name, the name.
    pub path: PathBuf,
    /// The line, from 1. `None` if the error is about the file as a whole.
    pub line: Option<usize>,
    /// The key with the tables that it is in, such as `topology.cores`. `None` if the error is not about one key.
    pub key: Option<String>,
    /// What is wrong, what was expected, and what was found.
    pub what: String,
    /// The next step.
    pub hint: Option<String>,
}

impl InputError {
    /// Returns an error about a file as a whole.
    pub fn new(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        InputError { path: path.into(), line: None, key: None, what: what.into(), hint: None }
    }

    /// Sets the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the next step if one is known.
    #[must_use]
    pub fn with_hint_if(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.path, self.line, self.key.as_deref())?;
        write!(f, ": {}", shortened_message(&self.what))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {}", shortened_message(hint)))
    }
}

impl std::error::Error for InputError {}

/// Writes where an error is: ``m.toml:7: `cache.size` ``.
///
/// # Errors
///
/// Those of the formatter.
pub fn write_place(f: &mut fmt::Formatter<'_>, path: &Path, line: Option<usize>, key: Option<&str>) -> fmt::Result {
    write!(f, "{}", path.display())?;
    line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
    key.map_or(Ok(()), |key| write!(f, ": `{}`", shortened(key)))
}
