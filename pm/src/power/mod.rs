//! What the hardware spends.
//!
//! This is the power model, not the energy model that the kernel places tasks by; the two may differ.
//!
//! ```text
//! CPU      C × V² × f + static while busy, by operating point; an idle state's power while idle
//! cluster  while any of its CPUs is awake, and what it keeps while all are idle
//! package  the same
//! ```
//!
//! An [`Account`] keeps the time spent in each state, and nothing else: energy is the sum over states of power ×
//! residency, so that the parts and the total cannot disagree.

mod account;
mod dynamic;
mod model;
mod stats;

pub use account::{Account, PowerState, millipercent};
pub use dynamic::dynamic_power_uw;
pub use model::{CpuPower, DomainPower};
pub use stats::{CpuStats, DomainStats, Kind, PowerStats};
