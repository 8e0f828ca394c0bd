//! Whether a machine is placed on by energy, and its performance domains (`build_perf_domains()`).

use super::perf_domain::EmPerfDomain;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedDomains;
use std::fmt;
use wakelab_kernel::{Code, Eas};

/// What has to hold besides the machine's shape (`sched_is_eas_possible()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EasConditions {
    /// `sysctl_sched_energy_aware`.
    pub energy_aware: bool,
    /// `arch_scale_freq_invariant()`: utilisation does not depend on the frequency.
    pub freq_invariant: bool,
    /// Schedutil governs every CPU.
    pub schedutil: bool,
}

impl EasConditions {
    /// All hold.
    pub const ALL: EasConditions = EasConditions { energy_aware: true, freq_invariant: true, schedutil: true };
}

/// `rd->pd`: the performance domains in the order of the kernel's list, which is that of their lowest CPUs reversed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfDomains {
    list: Vec<EmPerfDomain>,
    /// By CPU: which of the list.
    of_cpu: Vec<u32>,
}

impl PerfDomains {
    /// In the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = &EmPerfDomain> {
        self.list.iter()
    }

    /// The domain of a CPU.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn of_cpu(&self, cpu: Cpu) -> &EmPerfDomain {
        &self.list[self.of_cpu[cpu as usize] as usize]
    }

    /// The same, to change its limits (`em_adjust_cpu_capacity()`, `min_perf_state`).
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn of_cpu_mut(&mut self, cpu: Cpu) -> &mut EmPerfDomain {
        &mut self.list[self.of_cpu[cpu as usize] as usize]
    }
}

/// Why placement does not go by energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEas {
    /// It is switched off.
    Off,
    /// The CPUs do not differ in capacity.
    EqualCpus,
    /// Cores have more than one CPU.
    Smt,
    /// Utilisation depends on the frequency.
    NotInvariant,
    /// Some CPU has another governor than schedutil.
    Governor,
    /// A CPU is in no performance domain.
    NoModel(Cpu),
    /// A CPU is in two performance domains.
    Twice(Cpu),
    /// The model is too large (up to 6.6: domains times the sum of states and CPUs).
    TooComplex {
        /// How large.
        complexity: usize,
    },
}

impl fmt::Display for NoEas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoEas::Off => write!(f, "sched_energy_aware is off"),
            NoEas::EqualCpus => write!(f, "the CPUs do not differ in capacity"),
            NoEas::Smt => write!(f, "cores have more than one CPU, and energy-aware placement does not know SMT"),
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

/// `build_perf_domains()`: the list for a machine, if placement goes by energy on it; all CPUs are in one root domain.
///
/// # Errors
/// Says why it does not: the kernel then places as on any machine of unequal CPUs, and so does a caller.
pub fn build_perf_domains(
    code: &Code,
    domains: &SchedDomains,
    conditions: EasConditions,
    mut models: Vec<EmPerfDomain>,
) -> Result<PerfDomains, NoEas> {
    let newest = code.eas == Eas::EnergyEnvPerf;
    let asked = if newest { domains.nr_cpus } else { 1 };
    if !conditions.energy_aware {
        return Err(NoEas::Off);
    }
    if !(0..asked).any(|cpu| domains.sd_asym_cpucapacity(cpu).is_some()) {
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
    let of_cpu = cover(domains.nr_cpus, models.iter().map(|model| &model.cpus))?;
    let states: usize = models.iter().map(|model| model.states.len()).sum();
    let complexity = models.len() * (states + domains.nr_cpus as usize);
    if !newest && complexity > EM_MAX_COMPLEXITY {
        return Err(NoEas::TooComplex { complexity });
    }
    Ok(PerfDomains { list: models, of_cpu })
}

/// By CPU, which of the masks it is in.
fn cover<'a>(nr_cpus: u32, masks: impl Iterator<Item = &'a CpuMask> + Clone) -> Result<Vec<u32>, NoEas> {
    (0..nr_cpus)
        .map(|cpu| {
            let mut of = (0..).zip(masks.clone()).filter(|(_, mask)| mask.test(cpu)).map(|(at, _)| at);
            match (of.next(), of.next()) {
                (Some(at), None) => Ok(at),
                (Some(_), Some(_)) => Err(NoEas::Twice(cpu)),
                (None, _) => Err(NoEas::NoModel(cpu)),
            }
        })
        .collect()
}
