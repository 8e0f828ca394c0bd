//! Machines: shape, caches, capacities, frequencies, idle states, power, and what scheduling operations cost on them.
//!
//! A machine is a TOML file (`data/machines/`, described in `docs/machines.md`). Every value carries where it was taken
//! from, or states that it is assumed, with the range in which it may lie. Nothing here knows a policy.
//!
//! It may use `sched`, for its topology, and `input`. It never decides, and reads no file but a machine's.

mod builtin;
mod calibration;
mod costs;
mod counts;
mod distance;
mod energy_model;
mod ensemble;
mod frequency;
mod idle;
pub mod import;
mod machine;
mod power;
mod read;
mod scaled;
mod write;

pub use builtin::{all, get, names};
pub use calibration::Calibration;
pub use costs::{Cost, Costs, Origin, ScxCosts, Unit};
pub use counts::{Counts, CpuGroup};
pub use distance::{ByDistance, Distance, DistanceCosts, Distances};
pub use energy_model::PerfDomain;
pub use ensemble::{Ensemble, FittedConstant, MACHINE};
pub use frequency::{Clock, FreqPolicy, Turbo, TurboBin};
pub use idle::{Demotion, IdleState};
pub use import::{Files, Imported, import, import_files, import_lstopo};
pub use machine::{Cache, Machine, MachineFile, Noise, NoiseOrigin};
pub use power::{Amount, BusyPower, CorePower, Power, Scope, SharedPower};
pub use read::check_name;
pub use scaled::Reference;
pub use wakelab_input::InputError;
