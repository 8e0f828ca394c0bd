//! Feature sets against each other: tables for people, for patch letters and for programs. Those of two sides are here,
//! those of any number in [`matrix`].
//!
//! Every form says that its numbers are simulated. A number that is none is `n/a` in text, empty in CSV, null in JSON.

mod csv;
mod differences;
mod json;
mod lkml;
pub mod matrix;
mod table;
mod trust;
mod verdict;

pub use csv::csv;
pub(crate) use differences::differ;
use differences::differences;
pub use json::json;
pub use lkml::lkml;
pub use table::table;
pub(crate) use table::{
    OF_CORE, WATTS, core_counters, interval_or_identical, own_counters, power_quantity, state_name,
};
pub(crate) use trust::{conditions, depends, verdict_name};
pub use trust::{control, control_json, sensitivity, sensitivity_json};
pub use verdict::verdict_text;
pub(crate) use verdict::{conclusion, lines as verdict_lines, runs as number_of_runs};
