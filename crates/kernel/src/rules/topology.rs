//! How scheduling domains are built (`kernel/sched/topology.c`).

use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts of building scheduling domains.
    pub struct DomainRules {
        /// There is a level of clusters, `CLS` (`CONFIG_SCHED_CLUSTER`, since 5.16). 6.1 has none on hybrid x86
        /// machines.
        pub cluster: bool,
        /// The `CLS` level has `SD_CLUSTER` (since 6.7; in 6.8, not in 6.6).
        pub cluster_flag: bool,
        /// `imbalance_pct` of domains that do not share a core, per cent (`sd_init()`): 117 since 5.10, 125 before.
        pub imbalance_pct: u32,
        /// How `build_sched_domains()` computes `imb_numa_nr`.
        pub imb_numa: ImbNuma,
        /// How different capacities are detected.
        pub asym: AsymDetection,
        /// `sd_init()` takes `SD_PREFER_SIBLING` from the child of a domain with different capacities (in 7.2, not in
        /// 7.3).
        pub asym_clears_prefer_sibling: bool,
        /// The contents of `sg->flags`.
        pub group_flags: GroupFlags,
        /// `build_overlap_sched_groups()` looks for a sibling's descendant that fits into the domain
        /// (`find_descended_sibling()`, since 5.13). Without it, groups may leave the domain if the NUMA diameter is 3.
        pub find_descended_sibling: bool,
        /// NUMA domains have `SD_OVERLAP` (in 6.12; in 6.18 `SD_NUMA` says as much).
        pub overlap_flag: bool,
        /// The name of the level that spans a package.
        pub pkg_name: PkgName,
        /// An architecture can set `node_reclaim_distance` (since 5.4, a55c7454a8c8); before, it was the constant
        /// RECLAIM_DISTANCE.
        pub own_reclaim_distance: bool,
        /// How `sd_llc_id` is numbered.
        pub llc_id: LlcId,
    }
}

forms! {
    /// The name of the level that spans a package.
    pub enum PkgName {
        /// `DIE`, before 6.7.
        Die = "DIE",
        /// `PKG`, since 6.7, and in stable 6.6.y.
        Pkg = "PKG",
    }
}

forms! {
    /// How `build_sched_domains()` computes `imb_numa_nr`.
    pub enum ImbNuma {
        /// The field does not exist (before 5.18).
        Absent = "absent",
        /// With one LLC in a node a quarter of the node's CPUs, and possibly 0 (5.18 and 5.19).
        Quarter = "a quarter of a node",
        /// With one LLC in a node an eighth of the node's CPUs, and at least 1 (since 6.0; `adjust_numa_imbalance()` of
        /// 7.2 gives the same numbers).
        Eighth = "an eighth of a node",
    }
}

forms! {
    /// How different capacities are detected.
    pub enum AsymDetection {
        /// `asym_cpu_capacity_level()` (5.10): from the lowest level at which every CPU sees one of the highest
        /// capacity upwards, and no `SD_ASYM_CPUCAPACITY_FULL`.
        Level = "from one level upwards",
        /// `asym_cpu_capacity_classify()` (since 5.14): each domain by the capacities in its span.
        Classify = "each domain by its span",
    }
}

forms! {
    /// The contents of `sg->flags`.
    pub enum GroupFlags {
        /// Nothing: the field does not exist (before 5.16).
        Absent = "absent",
        /// The flags of the child that the group was built from, even if that child is removed afterwards (6.1).
        AsBuilt = "the child's as built",
        /// The flags of the child that the group was built from; if `cpu_attach_domain()` removes that child, the CPU's
        /// own group takes the flags of the domain that stays (since 6.6).
        FollowRemoval = "the child's that stays",
    }
}

forms! {
    /// How `sd_llc_id` is numbered.
    pub enum LlcId {
        /// By the LLC's lowest CPU (up to 6.18).
        FirstCpu = "the first CPU",
        /// 0, 1, 2... in the order in which the LLCs come up (`__sched_domains_alloc_llc_id()`, 7.2).
        Dense = "0, 1, 2...",
    }
}
