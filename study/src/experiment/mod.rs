//! Experiments: files (`experiments/*.toml`) and command lines that say what is to be compared.
//!
//! A [`Spec`] holds names and where each was given. [`Spec::resolve`] looks them up, so that an unknown machine is told
//! with the line or the flag that named it.

mod error;
mod file;
mod resolve;
mod shelf;
mod shipped;
mod spec;
mod toml_table;

mod time;

pub use error::{Given, Place, SpecError};
pub use shelf::{About, Shelf, Wrong};
pub use shipped::Shipped;
pub use spec::{REPEATS_MAX, Spec, WorkloadSpec};
pub(crate) use time::time_text;
pub use time::{TIME_MAX_NS, parse_time};
