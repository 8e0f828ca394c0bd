//! Machines: shape, caches, capacities, and what things cost on them.
//!
//! A machine is a TOML file (`machines/`, described in `docs/machines.md`). Every cost carries where it was taken from,
//! or says that it is assumed, with the range in which it may lie. Nothing here knows a policy.

mod builtin;
mod costs;
mod error;
mod limits;
mod machine;
mod near;
mod parts;
mod read;
mod uniform;
mod write;

pub use builtin::{all, get, names};
pub use costs::{Cost, Costs, Origin, Unit};
pub use error::MachineError;
pub use machine::{Cache, Machine, MachineFile, Noise, NoiseOrigin};
pub use parts::{Counts, Part};
