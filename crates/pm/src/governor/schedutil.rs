//! schedutil as a governor; what it computes is in [`crate::schedutil`].

use super::{About, Governor, Setup, Update, View};
use crate::Khz;
use crate::policy::{Policy, Relation};
use crate::schedutil::Sugov;

/// schedutil.
pub(super) const SCHEDUTIL: About = About {
    name: "schedutil",
    what: "the utilisation that the scheduler tracks, with a quarter of headroom",
    make: |setup, policy| Box::new(Schedutil::new(setup, policy)),
};

/// schedutil on one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedutil {
    /// Its state.
    pub sugov: Sugov,
}

impl Schedutil {
    /// For the policy's CPUs.
    pub fn new(setup: &Setup, policy: &Policy) -> Schedutil {
        let Setup { sugov: rules, rate_limit_us, tick_ns, driver_needs_limits, .. } = *setup;
        Schedutil { sugov: Sugov::new(rules, policy.cpus(), rate_limit_us, tick_ns, driver_needs_limits) }
    }
}

impl Governor for Schedutil {
    fn start(&mut self, _now: u64, _policy: &Policy, _view: &dyn View) -> Option<Khz> {
        None
    }

    fn update(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz> {
        let committed = self.sugov.update(at, policy, view)?;
        Some(policy.target(committed, Relation::Low))
    }

    /// The present frequency is brought within the limits, and the next update does not wait for the rate limit
    /// (`sugov_limits()`).
    fn limits(&mut self, policy: &Policy) -> Option<Khz> {
        self.sugov.policy.limits_changed = true;
        policy.apply_limits()
    }
}
