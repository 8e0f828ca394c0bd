//! A machine.

use crate::{Costs, Origin};
use serde::Serialize;
use wakelab_sched::domain::Topology;

/// A cache level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// `L1d`, `L2`, `L3`.
    pub name: String,
    /// KiB.
    pub size_kib: u64,
    /// How many CPUs share one.
    pub shared_by: u32,
    /// Where this was taken from.
    pub origin: Origin,
}

/// Background work that is not the workload's: one kworker for each CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Noise {
    /// Mean time between two wake-ups of a CPU's kworker, ns; 0 switches it off.
    pub kworker_period_ns: u64,
    /// How long it runs, ns.
    pub kworker_run_ns: u64,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name, as on the command line.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its shape.
    pub topology: Topology,
    /// Its caches.
    pub caches: Vec<Cache>,
    /// What things cost.
    pub costs: Costs,
    /// Background work.
    pub noise: Noise,
}

/// A machine and the part of its file that the simulation has no use for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFile {
    /// The machine.
    pub machine: Machine,
    /// What [`Machine::noise`] was taken from.
    pub noise_origin: NoiseOrigin,
}

/// What background work was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoiseOrigin {
    /// The lowest and the highest that [`Noise::kworker_period_ns`] may be, ns.
    pub period_range: [u64; 2],
    /// The same of [`Noise::kworker_run_ns`].
    pub run_range: [u64; 2],
    /// Where both were taken from.
    pub origin: Origin,
}
