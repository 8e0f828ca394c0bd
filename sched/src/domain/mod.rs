//! Scheduling domains: what the scheduler knows of the machine's shape (`kernel/sched/topology.c`).
//!
//! [`build_sched_domains`] builds them from a [`Topology`] as a kernel version does; [`SchedDomains::from_parts`] takes
//! over those that a real kernel built. CPUs of one domain share its span and its ring of groups.

mod asym;
mod build;
mod degenerate;
mod flags;
mod groups;
mod levels;
mod numa;
mod options;
mod overlap;
mod parts;
mod sd_init;
mod shortcuts;
mod spans;
mod topology;
mod types;
mod validate;

pub use build::build_sched_domains;
pub use flags::{SdFlags, SdFlagsError};
pub use options::{Arch, AsymDetection, DomainOptions, GroupFlags, ImbNuma, Itmt, LlcId, PkgName};
pub use parts::{CpuParts, DomainParts, GroupParts, PartsError, SdParts};
pub use topology::{CpuTopology, LOCAL_DISTANCE, MAX_CPUS, Numbering, REMOTE_DISTANCE, Topology, Uniform};
pub use types::{GroupRing, Level, SchedDomain, SchedDomains, SchedGroup};
pub use validate::TopologyError;
