//! How much fits on a page, and the errors of a page that does not fit. Within these limits the file stays below
//! [`BYTES`], whatever the number of wake-ups behind it, and a browser draws it in a few seconds.

use std::fmt;

/// Bytes of the whole file: 5 MiB.
pub const BYTES: usize = 5 * 1024 * 1024;

/// The most CPUs of a machine that is drawn.
pub const CPUS: usize = 1024;

/// The most sides that are compared.
pub const SIDES: usize = 8;

/// The most rows of one heat map; a row is a CPU or several adjacent CPUs. [`crate::HeatBuilder`] keeps to it.
pub const HEAT_ROWS: usize = 128;

/// The most bins of time of one heat map. [`crate::HeatBuilder`] keeps to it.
pub const HEAT_BINS: usize = 120;

/// The most heat maps of one page.
pub const HEATS: usize = 4;

/// The most points of all series of one chart over time together.
pub const POINTS: usize = 20_000;

/// The most LLCs of a matrix of migrations.
pub const MATRIX_LLCS: usize = 64;

/// The most rows of any other chart.
pub const VALUES: usize = 10_000;

/// The most cells of one table.
pub const CELLS: usize = 20_000;

/// The most wake-ups that are drawn on the machine.
pub const DRAWN: usize = 12;

/// The most bytes of all explained wake-ups, notes and paragraphs together.
pub const TEXT: usize = 512 * 1024;

/// Why a page could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// There is more of something than [`limits`](self) allow.
    TooMuch {
        /// What there is too much of.
        what: String,
        /// How many there are.
        found: usize,
        /// How many may be there.
        limit: usize,
        /// What to do about it.
        hint: &'static str,
    },
    /// Two parts of the data contradict each other.
    Inconsistent {
        /// The part of the page.
        what: String,
        /// What was expected and what was found.
        why: String,
    },
    /// The template failed, which is a defect of this crate.
    Template(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMuch { what, found, limit, hint } => {
                write!(f, "the page has {found} {what}, expected at most {limit}\nhint: {hint}")
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
