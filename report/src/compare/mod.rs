//! Two feature sets against each other: tables for people, for patch letters and for programs.
//!
//! Every form says that its numbers are simulated. A number that is none is `n/a` in text, empty in CSV, null in JSON.

mod control;
mod csv;
mod format;
mod json;
mod lkml;
mod sensitivity;
mod states;
mod table;

pub use control::{control, control_json};
pub use csv::csv;
pub use json::json;
pub use lkml::lkml;
pub use sensitivity::{sensitivity, sensitivity_json};
pub(crate) use states::states as states_text;
pub use table::table;
