//! Where something was given, and what is wrong with it.

use std::fmt;
use std::path::PathBuf;

/// Where something was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1; `None` if it is the file as a whole.
        line: Option<usize>,
        /// The key, as `variants.base`.
        key: Option<String>,
    },
    /// On the command line.
    Flag(&'static str),
    /// Nowhere: the default of this flag or key.
    Default(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, line, key } => {
                write!(f, "{}", path.display())?;
                line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
                key.as_ref().map_or(Ok(()), |key| write!(f, ": key {key}"))
            }
            Place::Flag(flag) => f.write_str(flag),
            Place::Default(name) => write!(f, "the default of {name}"),
        }
    }
}

/// A value, and where it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// Where it was given.
    pub place: Place,
}

impl<T> Given<T> {
    /// Given by this flag.
    pub fn by_flag(flag: &'static str, value: T) -> Self {
        Given { value, place: Place::Flag(flag) }
    }

    /// Given by nobody.
    pub fn by_default(name: &'static str, value: T) -> Self {
        Given { value, place: Place::Default(name) }
    }

    /// An error about it.
    pub fn error(&self, what: impl Into<String>) -> SpecError {
        SpecError { place: self.place.clone(), what: what.into(), hint: None }
    }
}

/// An experiment cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Where.
    pub place: Place,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SpecError {
    /// The same error, with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}"))
    }
}

impl std::error::Error for SpecError {}
