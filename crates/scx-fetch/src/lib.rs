//! The object of a scheduler that is named by its crate, its source, or itself.
//!
//! Cargo fetches crates, and with them the headers that they are compiled with; a user's configuration of cargo (a
//! mirror, no network) applies as to all that cargo does. [`Schedulers`] compiles with clang alone, by the flags of
//! `scx_cargo`, and keeps objects. What libbpf's linker does for schedulers of several sources, clang does with
//! bitcode.
//!
//! Nothing that a scheduler's author wrote is run: cargo resolves copies of manifests, a build script is only read, and
//! clang gets flags that only compile, is shown only what it needs, and writes into one folder.
//!
//! It may use `input`, syn, tar and ruzstd, and cargo, clang and bwrap as programs. It never reads what an object
//! holds.

#![warn(missing_docs)]

mod build_script;
mod cargo;
mod child;
mod clang;
mod compile;
mod confine;
mod files;
mod flags;
mod headers;
mod kept;
mod manifests;
mod name;
mod old_kfuncs;
mod schedulers;
mod types;

pub use build_script::{BuildScript, Wrong};
pub use name::SchedulerName;
pub use schedulers::{Built, Schedulers, Stop, compiler, confinement};
pub use types::unpack as unpack_types;
