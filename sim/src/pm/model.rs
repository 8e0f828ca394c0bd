//! What does not change during a run: policies, clocks, states, powers.

use super::PmSide;
use wakelab_kernel::CpuidleRules;
use wakelab_pm::Khz;
use wakelab_pm::governor::{About, Setup as GovernorSetup};
use wakelab_pm::idle::{IdleAbout, IdleStates};
use wakelab_pm::invariance::MaxFreqRatio;
use wakelab_pm::policy::Policy;
use wakelab_pm::power::{Kind, PowerState};
use wakelab_pm::turbo::Turbo;
use wakelab_sched::cpumask::Cpu;

/// A policy at boot.
#[derive(Debug)]
pub struct PolicyModel {
    /// With the side's limits.
    pub policy: Policy,
    /// What its governor is started with.
    pub setup: GovernorSetup,
    /// How long a change takes, ns.
    pub latency_ns: u64,
}

/// CPUs that have one clock in hardware.
#[derive(Debug)]
pub struct ClockModel {
    pub cpus: Vec<Cpu>,
    pub package: usize,
}

/// Where the scale of a CPU's frequency comes from.
#[derive(Clone, Copy, Debug)]
pub enum ScaleSource {
    /// Utilisation is not invariant.
    None,
    /// APERF and MPERF at the tick.
    Counters(MaxFreqRatio),
    /// The policy's frequency, when it changes.
    Policy,
}

/// CPUs of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindModel {
    /// What results say of it.
    pub stats: Kind,
    /// `None` without idle states: then there is one that takes no time to leave.
    pub idle: Option<IdleStates>,
    /// By idle state: a core in it is active to turbo.
    pub active: Vec<bool>,
}

impl KindModel {
    /// The state of a CPU that is busy at that frequency.
    pub fn busy(&self, khz: Khz) -> usize {
        let opps = &self.stats.opps_khz;
        opps.partition_point(|&opp| opp < khz).min(opps.len() - 1)
    }

    pub fn nr_opps(&self) -> usize {
        self.stats.opps_khz.len()
    }

    pub fn deepest(&self) -> usize {
        self.stats.idle.len() - 1
    }
}

/// Demotion of cores that are woken often.
#[derive(Debug)]
pub struct DemotionModel {
    /// By kind: the index of the idle state in which they stay.
    pub to: Vec<usize>,
    /// Turbo counts a core in it as active.
    pub active: bool,
    /// A sleep is short if it is shorter than this, ns.
    pub below_ns: u64,
}

/// A core.
#[derive(Debug)]
pub struct CoreModel {
    pub cpus: Vec<Cpu>,
    /// Busy with one CPU at each operating point, with two, ..., then idle by the shallowest state of its CPUs. Empty where
    /// nothing is known.
    pub states: Vec<PowerState>,
}

/// A cluster or a package, beside its cores.
#[derive(Debug)]
pub struct SharedModel {
    pub name: String,
    pub cpus: Vec<Cpu>,
    /// Awake, and asleep.
    pub states: [PowerState; 2],
}

/// All of it.
#[derive(Debug)]
pub struct PmModel {
    pub side: PmSide,
    pub policies: Vec<PolicyModel>,
    pub clocks: Vec<ClockModel>,
    pub cores: Vec<CoreModel>,
    pub shared: Vec<SharedModel>,
    pub kinds: Vec<KindModel>,
    pub nr_packages: usize,
    pub turbo: Option<Turbo>,
    /// What the processor makes of requests for deep idle states.
    pub demotion: Option<DemotionModel>,
    pub scale: ScaleSource,
    /// Which form the idle governors have.
    pub cpuidle: CpuidleRules,
    /// A waker's write wakes an idle CPU, without an interrupt (`TIF_POLLING_NRFLAG` while it is in MWAIT).
    pub wakes_by_write: bool,
    /// schedutil goes by the larger of the utilisation and `runnable_avg`.
    pub runnable_boost: bool,
    /// By CPU, all of these.
    pub policy_of: Vec<usize>,
    pub clock_of: Vec<usize>,
    pub core_of: Vec<usize>,
    pub package_of: Vec<usize>,
    pub kind_of: Vec<usize>,
    pub shared_of: Vec<Vec<usize>>,
    /// The highest frequency of its policy, kHz.
    pub nominal: Vec<Khz>,
    /// The highest without turbo, kHz.
    pub base: Vec<Khz>,
}

impl PmModel {
    pub fn kind(&self, cpu: Cpu) -> &KindModel {
        &self.kinds[self.kind_of[cpu as usize]]
    }

    /// `arch_scale_freq_invariant()`.
    pub fn is_invariant(&self) -> bool {
        !matches!(self.scale, ScaleSource::None)
    }

    pub fn governor(&self) -> &'static About {
        self.side.governor
    }

    pub fn idle_governor(&self) -> &'static IdleAbout {
        self.side.idle_governor
    }
}
