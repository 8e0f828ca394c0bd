//! The inputs for building domains besides the topology: the kernel version's rules, and the architecture.

use crate::select::sets_cluster_flag;
use wakelab_kernel::{DomainRules, Feature, FeatureSet, Preset};

/// Where the masks of the levels come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// `arch/x86/kernel/smpboot.c`: the package level is left out if a package holds several nodes
    /// (`x86_has_numa_in_package`).
    X86,
    /// `drivers/base/arch_topology.c` with the default levels: a cluster that is as wide as the LLC is no level of its
    /// own (`cpu_clustergroup_mask()`).
    Arm64,
}

/// `node_reclaim_distance`, unless the architecture sets another: 32 on Zen (`arch/x86/kernel/cpu/amd.c`).
const RECLAIM_DISTANCE: u32 = 30;

/// A kernel's way of building domains. [`DomainOptions::of`] is a version's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainOptions {
    /// The version-dependent rules.
    pub rules: DomainRules,
    /// The architecture.
    pub arch: Arch,
    /// `node_reclaim_distance`: over NUMA domains wider than this, exec, fork and wake-ups do not balance.
    pub node_reclaim_distance: u32,
    /// There is a level of two neighbouring LLCs, `MMC` (SIS_NODE_TOPOEXT).
    pub llc_pairs: bool,
}

impl DomainOptions {
    /// How a kernel builds domains on x86, with clusters if the version has them.
    pub fn of(kernel: &Preset) -> Self {
        DomainOptions {
            rules: kernel.domains,
            arch: Arch::X86,
            node_reclaim_distance: RECLAIM_DISTANCE,
            llc_pairs: false,
        }
    }

    /// How the same kernel builds domains on another architecture.
    pub fn on(self, arch: Arch) -> Self {
        DomainOptions { arch, ..self }
    }

    /// How the same kernel builds domains with these features on.
    pub fn with_features(self, features: FeatureSet) -> Self {
        let cluster_flag = self.rules.cluster_flag || sets_cluster_flag(features);
        let rules = DomainRules { cluster_flag, ..self.rules };
        DomainOptions { rules, llc_pairs: features.has(Feature::SIS_NODE_TOPOEXT), ..self }
    }

    /// How the same kernel builds domains on a machine that sets `node_reclaim_distance` to `own`, if the version lets
    /// it; `None`: the machine sets none.
    pub fn with_reclaim_distance(self, own: Option<u32>) -> Self {
        let own = own.filter(|_| self.rules.own_reclaim_distance);
        DomainOptions { node_reclaim_distance: own.unwrap_or(self.node_reclaim_distance), ..self }
    }
}
