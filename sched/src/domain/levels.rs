//! The topology levels, lowest first: which mask and which flags each has (`struct sched_domain_topology_level`).

use super::numa::numa_levels;
use super::options::{Arch, DomainOptions, Itmt};
use super::spans::{SpanId, Spans};
use super::topology::{CpuTopology, Topology};
use super::{Level, SdFlags};
use crate::cpumask::CpuMask;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// One level: `tl->mask()` by CPU and what `tl->sd_flags()` returns.
pub(super) struct TopologyLevel {
    pub(super) level: Level,
    pub(super) flags: SdFlags,
    pub(super) mask: Vec<SpanId>,
    /// Distance up to which nodes are in the mask; for NUMA levels only.
    pub(super) numa_distance: Option<u32>,
}

/// All levels of the machine: those of `set_sched_topology()` and what `sched_init_numa()` adds.
pub(super) fn topology_levels(topology: &Topology, options: &DomainOptions, spans: &mut Spans) -> Vec<TopologyLevel> {
    let smt = cpu_smt_mask(topology, spans);
    let node = mask_of(topology, spans, |c| c.node);
    let mc = cpu_coregroup_mask(topology, options, spans);
    let mut levels = Vec::new();
    let mut add = |level, mut flags: SdFlags, mask| {
        let packed = match options.itmt {
            Itmt::Off => false,
            Itmt::UpToMc => matches!(level, Level::Smt | Level::Cls | Level::Mc),
            Itmt::AboveSmt => matches!(level, Level::Cls | Level::Mc | Level::Pkg),
        };
        flags.set(SdFlags::ASYM_PACKING, packed);
        levels.push(TopologyLevel { level, flags, mask, numa_distance: None });
    };
    // x86 of 7.2 leaves SMT out where no core has two CPUs. That changes nothing that can be seen: the level is
    // removed as degenerate, and its parent's groups lose their flags.
    add(Level::Smt, SdFlags::SHARE_CPUCAPACITY | SdFlags::SHARE_LLC, smt.clone());
    if options.cluster {
        let mut flags = SdFlags::SHARE_LLC;
        flags.set(SdFlags::CLUSTER, options.cluster_flag);
        let mask = cpu_clustergroup_mask(topology, options, spans, &smt, &mc);
        add(Level::Cls, flags, mask);
    }
    add(Level::Mc, SdFlags::SHARE_LLC, mc);
    if !(options.arch == Arch::X86 && numa_in_package(topology)) {
        add(Level::Pkg, SdFlags::empty(), node.clone());
    }
    levels.push(TopologyLevel { level: Level::Node, flags: SdFlags::empty(), mask: node, numa_distance: None });
    levels.extend(numa_levels(topology, spans));
    levels
}

/// By CPU, the CPUs with the same key.
fn mask_of<K: Ord>(topology: &Topology, spans: &mut Spans, key: impl Fn(&CpuTopology) -> K) -> Vec<SpanId> {
    let mut masks: BTreeMap<K, CpuMask> = BTreeMap::new();
    for (cpu, c) in (0..).zip(&topology.cpus) {
        masks.entry(key(c)).or_insert_with(|| CpuMask::new(topology.nr_cpus())).set(cpu);
    }
    let ids: BTreeMap<K, SpanId> = masks.into_iter().map(|(key, mask)| (key, spans.intern(mask))).collect();
    topology.cpus.iter().map(|c| ids[&key(c)]).collect()
}

/// `cpu_smt_mask()`.
pub(super) fn cpu_smt_mask(topology: &Topology, spans: &mut Spans) -> Vec<SpanId> {
    mask_of(topology, spans, |c| c.core)
}

/// `cpu_coregroup_mask()`: the LLC; the cluster, where that is wider (`drivers/base/arch_topology.c`, since 6.0).
fn cpu_coregroup_mask(topology: &Topology, options: &DomainOptions, spans: &mut Spans) -> Vec<SpanId> {
    let llc = mask_of(topology, spans, |c| c.llc);
    if !options.cluster {
        return llc;
    }
    let cluster = mask_of(topology, spans, |c| (c.cluster, c.cluster.is_none().then_some(c.core)));
    let wider = |(&llc, &cluster): (&SpanId, &SpanId)| {
        if spans.weight(cluster) > spans.weight(llc) { cluster } else { llc }
    };
    llc.iter().zip(&cluster).map(wider).collect()
}

/// `cpu_clustergroup_mask()`: the cluster; without one the SMT siblings, and with arm64's also where the cluster is no
/// smaller than the mask of the MC level.
fn cpu_clustergroup_mask(
    topology: &Topology,
    options: &DomainOptions,
    spans: &mut Spans,
    smt: &[SpanId],
    mc: &[SpanId],
) -> Vec<SpanId> {
    let cluster = mask_of(topology, spans, |c| (c.cluster, c.cluster.is_none().then_some(c.core)));
    (0..topology.cpus.len())
        .map(|cpu| match options.arch {
            Arch::Arm64 if cluster[cpu] == mc[cpu] => smt[cpu],
            _ => cluster[cpu],
        })
        .collect()
}

/// `x86_has_numa_in_package`; 7.2: `topology_num_nodes_per_package() > 1`.
fn numa_in_package(topology: &Topology) -> bool {
    let mut node_of: HashMap<u32, u32> = HashMap::new();
    topology.cpus.iter().any(|c| *node_of.entry(c.package).or_insert(c.node) != c.node)
}
