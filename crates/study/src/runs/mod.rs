//! Runs, whatever they are for: what makes one ([`Runner`]), what it is called, the key of its inputs, what it costs,
//! and how many are made at a time. [`cache`] keeps finished runs, and [`fence`] makes them in processes of their own.
//! This is the lowest floor of the crate.

pub mod cache;
pub(crate) mod estimate;
pub mod fence;
pub(crate) mod jobs;
mod key;
mod run;
mod runner;
pub(crate) mod scheduler;

pub use estimate::RunCost;
pub use key::{Key, Program};
pub use run::{RunFailed, RunId, Why};
pub use runner::Runner;
pub(crate) use runner::{measured, timed};
