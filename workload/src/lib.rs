//! What tasks do: programs, and models of the benchmarks that are made of them.
//!
//! Work is in nanoseconds at capacity 1024 and nominal frequency, on a core whose SMT sibling is idle. Nothing here knows
//! a machine; an affinity is a list of CPUs that the user gave.
//!
//! [`build()`] makes a [`Workload`] of a benchmark's name or of a file, at a [`Load`]; [`describe`] shows one;
//! [`benchmarks`] lists them.

mod benchmark;
mod build;
mod error;
mod file;
mod load;
mod near;
mod netperf;
mod program;
pub mod synthetic;
mod timeless;
mod validate;

pub use benchmark::{Benchmark, Case, ParamDef, Parts, Values, benchmarks};
pub use build::{Description, build, describe};
pub use error::{About, WorkloadError};
pub use load::{Load, LoadError};
pub use program::{Channel, Op, Param, Program, Task, Work, Workload};
pub use validate::NR_CPUS_MAX;
