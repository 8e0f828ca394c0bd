//! Under which rules a decision is made.

use super::RqView;
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
use crate::energy::PerfDomains;
use std::fmt;
use wakelab_kernel::{CapacitySearch, Code, FeatureSet, Preset};

/// A kernel version, what is switched on, and the machine's domains.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Which form of each mechanism the kernel has.
    pub code: &'a Code,
    /// What is on.
    pub features: FeatureSet,
    /// The machine's domains.
    pub domains: &'a SchedDomains,
    /// `sysctl_sched_min_granularity`, since 6.6 `sysctl_sched_base_slice`, as scaled for this machine, ns; 0 where
    /// that is not known. Read with SIS_SHORT on.
    pub min_granularity: u64,
    /// `rd->pd`; `None` where placement does not go by energy (`sched_energy_enabled()`).
    pub energy: Option<&'a PerfDomains>,
}

impl<'a> Rules<'a> {
    /// The rules of `kernel` with `features` on, on a machine with `domains`.
    ///
    /// # Errors
    /// Where the kernel's placement is not modelled.
    pub fn new(kernel: &'a Preset, features: FeatureSet, domains: &'a SchedDomains) -> Result<Self, RulesError> {
        if kernel.code.capacity_search == CapacitySearch::WakeCap && domains.asym_cpucap_active {
            return Err(RulesError::WakeCap { kernel: kernel.name });
        }
        let tunables = kernel.tunables.scaled(domains.nr_cpus as usize);
        let min_granularity = tunables.min_granularity.or(tunables.base_slice).unwrap_or(0);
        Ok(Rules { code: &kernel.code, features, domains, min_granularity, energy: None })
    }

    /// The same where wake-ups go by energy: [`build_perf_domains`](crate::energy::build_perf_domains) says whether
    /// they do.
    #[must_use]
    pub fn with_energy(self, energy: &'a PerfDomains) -> Self {
        Rules { energy: Some(energy), ..self }
    }

    /// A CPU's load where placement compares loads.
    #[inline]
    pub(super) fn load_of(&self, cpu: Cpu, view: &impl RqView) -> u64 {
        if self.code.runnable_load { view.cpu_runnable_load(cpu) } else { view.cpu_load(cpu) }
    }
}

/// The kernel needs what the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesError {
    /// A kernel before 5.7 on CPUs of different capacities, where `wake_cap()` sends wake-ups to the slow path.
    WakeCap {
        /// The preset.
        kernel: &'static str,
    },
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::WakeCap { kernel } => write!(
                f,
                "the CPUs differ in capacity, and {kernel} sends tasks that may not fit their CPU to the slow path \
                 (wake_cap(), before 5.7), which is not modelled; v5.10 and later are"
            ),
        }
    }
}

impl std::error::Error for RulesError {}
