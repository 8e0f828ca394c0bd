//! The object of a scheduler that is named by its crate, its source, or itself.
//!
//! Cargo fetches crates, and with them the headers that they are compiled with; a user's configuration of cargo (a
//! mirror, no network) applies as to all that cargo does. [`Schedulers`] compiles with clang alone, by the flags of
//! `scx_cargo`, and keeps objects. What libbpf's linker does for schedulers of several sources, clang does with
//! bitcode.

#![warn(missing_docs)]

mod build_script;
mod cargo;
mod clang;
mod compile;
mod files;
mod headers;
mod name;
mod schedulers;

pub use name::SchedulerName;
pub use schedulers::{Built, Schedulers};
