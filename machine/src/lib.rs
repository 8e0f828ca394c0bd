//! Machines: shape, caches, capacities, and what things cost on them.
//!
//! A machine is a TOML file (`machines/`). Every cost carries where it was taken from, or says that it is assumed, with
//! the range in which it may lie. Nothing here knows a policy.

mod costs;
mod machine;

pub use costs::{Cost, Costs, Origin, Unit};
pub use machine::{Cache, Machine, Noise};
