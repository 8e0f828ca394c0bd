//! The governors that do not read the load: performance, powersave and userspace (`cpufreq_performance.c`,
//! `cpufreq_powersave.c`, `cpufreq_userspace.c`; the same from 5.10 to 7.3).

use super::{About, Governor, Update, View};
use crate::Khz;
use crate::policy::{Policy, Relation};

/// performance.
pub(super) const PERFORMANCE: About = About {
    name: "performance",
    what: "the highest frequency that the limits allow",
    make: |_, _| Box::new(Fixed::Performance),
};

/// powersave.
pub(super) const POWERSAVE: About = About {
    name: "powersave",
    what: "the lowest frequency that the limits allow",
    make: |_, _| Box::new(Fixed::Powersave),
};

/// userspace.
pub(super) const USERSPACE: About = About {
    name: "userspace",
    what: "the frequency that is written to scaling_setspeed",
    make: |setup, _| Box::new(Fixed::Userspace(setup.userspace.unwrap_or(Khz::MAX))),
};

/// One frequency within the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fixed {
    /// The highest.
    Performance,
    /// The lowest.
    Powersave,
    /// This one, kHz, or the next above.
    Userspace(Khz),
}

impl Governor for Fixed {
    fn start(&mut self, _now: u64, policy: &Policy, _view: &dyn View) -> Option<Khz> {
        self.limits(policy)
    }

    fn update(&mut self, _at: &Update, _policy: &Policy, _view: &dyn View) -> Option<Khz> {
        None
    }

    fn limits(&mut self, policy: &Policy) -> Option<Khz> {
        match *self {
            Fixed::Performance => policy.new_target(policy.max(), Relation::High),
            Fixed::Powersave => policy.new_target(policy.min(), Relation::Low),
            Fixed::Userspace(khz) => policy.new_target(khz, Relation::Low),
        }
    }
}
