//! A machine.

use crate::power::{Amount, Demotion, Power, Turbo};
use crate::{Costs, Origin};
use serde::{Serialize, Serializer};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{Arch, DomainOptions, Topology};

/// A cache level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// `L1d`, `L2`, `L3`.
    pub name: String,
    /// KiB.
    pub size_kib: u64,
    /// How many CPUs share one.
    pub shared_by: u32,
    /// The CPUs that have one like this; `None` for all. Several entries may have one name and different CPUs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "list")]
    pub cpus: Option<CpuMask>,
    /// Where this was taken from.
    pub origin: Origin,
}

fn list<S: Serializer>(cpus: &Option<CpuMask>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&cpus.as_ref().map(CpuMask::to_string).unwrap_or_default())
}

/// CPUs that change their frequency together (`cpufreq/policy*`). The simulator does not read it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreqPolicy {
    /// The CPUs.
    pub cpus: CpuMask,
    /// `scaling_driver`, where it is known.
    pub driver: Option<String>,
    /// `cpuinfo_min_freq`, kHz; 0 where the firmware does not say.
    pub min_khz: u64,
    /// `cpuinfo_max_freq`, kHz: with turbo.
    pub max_khz: u64,
    /// `base_frequency`, kHz, where the driver has it: without turbo.
    pub base_khz: Option<u64>,
    /// `scaling_available_frequencies`, kHz, lowest first; empty where the driver chooses freely.
    pub steps_khz: Vec<u64>,
    /// Where the driver chooses freely, the difference of two frequencies that it can ask for, kHz (P-states).
    pub grain_khz: Option<u64>,
    /// `(kHz, uV)`, lowest frequency first: the supply voltage, in between linear. It does not fall. Empty where it is not known.
    pub voltages: Vec<(u64, u64)>,
    /// The lowest and the highest that the voltages may be, % of them.
    pub voltage_range_pct: [u64; 2],
    /// `cpuinfo_transition_latency`: how long a change takes, ns.
    pub latency_ns: Option<u64>,
    /// `policy->transition_delay_us`: what the driver wants between two changes, ns; `None` where it leaves that to the kernel.
    pub delay_ns: Option<u64>,
    /// Whose clock is one in hardware: it runs at the highest frequency that is asked for by any of them that is not idle.
    pub clock: Clock,
    /// Where this was taken from.
    pub origin: Origin,
}

/// What has a clock of its own in hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// A policy.
    #[default]
    Policy,
    /// A core, whichever policies its CPUs are of.
    Core,
    /// A package.
    Package,
}

/// An idle state (`cpuidle/state*`). The simulator does not read it yet: `idle_exit` is the cost of every exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// The CPUs that have it.
    pub cpus: CpuMask,
    /// Its number: deeper states have higher ones.
    pub index: u32,
    /// `POLL`, `C1`, `C6`.
    pub name: String,
    /// What the driver says of it.
    pub description: Option<String>,
    /// How long it takes to leave it at most, ns.
    pub exit_latency_ns: u64,
    /// How long a CPU must stay for it to pay, ns.
    pub residency_ns: u64,
    /// What a core takes, all of whose CPUs are in this state or a deeper one, uW.
    pub power_uw: Option<Amount>,
    /// Switched off (`disable`).
    pub disabled: bool,
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
    /// How its kernels read that shape.
    pub arch: Arch,
    /// `node_reclaim_distance` (11 to 255) where its kernels set another than 30: 32 on AMD Zen.
    pub reclaim_distance: Option<u32>,
    /// By CPU: its number in the kernel, lowest first. `None` where that is the number it has here, which begin at 0
    /// and have no gaps.
    pub cpu_ids: Option<Vec<Cpu>>,
    /// Its caches.
    pub caches: Vec<Cache>,
    /// Its frequencies, by their lowest CPU; empty where they are not known.
    pub frequencies: Vec<FreqPolicy>,
    /// Its idle states, by their index; empty where they are not known.
    pub idle_states: Vec<IdleState>,
    /// How fast cores may run together; `None` where any may always run at the highest frequency of its policy.
    pub turbo: Option<Turbo>,
    /// What becomes of requests for deep idle states; `None`: what was asked for.
    pub demotion: Option<Demotion>,
    /// What the hardware spends; empty where it is not known.
    pub power: Power,
    /// What things cost.
    pub costs: Costs,
    /// Background work.
    pub noise: Noise,
    /// What it was taken from.
    pub noise_origin: NoiseOrigin,
}

impl Machine {
    /// The kernel's number of a CPU.
    pub fn kernel_cpu(&self, cpu: Cpu) -> Cpu {
        self.cpu_ids.as_ref().map_or(cpu, |ids| ids[cpu as usize])
    }

    /// How Linux `major.minor` builds domains on it.
    pub fn domain_options(&self, major: u32, minor: u32) -> DomainOptions {
        let options = DomainOptions::for_version(major, minor).on(self.arch);
        // Before 5.4 (a55c7454a8c8) it was the constant RECLAIM_DISTANCE.
        let own = self.reclaim_distance.filter(|_| (major, minor) >= (5, 4));
        DomainOptions { node_reclaim_distance: own.unwrap_or(options.node_reclaim_distance), ..options }
    }
}

/// A machine and the part of its file that the simulation has no use for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFile {
    /// The machine.
    pub machine: Machine,
    /// What [`Machine::topology`] was taken from, where the file says it.
    pub topology_origin: Option<Origin>,
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
