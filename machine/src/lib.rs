//! Machines: shape, caches, capacities, and what things cost on them.
//!
//! A machine is a TOML file (`machines/`, described in `docs/machines.md`). Every cost carries where it was taken from,
//! or says that it is assumed, with the range in which it may lie. Nothing here knows a policy.

mod builtin;
mod costs;
mod error;
pub mod import;
mod limits;
mod machine;
mod near;
mod operating_points;
mod parts;
mod power;
mod read;
mod uniform;
mod write;
mod write_frequency;
mod write_power;

pub use builtin::{all, get, names};
pub use costs::{Cost, Costs, Origin, Unit};
pub use error::MachineError;
pub use import::{Files, Imported, import, import_files};
pub use machine::{Cache, Clock, FreqPolicy, IdleState, Machine, MachineFile, Noise, NoiseOrigin};
pub use parts::{Counts, Part};
pub use power::{Amount, BusyPower, CorePower, Demotion, PerfDomain, Power, Scope, SharedPower, Turbo, TurboBin};
