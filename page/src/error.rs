//! Why a page could not be made.

use std::fmt;

/// Why a page could not be made. Each says what of the page it is about, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// There is more of something than [`crate::limits`] allows.
    TooMuch {
        /// What there is too much of, in words.
        what: String,
        /// How many there are.
        found: usize,
        /// How many may be there.
        limit: usize,
        /// What to do about it.
        hint: &'static str,
    },
    /// Data that contradict each other.
    Inconsistent {
        /// Where in the page.
        what: String,
        /// What was expected and what was found.
        why: String,
    },
    /// The template failed: a defect of this crate.
    Template(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMuch { what, found, limit, hint } => {
                write!(f, "the page has {found} {what}, and takes {limit} at most\nhint: {hint}")
            }
            Self::Inconsistent { what, why } => write!(f, "{what} of the page: {why}"),
            Self::Template(why) => write!(f, "the page's template failed: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<minijinja::Error> for Error {
    fn from(error: minijinja::Error) -> Self {
        Self::Template(format!("{error:#}"))
    }
}
