//! Power: what cores, clusters and packages draw.

use crate::frequency::interpolate;
use crate::{Origin, PerfDomain};
use serde::Serialize;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// A value with the range in which it may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// The value that is used.
    pub value: u64,
    /// The lowest plausible value.
    pub low: u64,
    /// The highest plausible value.
    pub high: u64,
}

/// The power of a core while one of its CPUs is busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorePower {
    /// The CPUs of the cores.
    pub cpus: CpuMask,
    /// The power by frequency, without `leakage_uw`.
    pub busy: BusyPower,
    /// The power of a core whose SMT siblings are busy, too, % of `busy`: 100 to 400. Each further busy sibling adds as
    /// much as the first.
    pub smt_pct: Amount,
    /// The power of a core at any frequency while it is in no idle state, uW.
    pub leakage_uw: Amount,
    /// Where the values were taken from.
    pub origin: Origin,
}

/// The power of a busy core by its frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusyPower {
    /// The capacitance, uW for each MHz and V² (`dynamic-power-coefficient` of a device tree). It needs the policy's
    /// voltages.
    Coefficient(Amount),
    /// Measured points, linear in between.
    Table {
        /// `(kHz, uW)`, lowest frequency first.
        points: Vec<(u64, u64)>,
        /// The lowest and the highest plausible values of each point, % of it.
        range_pct: [u64; 2],
    },
}

/// The unit of the machine to which shared power belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A cluster.
    Cluster,
    /// A package.
    Package,
}

/// The power of a cluster or a package besides its cores: caches, ring, memory controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPower {
    /// Whether it is a cluster's or a package's.
    pub scope: Scope,
    /// The CPUs of the clusters or packages that this describes.
    pub cpus: CpuMask,
    /// The power while one of its CPUs is busy or in a state above its deepest one, uW.
    pub awake_uw: Amount,
    /// The power while all its CPUs are in their deepest state, uW.
    pub asleep_uw: Amount,
    /// Where the values were taken from.
    pub origin: Origin,
}

/// The power of the hardware, and the power that its kernels assume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// Cores; each CPU is in at most one entry.
    pub cores: Vec<CorePower>,
    /// Clusters and packages.
    pub shared: Vec<SharedPower>,
    /// Domains of the kernel's energy model that replace those that follow from `cores`; see
    /// [`Machine::energy_model`](crate::Machine::energy_model).
    pub energy_model: Vec<PerfDomain>,
}

impl Power {
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.cores.is_empty() && self.shared.is_empty() && self.energy_model.is_empty()
    }

    /// Returns the power of a CPU's core. Returns `None` if it is not known.
    pub fn of_core(&self, cpu: Cpu) -> Option<&CorePower> {
        self.cores.iter().find(|core| core.cpus.test(cpu))
    }
}

impl CorePower {
    /// Returns the power of a core while one of its CPUs is busy at a frequency (kHz) and voltage (uV), without
    /// leakage, uW.
    pub fn busy_uw(&self, khz: u64, uv: Option<u64>) -> u64 {
        match &self.busy {
            BusyPower::Table { points, .. } => interpolate(points, khz).unwrap_or(0),
            BusyPower::Coefficient(coefficient) => {
                let uv = u128::from(uv.unwrap_or(0));
                // The coefficient is uW for MHz and V²; these are kHz and uV.
                (u128::from(coefficient.value) * u128::from(khz) * uv * uv / 1_000_000_000_000_000) as u64
            }
        }
    }
}
