//! `struct sched_domain` and `struct sched_group` (`include/linux/sched/topology.h`, `kernel/sched/sched.h`), and the
//! domains of all CPUs.

use super::CoreWalks;
use super::PkgName;
use super::SdFlags;
use crate::cpumask::{Cpu, CpuMask};
use std::sync::Arc;

/// A domain's topology level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// SMT siblings.
    Smt,
    /// Clusters (`CLS`).
    Cls,
    /// CPUs that share the last level cache.
    Mc,
    /// Two neighbouring LLCs of a node (`MMC`), with SIS_NODE_TOPOEXT only.
    Mmc,
    /// A package (`PKG`; `DIE` before 6.7).
    Pkg,
    /// The CPUs of one node (`NODE`), if a package holds several nodes or a node several packages.
    Node,
    /// The nodes within a distance.
    Numa,
}

impl Level {
    /// Returns the level's name in `/sys/kernel/debug/sched/domains`.
    pub fn name(self, pkg: PkgName) -> &'static str {
        match (self, pkg) {
            (Level::Smt, _) => "SMT",
            (Level::Cls, _) => "CLS",
            (Level::Mc, _) => "MC",
            (Level::Mmc, _) => "MMC",
            (Level::Pkg, PkgName::Pkg) => "PKG",
            (Level::Pkg, PkgName::Die) => "DIE",
            (Level::Node, _) => "NODE",
            (Level::Numa, _) => "NUMA",
        }
    }

    /// Returns the level that some kernel version prints with this name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Level> {
        use Level::*;
        [Smt, Cls, Mc, Mmc, Pkg, Node, Numa]
            .into_iter()
            .find(|level| [PkgName::Pkg, PkgName::Die].iter().any(|&pkg| level.name(pkg) == name))
    }
}

/// One group of a domain (`struct sched_group`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SchedGroup {
    /// `sched_group_span()`.
    pub span: CpuMask,
    /// `group_weight`: the number of CPUs.
    pub weight: u32,
    /// `sgc->capacity` if every CPU has its full capacity for the fair class: the sum of `capacity_orig`.
    pub capacity: u64,
    /// `sg->flags`: the flags of the child domain that the group was built from.
    pub flags: SdFlags,
    /// `group_balance_mask()` if it is not the whole span, which is possible if groups overlap.
    pub balance_mask: Option<CpuMask>,
}

impl SchedGroup {
    /// `group_balance_mask()`: returns the CPUs that may balance for the group at this level. It is the whole span
    /// unless groups overlap.
    #[inline]
    pub fn group_balance_mask(&self) -> &CpuMask {
        self.balance_mask.as_ref().unwrap_or(&self.span)
    }

    /// `group_balance_cpu()`: returns the first CPU of [`group_balance_mask`](Self::group_balance_mask), which
    /// identifies the group's `sched_group_capacity` at its level.
    ///
    /// # Panics
    /// If the mask is empty.
    #[inline]
    pub fn group_balance_cpu(&self) -> Cpu {
        self.group_balance_mask().first().expect("a group has CPUs")
    }
}

/// The groups of a domain, as a ring that the domain's CPUs share. Each CPU iterates from its own group on.
pub type GroupRing = Arc<[SchedGroup]>;

/// One domain of one CPU (`struct sched_domain`).
#[derive(Clone, Debug)]
pub struct SchedDomain {
    /// The topology level.
    pub level: Level,
    /// `sd->flags`.
    pub flags: SdFlags,
    /// `sd->imbalance_pct`, per cent.
    pub imbalance_pct: u32,
    /// `sd->imb_numa_nr`: the number of CPUs of a group that may be busy before a NUMA imbalance counts.
    pub imb_numa_nr: u32,
    /// `sched_domain_span()`.
    pub span: Arc<CpuMask>,
    /// `span_weight`: the number of CPUs.
    pub span_weight: u32,
    /// The groups, in the ring's order.
    pub groups: GroupRing,
    /// Index of this CPU's own group in the ring (`sd->groups`).
    pub first_group: u32,
}

impl SchedDomain {
    /// Iterates over the groups in the order in which the kernel visits them from this CPU.
    #[inline]
    pub fn groups(&self) -> impl Iterator<Item = &SchedGroup> + Clone {
        self.group_indices().map(|index| &self.groups[index])
    }

    /// Iterates over the same groups by their indices in [`groups`](Self::groups).
    #[inline]
    pub fn group_indices(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let (first, count) = (self.first_group as usize, self.groups.len());
        (first..count).chain(0..first)
    }

    /// Returns the index of the group at a position of the ring, counted from the CPU's own group.
    #[inline]
    pub fn group_index(&self, position: usize) -> usize {
        let (index, count) = (self.first_group as usize + position, self.groups.len());
        if index < count { index } else { index - count }
    }
}

/// The domains of all CPUs, and the per-CPU shortcuts that the kernel keeps (`sd_llc` and others).
#[derive(Clone, Debug)]
pub struct SchedDomains {
    /// The number of CPUs. They are numbered `0..nr_cpus`.
    pub nr_cpus: u32,
    /// By CPU: the domains, lowest first (`for_each_domain()`).
    pub domains: Vec<Vec<SchedDomain>>,
    /// By CPU: `cpu_smt_mask()`.
    pub smt_mask: Vec<Arc<CpuMask>>,
    /// By CPU: the index in `domains[cpu]` of `sd_llc`, the highest domain with [`SdFlags::SHARE_LLC`].
    pub sd_llc: Vec<Option<u32>>,
    /// By CPU: `sd_llc_id`, the lowest CPU of its LLC; `cpus_share_cache()` compares it. 7.2 numbers LLCs differently
    /// ([`SchedDomains::kernel_llc_ids`]).
    pub sd_llc_id: Vec<Cpu>,
    /// By CPU: `sd_llc_size`.
    pub sd_llc_size: Vec<u32>,
    /// By CPU: `sd_share_id`, the lowest CPU of its cluster, or of its LLC if there are no clusters;
    /// `cpus_share_resources()` compares it.
    pub sd_share_id: Vec<Cpu>,
    /// The CPU of each core that a wrapping scan of an LLC reaches first; `None` unless every core has two CPUs.
    pub core_walks: Option<CoreWalks>,
    /// By CPU: the NUMA node.
    pub node: Vec<u32>,
    /// `sched_smt_active()`: a core has more than one CPU.
    pub smt_active: bool,
    /// `sched_cluster_active`: there is a cluster domain.
    pub cluster_active: bool,
    /// `sched_asym_cpucap_active()`: CPUs differ in capacity.
    pub asym_cpucap_active: bool,
}
