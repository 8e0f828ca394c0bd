//! Scheduling domains: what the scheduler knows of the machine's shape (`kernel/sched/topology.c`).

mod flags;
mod types;

pub use flags::SdFlags;
pub use types::{GroupRing, Level, SchedDomain, SchedDomains, SchedGroup};
