//! Experiments: files (`experiments/*.toml`) and command lines that describe what is compared.
//!
//! A [`Spec`] holds names, each with the place where it was given. [`Spec::resolve`] looks them up, so that the error
//! about an unknown machine has the line or the flag that named it.

mod catalogue;
mod file;
mod pinned;
mod resolve;
mod spec;

pub use catalogue::{Catalogue, LookupError, LookupSubject, Shipped};
pub(crate) use spec::found_from;
pub use spec::{Given, Place, REPEATS_MAX, Spec, SpecError, WorkloadSpec};
