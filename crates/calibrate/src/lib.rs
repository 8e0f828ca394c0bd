//! What the machine that this runs on does: microbenchmarks of wake-ups, switches and caches, and loads whose wake-ups
//! the scheduler places. Ordinary system calls, without root and without tracing.
//!
//! The only crate that measures time on real CPUs. It decides nothing and simulates nothing: what constants follow from
//! its numbers is in `wakelab-study`.

mod child;
mod cpus;
pub mod load;
mod micro;
mod noise;
mod samples;
mod sys;

pub use child::{Child, Role, serve};
pub use cpus::{Place, Relation, allowed, capacities, places};
pub use micro::{Bench, Budget, FOOTPRINTS_KIB, IDLE_US, Measured, Progress, Unmeasured, WAKE_GAP_NS, YIELDS, measure};
pub use noise::{Noise, config_hz, release};
pub use samples::Spread;
