//! The options of power management of a side of a comparison.

use std::fmt;
use wakelab_machine::Machine;
use wakelab_pm::Khz;
use wakelab_pm::governor::{About, governor};
use wakelab_pm::idle::{IDLE_GOVERNORS, IdleAbout};
use wakelab_pm::invariance::MaxFreq;
use wakelab_sched::cpumask::Cpu;

/// Frequencies that CPUs do not exceed, kHz.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps([Option<(Cpu, Cpu, Khz)>; Caps::MAX]);

impl Caps {
    /// The most ranges of CPUs.
    pub const MAX: usize = 8;

    /// The last CPU of a cap for all CPUs.
    pub const LAST: Cpu = Cpu::MAX;

    /// Adds that of CPUs `first` to `last`. Returns false if there are [`Caps::MAX`] already.
    pub fn add(&mut self, first: Cpu, last: Cpu, khz: Khz) -> bool {
        let free = self.0.iter_mut().find(|cap| cap.is_none());
        free.is_some_and(|free| free.replace((first, last, khz)).is_none())
    }

    /// That of a CPU: the lowest of those that name it.
    pub fn of(&self, cpu: Cpu) -> Option<Khz> {
        self.0.iter().flatten().filter(|(first, last, _)| (*first..=*last).contains(&cpu)).map(|cap| cap.2).min()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// The last CPU that is named; `None` if none is by its number.
    pub fn last_cpu(&self) -> Option<Cpu> {
        self.0.iter().flatten().map(|cap| cap.1).filter(|&last| last != Caps::LAST).max()
    }
}

impl fmt::Display for Caps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (first, last, khz)) in self.0.iter().flatten().enumerate() {
            let sep = if n == 0 { "" } else { " " };
            match (*first, *last) {
                (0, Caps::LAST) => write!(f, "{sep}{khz}")?,
                (first, last) if first == last => write!(f, "{sep}{first}:{khz}")?,
                (first, last) => write!(f, "{sep}{first}-{last}:{khz}")?,
            }
        }
        Ok(())
    }
}

/// How frequencies and idle states are governed.
#[derive(Clone, Copy)]
pub struct PmSide {
    /// The frequency governor of all policies.
    pub governor: &'static About,
    /// The idle governor; without effect if the machine has no idle states.
    pub idle_governor: &'static IdleAbout,
    /// Whether utilisation is independent of the frequency (FREQ_INVARIANCE); `None`: as in the kernel, on x86 since
    /// 5.7.
    pub invariant: Option<bool>,
    /// The frequency that x86 takes as the highest.
    pub max_freq: MaxFreq,
    /// Turbo is switched off (`no_turbo` of intel_pstate).
    pub no_turbo: bool,
    /// `scaling_max_freq` of all policies, kHz.
    pub freq_cap: Option<Khz>,
    /// That of the policies of some CPUs, in place of it.
    pub freq_caps: Caps,
    /// The highest frequency that the hardware gives some CPUs, which tells the kernel (`arch_update_hw_pressure()`, up
    /// to 6.9 `arch_update_thermal_pressure()`).
    pub hw_pressure: Caps,
    /// The highest frequency that the hardware gives, kHz, because it is hot or at its power limit. The kernel does not
    /// know.
    pub thermal_cap: Option<Khz>,
    /// `scaling_setspeed` of the governor `userspace`, kHz; `None` is the highest frequency.
    pub setspeed: Option<Khz>,
    /// When measuring begins, ns from the start of the run.
    pub measured_from: u64,
}

impl PmSide {
    /// These governors with the defaults: invariance as in the kernel, with the turbo frequency of four cores, no caps,
    /// and all of the run measured.
    pub fn of(governor: &'static About, idle_governor: &'static IdleAbout) -> Self {
        PmSide {
            governor,
            idle_governor,
            invariant: None,
            max_freq: MaxFreq::FourCores,
            no_turbo: false,
            freq_cap: None,
            freq_caps: Caps::default(),
            hw_pressure: Caps::default(),
            thermal_cap: None,
            setspeed: None,
            measured_from: 0,
        }
    }

    /// The default of a side that names no governor: `None`, except on machines whose CPUs differ in capacity and have
    /// an energy model. There it is schedutil, which placement by energy requires, and which arm64's `defconfig` makes
    /// the default (CONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL).
    pub fn usual(machine: &Machine) -> Option<PmSide> {
        let first = machine.topology.cpus.first().map(|cpu| cpu.capacity);
        let unequal = machine.topology.cpus.iter().any(|cpu| Some(cpu.capacity) != first);
        let model = machine.energy_model();
        let known = (0..machine.topology.nr_cpus()).all(|cpu| model.iter().any(|domain| domain.cpus.test(cpu)));
        (unequal && known).then(|| PmSide::of(governor("schedutil").expect("it is a governor"), &IDLE_GOVERNORS[0]))
    }
}

/// All fields, for comparison: governors by their names, because a function has another address in each process.
type Key = (&'static str, &'static str, Option<bool>, MaxFreq, bool, [Option<Khz>; 3], [Caps; 2], u64);

impl PmSide {
    fn key(&self) -> Key {
        let PmSide {
            governor,
            idle_governor,
            invariant,
            max_freq,
            no_turbo,
            freq_cap,
            freq_caps,
            hw_pressure,
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
            [freq_caps, hw_pressure],
            measured_from,
        )
    }
}

impl fmt::Debug for PmSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PmSide").field(&self.key()).finish()
    }
}

impl PartialEq for PmSide {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for PmSide {}
