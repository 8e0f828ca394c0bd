//! What power management a machine has beside its frequencies and idle states: turbo, power, the kernel's energy model.

use crate::Origin;
use serde::Serialize;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// A number with the range in which it may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// The value that is used.
    pub value: u64,
    /// The lowest it may be.
    pub low: u64,
    /// The highest it may be.
    pub high: u64,
}

/// How fast cores may run together, whatever is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turbo {
    /// Bins, by rising number of cores. The last holds for all further cores, too.
    pub bins: Vec<TurboBin>,
    /// Names of the idle states in which a core still counts as active, beside POLL.
    pub active_states: Vec<String>,
    /// Where this was taken from.
    pub origin: Origin,
}

/// What the processor makes of requests for deep idle states by cores that are woken often (Intel: auto-demotion,
/// `MSR_PKG_CST_CONFIG_CONTROL`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Demotion {
    /// The name of the idle state in which they stay.
    pub to: String,
    /// A core does whose last sleep was shorter than this, us; if it sleeps for longer it goes deeper.
    pub below_us: Amount,
    /// Where this was taken from.
    pub origin: Origin,
}

/// A bin of `MSR_TURBO_RATIO_LIMIT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurboBin {
    /// Up to so many cores of a package are active, 1 or more.
    pub cores: u32,
    /// The highest frequency then, kHz.
    pub khz: u64,
}

impl Turbo {
    /// The highest frequency while so many cores of a package are active, kHz; with none active, that of one.
    pub fn khz(&self, active_cores: u32) -> u64 {
        let bin = self.bins.iter().find(|bin| active_cores <= bin.cores).or(self.bins.last());
        bin.map_or(0, |bin| bin.khz)
    }
}

/// What a core takes while one of its CPUs is busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorePower {
    /// The CPUs of the cores.
    pub cpus: CpuMask,
    /// By frequency, beside `leakage_uw`.
    pub busy: BusyPower,
    /// How much of `busy` a core takes whose siblings are busy, too, %: 100 to 400; each further busy sibling adds as much as
    /// the first.
    pub smt_pct: Amount,
    /// What a core takes whatever its frequency while it is in no idle state, uW.
    pub leakage_uw: Amount,
    /// Where this was taken from.
    pub origin: Origin,
}

/// The power of a busy core by its frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusyPower {
    /// Capacitance: uW for each MHz and V² (`dynamic-power-coefficient` of a device tree). Needs the policy's voltages.
    Coefficient(Amount),
    /// `(kHz, uW)`, lowest frequency first; in between linear.
    Table {
        /// The points.
        points: Vec<(u64, u64)>,
        /// The lowest and the highest that each may be, % of it.
        range_pct: [u64; 2],
    },
}

/// What CPUs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A cluster.
    Cluster,
    /// A package.
    Package,
}

/// What a cluster or a package takes beside its cores: caches, ring, memory controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPower {
    /// Of which.
    pub scope: Scope,
    /// The CPUs of those that take this.
    pub cpus: CpuMask,
    /// While one of its CPUs is busy or in a state above the deepest that it has, uW.
    pub awake_uw: Amount,
    /// While all are in their deepest state, uW.
    pub asleep_uw: Amount,
    /// Where this was taken from.
    pub origin: Origin,
}

/// A performance domain as the kernel's energy model has it (`em_perf_domain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfDomain {
    /// The CPUs.
    pub cpus: CpuMask,
    /// `(kHz, uW of a CPU)`, lowest frequency first; power rises with it.
    pub states: Vec<(u64, u64)>,
    /// Where this was taken from; that of the power model where it follows from that.
    pub origin: Origin,
}

/// What the hardware spends, and what its kernels take it to spend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// Cores, each CPU in one entry at most.
    pub cores: Vec<CorePower>,
    /// Clusters and packages.
    pub shared: Vec<SharedPower>,
    /// What the kernel's energy model has in place of what follows from `cores`; see
    /// [`Machine::energy_model`](crate::Machine::energy_model).
    pub energy_model: Vec<PerfDomain>,
}

impl Power {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.cores.is_empty() && self.shared.is_empty() && self.energy_model.is_empty()
    }

    /// That of a CPU's core.
    pub fn of_core(&self, cpu: Cpu) -> Option<&CorePower> {
        self.cores.iter().find(|core| core.cpus.test(cpu))
    }
}
