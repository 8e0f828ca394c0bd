//! cpufreq policies: CPUs that share a frequency, its limits, and what the driver makes of a request
//! (`drivers/cpufreq/cpufreq.c`, `include/linux/cpufreq.h`).

mod driver;
mod error;
mod limits;
mod opp;
#[expect(clippy::module_inception, reason = "the policy itself")]
mod policy;
mod transition;

pub use driver::{Driver, Relation};
pub use error::PolicyError;
pub use limits::Limits;
pub use opp::{Opp, check_opps};
pub use policy::Policy;
pub use transition::TransitionDelay;
