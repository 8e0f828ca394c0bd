//! What differs between kernel versions and architectures in how domains are built.

/// Where the masks of the levels come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// `arch/x86/kernel/smpboot.c`: the package level is left out where a package holds several nodes
    /// (`x86_has_numa_in_package`).
    X86,
    /// `drivers/base/arch_topology.c` with the default levels: a cluster that is as wide as the LLC is no level of its
    /// own (`cpu_clustergroup_mask()`).
    Arm64,
}

/// What the kernel calls [`Level::Pkg`](super::Level::Pkg).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PkgName {
    /// `DIE`, before 6.7.
    Die,
    /// `PKG`, since 6.7.
    Pkg,
}

/// How `build_sched_domains()` computes `imb_numa_nr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImbNuma {
    /// The field does not exist (before 5.18).
    Absent,
    /// With one LLC in a node a quarter of the node's CPUs, and possibly 0 (5.18 and 5.19).
    Quarter,
    /// With one LLC in a node an eighth of the node's CPUs, and at least 1 (since 6.0; `adjust_numa_imbalance()` of
    /// 7.2 gives the same numbers).
    Eighth,
}

/// How different capacities are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsymDetection {
    /// `asym_cpu_capacity_level()` (5.10): from the lowest level at which every CPU sees one of the highest capacity
    /// upwards, and no `SD_ASYM_CPUCAPACITY_FULL`.
    Level,
    /// `asym_cpu_capacity_classify()` (since 5.14): each domain by the capacities in its span.
    Classify,
}

/// What `sg->flags` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupFlags {
    /// Nothing: the field does not exist (before 5.15).
    Absent,
    /// The flags of the child that the group was built from, even if that child is removed afterwards (6.1).
    AsBuilt,
    /// As before, but where `cpu_attach_domain()` removes the child, the CPU's own group takes the flags of the domain
    /// that stays (since 6.6).
    FollowRemoval,
}

/// Which levels get `SD_ASYM_PACKING` from Intel's Turbo Boost Max 3.0 (`x86_sched_itmt_flags()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Itmt {
    /// None: `sysctl_sched_itmt_enabled` is 0.
    Off,
    /// SMT, CLS and MC (5.10, 6.1).
    UpToMc,
    /// CLS, MC and PKG (6.12 and later).
    AboveSmt,
}

/// How `sd_llc_id` is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlcId {
    /// By the LLC's lowest CPU (up to 6.12).
    FirstCpu,
    /// 0, 1, 2... in the order in which the LLCs come up (`__sched_domains_alloc_llc_id()`, 7.2).
    Dense,
}

/// A kernel's way of building domains. [`DomainOptions::for_version`] gives a version's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainOptions {
    /// The architecture.
    pub arch: Arch,
    /// `CONFIG_SCHED_CLUSTER`: whether there is a `CLS` level (since 5.16). 6.1 has none on hybrid x86 machines.
    pub cluster: bool,
    /// Whether the `CLS` level has `SD_CLUSTER` (since 6.7).
    pub cluster_flag: bool,
    /// `imbalance_pct` of domains that do not share a core, per cent: 117 since 5.10, 125 before.
    pub imbalance_pct: u32,
    /// `imb_numa_nr`.
    pub imb_numa: ImbNuma,
    /// Different capacities.
    pub asym: AsymDetection,
    /// Whether `sd_init()` takes `SD_PREFER_SIBLING` from the child of a domain with different capacities (up to 7.2;
    /// not in 7.3).
    pub asym_clears_prefer_sibling: bool,
    /// `sg->flags`.
    pub group_flags: GroupFlags,
    /// Whether `build_overlap_sched_groups()` looks for a sibling's descendant that fits into the domain
    /// (`find_descended_sibling()`, since 5.13). Without it, groups may leave the domain where the NUMA diameter is 3.
    pub find_descended_sibling: bool,
    /// Whether NUMA domains have `SD_OVERLAP` (6.12 has it, 7.2 does not: there `SD_NUMA` says the same).
    pub overlap_flag: bool,
    /// Name of the package level.
    pub pkg_name: PkgName,
    /// `node_reclaim_distance`: over NUMA domains wider than this, exec, fork and wake-ups do not balance. 30;
    /// `arch/x86/kernel/cpu/amd.c` makes it 32 on Zen.
    pub node_reclaim_distance: u32,
    /// Asymmetric packing.
    pub itmt: Itmt,
    /// Numbering of LLCs.
    pub llc_id: LlcId,
}

impl DomainOptions {
    /// How Linux `major.minor` builds domains on x86, with clusters where the version has them.
    ///
    /// The sources of 5.10, 6.1, 6.12, 7.2 and 7.3 were read; for versions between them, where a change came in is
    /// taken from the changelogs, and what came between 6.12 and 7.2 is taken as of 7.0. Before 5.10 more differs than
    /// `imbalance_pct` (`SD_BALANCE_WAKE` where capacities differ).
    pub fn for_version(major: u32, minor: u32) -> Self {
        let since = |version: (u32, u32)| (major, minor) >= version;
        DomainOptions {
            arch: Arch::X86,
            cluster: since((5, 16)),
            cluster_flag: since((6, 7)),
            imbalance_pct: if since((5, 10)) { 117 } else { 125 },
            imb_numa: match (since((5, 18)), since((6, 0))) {
                (false, _) => ImbNuma::Absent,
                (true, false) => ImbNuma::Quarter,
                (true, true) => ImbNuma::Eighth,
            },
            asym: if since((5, 14)) { AsymDetection::Classify } else { AsymDetection::Level },
            asym_clears_prefer_sibling: !since((7, 3)),
            group_flags: match (since((5, 15)), since((6, 6))) {
                (false, _) => GroupFlags::Absent,
                (true, false) => GroupFlags::AsBuilt,
                (true, true) => GroupFlags::FollowRemoval,
            },
            find_descended_sibling: since((5, 13)),
            overlap_flag: !since((7, 0)),
            pkg_name: if since((6, 7)) { PkgName::Pkg } else { PkgName::Die },
            node_reclaim_distance: 30,
            itmt: Itmt::Off,
            llc_id: if since((7, 0)) { LlcId::Dense } else { LlcId::FirstCpu },
        }
    }

    /// The same for another architecture.
    pub fn on(self, arch: Arch) -> Self {
        DomainOptions { arch, ..self }
    }
}
