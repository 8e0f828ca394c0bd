//! Domains and groups.

use super::{PkgName, SdFlags};
use crate::cpumask::{Cpu, CpuMask};
use std::sync::Arc;

/// A domain's level, by the name that the kernel prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// SMT siblings.
    Smt,
    /// Clusters (`CLS`).
    Cls,
    /// CPUs that share the last level cache.
    Mc,
    /// A package (`PKG`; `DIE` before 6.7).
    Pkg,
    /// The CPUs of one node (`NODE`), where a package holds several nodes or a node several packages.
    Node,
    /// Nodes within a distance.
    Numa,
}

impl Level {
    /// The name in `/sys/kernel/debug/sched/domains`.
    pub fn name(self, pkg: PkgName) -> &'static str {
        match (self, pkg) {
            (Level::Smt, _) => "SMT",
            (Level::Cls, _) => "CLS",
            (Level::Mc, _) => "MC",
            (Level::Pkg, PkgName::Pkg) => "PKG",
            (Level::Pkg, PkgName::Die) => "DIE",
            (Level::Node, _) => "NODE",
            (Level::Numa, _) => "NUMA",
        }
    }

    /// The level of a name that some version prints.
    pub fn from_name(name: &str) -> Option<Level> {
        use Level::*;
        [Smt, Cls, Mc, Pkg, Node, Numa]
            .into_iter()
            .find(|level| [PkgName::Pkg, PkgName::Die].iter().any(|&pkg| level.name(pkg) == name))
    }
}

/// One group of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SchedGroup {
    /// `sched_group_span()`.
    pub span: CpuMask,
    /// `group_weight`: how many CPUs.
    pub weight: u32,
    /// `sgc->capacity` where every CPU has its full capacity for the fair class: the sum of `capacity_orig`.
    pub capacity: u64,
    /// `sg->flags`: the flags of the child domain the group was made of.
    pub flags: SdFlags,
    /// `group_balance_mask()` where it is not the whole span, as can be the case with overlapping groups.
    pub balance_mask: Option<CpuMask>,
}

/// The groups of a domain, as a ring that the CPUs of the domain share; each CPU's walk begins at its own group.
pub type GroupRing = Arc<[SchedGroup]>;

/// One domain of one CPU.
#[derive(Clone, Debug)]
pub struct SchedDomain {
    /// The topology level.
    pub level: Level,
    /// `sd->flags`.
    pub flags: SdFlags,
    /// `sd->imbalance_pct`, per cent.
    pub imbalance_pct: u32,
    /// `sd->imb_numa_nr`: how many CPUs of a group may be busy before a NUMA imbalance counts.
    pub imb_numa_nr: u32,
    /// `sched_domain_span()`.
    pub span: Arc<CpuMask>,
    /// `span_weight`: how many CPUs.
    pub span_weight: u32,
    /// The groups, in the ring's order.
    pub groups: GroupRing,
    /// Where in the ring this CPU's own walk begins (`sd->groups`).
    pub first_group: u32,
}

impl SchedDomain {
    /// The groups in the order the kernel visits them from this CPU.
    pub fn groups(&self) -> impl Iterator<Item = &SchedGroup> + Clone {
        let (before, after) = self.groups.split_at(self.first_group as usize);
        after.iter().chain(before)
    }
}

/// The domains of all CPUs, with the shortcuts that the kernel keeps beside them.
#[derive(Clone, Debug)]
pub struct SchedDomains {
    /// How many CPUs there are; CPUs are `0..nr_cpus`.
    pub nr_cpus: u32,
    /// By CPU: its domains, lowest first (`for_each_domain()`).
    pub domains: Vec<Vec<SchedDomain>>,
    /// By CPU: `cpu_smt_mask()`.
    pub smt_mask: Vec<Arc<CpuMask>>,
    /// By CPU: index in `domains[cpu]` of `sd_llc`, the highest domain with [`SdFlags::SHARE_LLC`].
    pub sd_llc: Vec<Option<u32>>,
    /// By CPU: `sd_llc_id`, the lowest CPU of its LLC (`cpus_share_cache()` compares these). 7.2 numbers LLCs otherwise:
    /// [`SchedDomains::kernel_llc_ids`].
    pub sd_llc_id: Vec<Cpu>,
    /// By CPU: `sd_llc_size`.
    pub sd_llc_size: Vec<u32>,
    /// By CPU: `sd_share_id`, the lowest CPU of its cluster where there are clusters, else of its LLC
    /// (`cpus_share_resources()` compares these).
    pub sd_share_id: Vec<Cpu>,
    /// By CPU: of each core of its LLC the CPU that a walk over the LLC comes to first, for a walk that begins at this CPU
    /// and for one that begins behind it. Empty unless
    /// every core has two CPUs.
    pub core_walk: Vec<[CpuMask; 2]>,
    /// By CPU: the NUMA node.
    pub node: Vec<u32>,
    /// `sched_smt_active()`: some core has more than one CPU.
    pub smt_active: bool,
    /// `sched_cluster_active`: there is a cluster domain.
    pub cluster_active: bool,
    /// `sched_asym_cpucap_active()`.
    pub asym_cpucap_active: bool,
}
