//! Under which rules a decision is made.

use super::View;
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
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
        Ok(Rules { code: &kernel.code, features, domains })
    }

    /// A CPU's load where placement compares loads.
    #[inline]
    pub(super) fn load_of(&self, cpu: Cpu, view: &impl View) -> u64 {
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
