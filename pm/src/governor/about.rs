//! Which governors there are.

use super::{Governor, Setup};
use super::{fixed, intel_pstate, ondemand, schedutil};
use crate::policy::Policy;
use std::fmt;

/// A governor, described.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name, as on a command line.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    /// Starts one for a policy.
    pub make: fn(&Setup, &Policy) -> Box<dyn Governor>,
}

/// Every governor.
pub static GOVERNORS: &[About] = &[
    fixed::PERFORMANCE,
    fixed::POWERSAVE,
    fixed::USERSPACE,
    ondemand::ONDEMAND,
    schedutil::SCHEDUTIL,
    intel_pstate::ACTIVE_POWERSAVE,
    intel_pstate::ACTIVE_PERFORMANCE,
];

/// There is no governor of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGovernor {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownGovernor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = GOVERNORS.iter().map(|about| about.name).collect();
        write!(f, "no governor `{}`: expected one of {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownGovernor {}

/// The governor of that name.
pub fn governor(name: &str) -> Result<&'static About, UnknownGovernor> {
    GOVERNORS.iter().find(|about| about.name == name).ok_or_else(|| UnknownGovernor { name: name.to_owned() })
}
