//! `build_perf_domains()` and `sched_is_eas_possible()` (`kernel/sched/topology.c`): whether a machine uses
//! energy-aware placement, and its list of performance domains.

use super::em_perf_domain::EmPerfDomain;
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
use std::fmt;
use wakelab_kernel::{Code, Eas};

/// The conditions of `sched_is_eas_possible()` besides the machine's shape and its energy model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EasConditions {
    /// `sysctl_sched_energy_aware`.
    pub energy_aware: bool,
    /// `arch_scale_freq_invariant()`: utilisation does not depend on the frequency.
    pub freq_invariant: bool,
    /// schedutil governs every CPU.
    pub schedutil: bool,
}

/// `rd->pd`: the performance domains in the order of the kernel's list, by their lowest CPU in descending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfDomains {
    list: Vec<EmPerfDomain>,
}

impl PerfDomains {
    /// Iterates over the domains in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = &EmPerfDomain> {
        self.list.iter()
    }
}

/// Why a machine does not use energy-aware placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEas {
    /// `sysctl_sched_energy_aware` is off.
    Off,
    /// All CPUs have the same capacity.
    EqualCpus,
    /// Cores have more than one CPU.
    Smt,
    /// Utilisation depends on the frequency.
    NotInvariant,
    /// A CPU has a governor other than schedutil.
    Governor,
    /// This CPU is in no performance domain.
    NoModel(Cpu),
    /// This CPU is in two performance domains.
    Twice(Cpu),
    /// The number of domains times the sum of states and CPUs is above `EM_MAX_COMPLEXITY` (up to 6.6).
    TooComplex {
        /// The product.
        complexity: usize,
    },
}

impl fmt::Display for NoEas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoEas::Off => write!(f, "sched_energy_aware is off"),
            NoEas::EqualCpus => write!(f, "the CPUs do not differ in capacity"),
            NoEas::Smt => write!(f, "cores have more than one CPU, and energy-aware placement does not support SMT"),
            NoEas::NotInvariant => write!(f, "utilisation depends on the frequency; FREQ_INVARIANCE has to be on"),
            NoEas::Governor => write!(f, "schedutil does not govern every CPU; choose governor=schedutil"),
            NoEas::NoModel(cpu) => write!(f, "CPU {cpu} has no energy model; give its frequencies and powers"),
            NoEas::Twice(cpu) => write!(f, "CPU {cpu} is in two performance domains"),
            NoEas::TooComplex { complexity } => {
                write!(f, "the energy model is too large: {complexity} is above {EM_MAX_COMPLEXITY}")
            }
        }
    }
}

impl std::error::Error for NoEas {}

const EM_MAX_COMPLEXITY: usize = 2048;

/// `build_perf_domains()`: builds the list of performance domains of a machine whose CPUs are all in one root domain.
///
/// # Errors
/// If the kernel would not use energy-aware placement. It then places tasks as on any machine of unequal CPUs.
pub fn build_perf_domains(
    code: &Code,
    domains: &SchedDomains,
    conditions: EasConditions,
    mut models: Vec<EmPerfDomain>,
) -> Result<PerfDomains, NoEas> {
    let newest = matches!(code.eas, Eas::EnergyEnvPerfThermal | Eas::EnergyEnvPerf);
    // sched_is_eas_possible() checks every CPU, build_perf_domains() of older versions only the first.
    let checked = if newest { domains.nr_cpus } else { 1 };
    if !conditions.energy_aware {
        return Err(NoEas::Off);
    }
    if !(0..checked).any(|cpu| domains.sd_asym_cpucapacity(cpu).is_some()) {
        return Err(NoEas::EqualCpus);
    }
    if domains.smt_active {
        return Err(NoEas::Smt);
    }
    if !conditions.freq_invariant {
        return Err(NoEas::NotInvariant);
    }
    if !conditions.schedutil {
        return Err(NoEas::Governor);
    }
    models.sort_by_key(|model| std::cmp::Reverse(model.cpus.first()));
    for cpu in 0..domains.nr_cpus {
        match models.iter().filter(|model| model.cpus.test(cpu)).count() {
            0 => return Err(NoEas::NoModel(cpu)),
            1 => {}
            _ => return Err(NoEas::Twice(cpu)),
        }
    }
    let states: usize = models.iter().map(|model| model.states.len()).sum();
    let complexity = models.len() * (states + domains.nr_cpus as usize);
    if !newest && complexity > EM_MAX_COMPLEXITY {
        return Err(NoEas::TooComplex { complexity });
    }
    Ok(PerfDomains { list: models })
}
