//! cpufreq policies: CPUs that share a frequency, its limits, and what the driver makes of a request
//! (`drivers/cpufreq/cpufreq.c`, `include/linux/cpufreq.h`).

mod driver;
#[expect(clippy::module_inception, reason = "the policy itself")]
mod policy;
mod transition;

pub use driver::{Driver, PolicyError, Relation};

pub(crate) use driver::check_opps;
pub use policy::{Limits, Policy};
pub use transition::cpufreq_policy_transition_delay_us;
