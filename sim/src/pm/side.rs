//! What a side of a comparison asks of power management.

use std::fmt;
use wakelab_machine::Machine;
use wakelab_pm::Khz;
use wakelab_pm::governor::{About, governor};
use wakelab_pm::idle::{IDLE_GOVERNORS, IdleAbout};
use wakelab_pm::invariance::MaxFreq;

/// How frequencies and idle states are governed.
#[derive(Clone, Copy)]
pub struct PmSide {
    /// The frequency governor of all policies.
    pub governor: &'static About,
    /// The idle governor; it is not asked where the machine has no idle states.
    pub idle_governor: &'static IdleAbout,
    /// Utilisation does not depend on the frequency (FREQ_INVARIANCE); `None`: as the kernel has it, on x86 since 5.7.
    pub invariant: Option<bool>,
    /// What x86 takes for the highest frequency.
    pub max_freq: MaxFreq,
    /// Turbo is switched off (`no_turbo` of intel_pstate).
    pub no_turbo: bool,
    /// `scaling_max_freq` of all policies, kHz.
    pub freq_cap: Option<Khz>,
    /// What the hardware gives at most, kHz, because it is hot or at its power limit: the kernel is not told.
    pub thermal_cap: Option<Khz>,
    /// What the governor `userspace` is told, kHz; `None` is the highest.
    pub setspeed: Option<Khz>,
    /// When measuring begins, ns from the start of the run: what was spent before does not count.
    pub measured_from: u64,
}

impl PmSide {
    /// A governor with the defaults: invariance as the kernel has it, with the turbo frequency of four cores, no caps, all of the run measured.
    pub fn of(governor: &'static About, idle_governor: &'static IdleAbout) -> Self {
        PmSide {
            governor,
            idle_governor,
            invariant: None,
            max_freq: MaxFreq::FourCores,
            no_turbo: false,
            freq_cap: None,
            thermal_cap: None,
            setspeed: None,
            measured_from: 0,
        }
    }
}

impl PmSide {
    /// What a side on this machine asks for that names no governor: nothing, but schedutil where CPUs differ in capacity and kernels
    /// have an energy model of them. Placement by energy wants schedutil, and arm64's `defconfig` makes it the default
    /// (CONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL).
    pub fn usual(machine: &Machine) -> Option<PmSide> {
        let first = machine.topology.cpus.first().map(|cpu| cpu.capacity);
        let unequal = machine.topology.cpus.iter().any(|cpu| Some(cpu.capacity) != first);
        let model = machine.energy_model();
        let known = (0..machine.topology.nr_cpus()).all(|cpu| model.iter().any(|domain| domain.cpus.test(cpu)));
        (unequal && known).then(|| PmSide::of(governor("schedutil").expect("it is a governor"), &IDLE_GOVERNORS[0]))
    }
}

/// All that it says: governors by their names, as a function has another address in each process.
type Said = (&'static str, &'static str, Option<bool>, MaxFreq, bool, [Option<Khz>; 3], u64);

impl PmSide {
    fn said(&self) -> Said {
        let PmSide {
            governor,
            idle_governor,
            invariant,
            max_freq,
            no_turbo,
            freq_cap,
            thermal_cap,
            setspeed,
            measured_from,
        } = *self;
        (
            governor.name,
            idle_governor.name,
            invariant,
            max_freq,
            no_turbo,
            [freq_cap, thermal_cap, setspeed],
            measured_from,
        )
    }
}

impl fmt::Debug for PmSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PmSide").field(&self.said()).finish()
    }
}

impl PartialEq for PmSide {
    fn eq(&self, other: &Self) -> bool {
        self.said() == other.said()
    }
}

impl Eq for PmSide {}
