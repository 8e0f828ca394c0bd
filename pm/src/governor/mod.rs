//! Frequency governors.
//!
//! **A new governor is one file and one line**: the file has a type that implements [`Governor`] and an [`About`]; the
//! line is in [`GOVERNORS`].

mod about;
mod dbs_update;
mod fixed;
mod intel_pstate;
mod ondemand;
mod pstate_sample;
mod schedutil;
mod setup;
mod view;

pub use about::{About, GOVERNORS, UnknownGovernor, governor};
pub use dbs_update::{DbsCpu, dbs_update};
pub use fixed::Fixed;
pub use intel_pstate::{INTEL_PSTATE_SAMPLING_INTERVAL, IntelPstate};
pub use ondemand::{OdTunables, Ondemand};
pub use pstate_sample::{PerfLimits, PstateSample, Pstates, get_target_pstate};
pub use schedutil::Schedutil;
pub use setup::Setup;
pub use view::{CounterValues, Update, View};

use crate::Khz;
use crate::policy::Policy;

/// A governor at work on one policy.
///
/// The frequencies it returns are those that the driver sets, kHz. The simulator lets the driver's latency pass, then
/// calls [`Policy::changed_to`]; a target that comes meanwhile replaces the one under way, as it does in `sugov_work()`.
pub trait Governor: std::fmt::Debug + Send + Sync {
    /// As in `scaling_governor`.
    fn name(&self) -> &'static str;

    /// Takes the policy over. Returns a frequency to change to, if it wants another at once.
    fn start(&mut self, now: u64, policy: &Policy, view: &dyn View) -> Option<Khz>;

    /// The utilisation of a CPU was updated (`cpufreq_update_util()`). Returns a frequency to change to.
    fn update(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz>;

    /// The policy's limits have changed. Returns a frequency to change to at once.
    fn limits(&mut self, policy: &Policy) -> Option<Khz>;

    /// A copy in a box.
    fn boxed_clone(&self) -> Box<dyn Governor>;
}

impl Clone for Box<dyn Governor> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}
