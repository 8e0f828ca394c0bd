//! A machine.

use crate::{Calibration, Costs, Demotion, Ensemble, FreqPolicy, IdleState, Origin, Power, Reference, ScxCosts, Turbo};
use serde::{Serialize, Serializer};
use wakelab_kernel::Preset;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{Arch, DomainOptions, Topology};

/// A cache level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// The name, such as `L1d`, `L2` or `L3`.
    pub name: String,
    /// The size, KiB.
    pub size_kib: u64,
    /// How many CPUs share one cache.
    pub shared_by: u32,
    /// The CPUs that have such a cache; `None` for all. Several entries may have one name and different CPUs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "list")]
    pub cpus: Option<CpuMask>,
    /// Where the values were taken from.
    pub origin: Origin,
}

fn list<S: Serializer>(cpus: &Option<CpuMask>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&cpus.as_ref().map(CpuMask::to_string).unwrap_or_default())
}

/// Background work besides the workload's: one kworker for each CPU, and daemons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Noise {
    /// The mean time between two wake-ups of a CPU's kworker, ns; 0 switches the kworkers off.
    pub kworker_period_ns: u64,
    /// How long a kworker runs, ns. A daemon runs as long.
    pub kworker_run_ns: u64,
    /// The number of tasks, on the whole machine and free to run on any CPU, that wake up about once a second:
    /// daemons, the monitors of a test harness, kcompactd. Only runs whose decisions read wakee flips have them, and
    /// the grace periods that they cause.
    pub daemons: u64,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The name, as on the command line.
    pub name: String,
    /// A description of the machine, in one line.
    pub description: String,
    /// The shape: cores, LLCs, dies, packages, nodes.
    pub topology: Topology,
    /// The architecture, by which kernels build their domains.
    pub arch: Arch,
    /// The kernel sees several LLCs in a package where the hardware has one: what crosses between them costs what it
    /// does within one of them. Placement and balancing go by what the kernel sees.
    pub split_llc: bool,
    /// `node_reclaim_distance` (11 to 255), if the machine's kernels set another than 30: 32 on AMD Zen.
    pub reclaim_distance: Option<u32>,
    /// By CPU: its number in the kernel, lowest first. `None` if that is its number here. Numbers here begin at 0 and
    /// have no gaps.
    pub cpu_ids: Option<Vec<Cpu>>,
    /// The caches.
    pub caches: Vec<Cache>,
    /// The cpufreq policies, by their lowest CPU; empty if they are not known.
    pub frequencies: Vec<FreqPolicy>,
    /// The idle states, by their index; empty if they are not known.
    pub idle_states: Vec<IdleState>,
    /// How fast cores may run together. `None` if any core may always run at the highest frequency of its policy.
    pub turbo: Option<Turbo>,
    /// The demotion of requests for deep idle states. `None` if a core gets the state that it requests.
    pub demotion: Option<Demotion>,
    /// The power of the hardware; empty if it is not known.
    pub power: Power,
    /// The costs of scheduling operations.
    pub costs: Costs,
    /// The costs of a sched_ext scheduler and the core around it.
    pub scx_costs: ScxCosts,
    /// Background work.
    pub noise: Noise,
    /// Where the background work was taken from.
    pub noise_origin: NoiseOrigin,
    /// The sets of constants that fit what was measured on it. `None` if it was not fitted.
    pub ensemble: Option<Ensemble>,
}

impl Machine {
    /// Returns the kernel's number of a CPU.
    pub fn kernel_cpu(&self, cpu: Cpu) -> Cpu {
        self.cpu_ids.as_ref().map_or(cpu, |ids| ids[cpu as usize])
    }

    /// Returns how a kernel builds scheduling domains on this machine.
    pub fn domain_options(&self, kernel: &Preset) -> DomainOptions {
        DomainOptions::of(kernel).on(self.arch).with_reclaim_distance(self.reclaim_distance)
    }
}

/// A machine, and the part of its file that the simulation does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFile {
    /// The machine.
    pub machine: Machine,
    /// Where [`Machine::topology`] was taken from, if the file names it.
    pub topology_origin: Option<Origin>,
    /// The values from which costs of other machines can be scaled. `None` if the file has none.
    pub reference: Option<Reference>,
    /// How the machine was measured. `None` if it was not.
    pub calibration: Option<Calibration>,
}

/// Where the background work was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoiseOrigin {
    /// The lowest and the highest plausible [`Noise::kworker_period_ns`], ns.
    pub period_range: [u64; 2],
    /// The lowest and the highest plausible [`Noise::kworker_run_ns`], ns.
    pub run_range: [u64; 2],
    /// Where both values were taken from.
    pub origin: Origin,
    /// The lowest and the highest plausible [`Noise::daemons`].
    pub daemons_range: [u64; 2],
    /// Where [`Noise::daemons`] was taken from.
    pub daemons_origin: Origin,
}
