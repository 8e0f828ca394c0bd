//! TOML files, read strictly: every key is known, and every error has its line.

mod source;
mod table;
mod values;

pub use source::{Source, TomlError};
pub use table::Table;
