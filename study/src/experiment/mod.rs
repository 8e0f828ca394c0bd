//! Experiments: files (`experiments/*.toml`) and command lines that say what is to be compared.
//!
//! A [`Spec`] holds names and where each was given. [`Spec::resolve`] looks them up, so that an unknown machine is told
//! with the line or the flag that named it.

mod catalogue;
mod file;
mod resolve;
mod spec;
mod toml_table;

pub use catalogue::{Catalogue, LookupError, LookupSubject, Shipped};
pub use spec::{Given, Place, REPEATS_MAX, Spec, SpecError, WorkloadSpec};
