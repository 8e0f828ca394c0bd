//! Two feature sets against each other: tables for people, for patch letters and for programs.
//!
//! Every form says that its numbers are simulated. A number that is none is `n/a` in text, empty in CSV, null in JSON.

mod csv;
mod differences;
mod json;
mod lkml;
mod table;
mod trust;
mod verdict;

pub use csv::csv;
pub(crate) use differences::differ;
use differences::differences;
pub use json::json;
pub use lkml::lkml;

pub(crate) use table::state_name;
pub use table::table;
pub(crate) use trust::{conditions, depends, verdict_name};
pub use trust::{control, control_json, sensitivity, sensitivity_json};
pub(crate) use verdict::lines as verdict_lines;
pub use verdict::verdict_text;
