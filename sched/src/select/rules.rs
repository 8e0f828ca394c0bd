//! Under which rules a decision is made.

use crate::domain::SchedDomains;
use std::fmt;
use wakelab_kernel::{Code, FeatureSet, FindGroup, Preset};

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
        if kernel.code.find_group == FindGroup::Loads {
            return Err(RulesError::GroupsByLoad { kernel: kernel.name });
        }
        Ok(Rules { code: &kernel.code, features, domains })
    }
}

/// The kernel needs what the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesError {
    /// A kernel before 5.5, whose slow path compares groups by spare capacity and load.
    GroupsByLoad {
        /// The preset.
        kernel: &'static str,
    },
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::GroupsByLoad { kernel } => write!(
                f,
                "{kernel} places forks and execs by the groups' spare capacity and load, as kernels before 5.5 did, \
                 and that is not modelled"
            ),
        }
    }
}

impl std::error::Error for RulesError {}
