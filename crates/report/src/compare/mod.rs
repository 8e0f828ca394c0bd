//! Feature sets against each other, two or any number: tables for people, for patch letters and for programs.
//!
//! Every form says that its numbers are simulated. A number that is none is `n/a` in text, empty in CSV, null in JSON.

mod csv;
mod differences;
mod json;
mod lkml;
mod matrix;
mod table;
mod trust;
mod verdict;

pub use csv::{csv, matrix_csv};
pub(crate) use differences::differ;
use differences::differences;
pub use json::{json, matrix_json};
pub use lkml::{lkml, matrix_lkml};
pub(crate) use matrix::{
    FAILED, differences as matrix_differences, failed_lines as matrix_failed_lines, failed_text,
    groups as matrix_groups, header as matrix_header, kernels as matrix_kernels, key as matrix_key,
    machines as matrix_machines, matrix_verdict_lines, model as matrix_model, overs as matrix_overs,
    power_lines as matrix_power_lines,
};
pub(crate) use matrix::{Group as MatrixGroup, Line as MatrixLine, PowerLine as MatrixPowerLine};
pub use matrix::{matrix_plan, matrix_table};

pub use table::table;
pub(crate) use table::{
    OF_CORE, WATTS, core_counters, interval_or_identical, own_counters, power_quantity, state_name,
};
pub(crate) use trust::{conditions, depends, verdict_name};
pub use trust::{control, control_json, sensitivity, sensitivity_json};
pub use verdict::verdict_text;
pub(crate) use verdict::{conclusion as matrix_verdict_of, lines as verdict_lines, runs as number_of_runs};
