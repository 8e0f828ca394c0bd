//! Scheduling domains: the scheduler's knowledge of the machine's shape (`kernel/sched/topology.c`).
//!
//! [`build_sched_domains`] builds them from a [`Topology`] as a kernel version does; [`SchedDomains::from_kernel`]
//! takes over those that a running kernel has. CPUs of one domain share its span and its ring of groups.
//!
//! ```text
//!  Topology               the machine's shape, and the shapes that are refused          topology.rs
//!        │
//!  build_sched_domains                                                                  build_sched_domains.rs
//!    topology_levels        SMT, CLS, MC, PKG, NODE, NUMA: masks and flags              topology_levels.rs
//!    sd_init                flags and limits of one domain                              sd_init.rs
//!    build_sched_groups, build_overlap_sched_groups                                     build_sched_groups.rs
//!    cpu_attach_domain      removes degenerate domains                                  sd_degenerate.rs
//!    update_top_cache_domain   sd_llc, sd_share_id, sd_asym_cpucapacity                 update_top_cache_domain.rs
//!        │
//!  SchedDomains, SchedDomain, SchedGroup                                                sched_domain.rs, sd_flags.rs
//!        │
//!  KernelDomains          the domains of a running kernel                               kernel_domains.rs
//! ```

mod build_sched_domains;
mod build_sched_groups;
mod core_walks;
mod kernel_domains;
mod options;
mod sched_domain;
mod sd_degenerate;
mod sd_flags;
mod sd_init;
mod topology;
mod topology_levels;
mod update_top_cache_domain;

pub use build_sched_domains::build_sched_domains;
pub use core_walks::CoreWalks;
pub use kernel_domains::{KernelCpu, KernelDomains, KernelDomainsError, KernelGroup, KernelSd};
pub use options::{Arch, DomainOptions};
pub use sched_domain::{GroupRing, Level, SchedDomain, SchedDomains, SchedGroup};
pub use sd_flags::{SdFlags, SdFlagsError};
pub use topology::{
    CpuTopology, LOCAL_DISTANCE, MAX_CPUS, Numbering, REMOTE_DISTANCE, Topology, TopologyError, Uniform,
};
pub use wakelab_kernel::{AsymDetection, DomainRules, GroupFlags, ImbNuma, LlcId, PkgName};
