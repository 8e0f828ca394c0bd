//! The topology levels, lowest first: SMT, CLS, MC (MMC with SIS_NODE_TOPOEXT), PKG, NODE and NUMA, each with its mask
//! and its flags (`struct sched_domain_topology_level`, `default_topology[]` and `sched_init_numa()` in
//! `kernel/sched/topology.c`; the masks in `arch/x86/kernel/smpboot.c` and `drivers/base/arch_topology.c`).

use super::build_sched_domains::{SpanId, Spans};
use super::options::{Arch, DomainOptions};
use super::topology::{CpuTopology, LOCAL_DISTANCE, Topology};
use super::{Level, SdFlags};
use crate::cpumask::CpuMask;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One topology level: `tl->mask()` by CPU, and `tl->sd_flags()`.
pub(super) struct TopologyLevel {
    pub(super) level: Level,
    pub(super) flags: SdFlags,
    pub(super) mask: Vec<SpanId>,
    /// The largest distance of a node in the mask; `None` below the NUMA levels.
    pub(super) numa_distance: Option<u32>,
}

/// Returns all levels of the machine: those of `set_sched_topology()` and those that `sched_init_numa()` adds.
pub(super) fn topology_levels(topology: &Topology, options: &DomainOptions, spans: &mut Spans) -> Vec<TopologyLevel> {
    let smt = cpu_smt_mask(topology, spans);
    let node = mask_of(topology, spans, |c| c.node);
    let mc = cpu_coregroup_mask(topology, options, spans);
    let mut levels = Vec::new();
    let mut add = |level, flags, mask| levels.push(TopologyLevel { level, flags, mask, numa_distance: None });
    // x86 of 7.2 omits SMT if no core has two CPUs. The result is the same: sd_degenerate() would remove the level, and
    // the groups of its parent would lose their flags.
    add(Level::Smt, SdFlags::SHARE_CPUCAPACITY | SdFlags::SHARE_LLC, smt.clone());
    if options.rules.cluster {
        let mut flags = SdFlags::SHARE_LLC;
        flags.set(SdFlags::CLUSTER, options.rules.cluster_flag);
        let mask = cpu_clustergroup_mask(topology, options, spans, &smt, &mc);
        add(Level::Cls, flags, mask);
    }
    add(Level::Mc, SdFlags::SHARE_LLC, mc);
    if options.llc_pairs {
        let pairs = llc_pairs(topology);
        add(Level::Mmc, SdFlags::empty(), mask_of(topology, spans, |c| pairs[&c.llc]));
    }
    if !(options.arch == Arch::X86 && numa_in_package(topology)) {
        add(Level::Pkg, SdFlags::empty(), node.clone());
    }
    levels.push(TopologyLevel { level: Level::Node, flags: SdFlags::empty(), mask: node, numa_distance: None });
    levels.extend(numa_levels(topology, spans));
    levels
}

/// Returns, by CPU, the span of the CPUs with the same key.
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

/// `cpu_coregroup_mask()`: the LLC, or the cluster if that is wider (`drivers/base/arch_topology.c`, since 6.0).
fn cpu_coregroup_mask(topology: &Topology, options: &DomainOptions, spans: &mut Spans) -> Vec<SpanId> {
    let llc = mask_of(topology, spans, |c| c.llc);
    if !options.rules.cluster {
        return llc;
    }
    let cluster = mask_of(topology, spans, |c| (c.cluster, c.cluster.is_none().then_some(c.core)));
    let wider = |(&llc, &cluster): (&SpanId, &SpanId)| {
        if spans.weight(cluster) > spans.weight(llc) { cluster } else { llc }
    };
    llc.iter().zip(&cluster).map(wider).collect()
}

/// `cpu_clustergroup_mask()`: the cluster, or the SMT siblings if there is none. arm64 also returns the siblings if the
/// cluster is as wide as the mask of the MC level.
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

/// The pair of each LLC: two that follow each other in a node, in the order of their lowest CPUs, as two L3 caches of
/// one APIC id >> 4 do on Zen 3.
fn llc_pairs(topology: &Topology) -> HashMap<u32, (u32, usize)> {
    let mut of_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for c in &topology.cpus {
        let llcs = of_node.entry(c.node).or_default();
        if !llcs.contains(&c.llc) {
            llcs.push(c.llc);
        }
    }
    let numbered =
        |(node, llcs): (u32, Vec<u32>)| llcs.into_iter().enumerate().map(move |(n, llc)| (llc, (node, n / 2)));
    of_node.into_iter().flat_map(numbered).collect()
}

/// Whether a package holds several nodes: `x86_has_numa_in_package`, in 7.2 `topology_num_nodes_per_package() > 1`.
fn numa_in_package(topology: &Topology) -> bool {
    let mut node_of: HashMap<u32, u32> = HashMap::new();
    topology.cpus.iter().any(|c| *node_of.entry(c.package).or_insert(c.node) != c.node)
}

/// `sched_init_numa()`: returns the levels above NODE, one for each distance between nodes that have CPUs. 5.10 also
/// counts nodes without CPUs, but their levels degenerate.
fn numa_levels(topology: &Topology, spans: &mut Spans) -> Vec<TopologyLevel> {
    let nodes: BTreeSet<u32> = topology.cpus.iter().map(|c| c.node).collect();
    let distance = |from: u32, to: u32| topology.node_distance[from as usize][to as usize];
    let distances: BTreeSet<u32> = nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| distance(a, b))).collect();

    let mut cpumask_of_node = vec![CpuMask::new(topology.nr_cpus()); topology.node_distance.len()];
    for (cpu, c) in (0..).zip(&topology.cpus) {
        cpumask_of_node[c.node as usize].set(cpu);
    }
    let mut levels = Vec::new();
    for &limit in distances.iter().filter(|&&distance| distance > LOCAL_DISTANCE) {
        let mut mask_of_node = vec![None; topology.node_distance.len()];
        for &node in &nodes {
            let mut mask = CpuMask::new(topology.nr_cpus());
            nodes
                .iter()
                .filter(|&&to| distance(node, to) <= limit)
                .for_each(|&to| mask.or_with(&cpumask_of_node[to as usize]));
            mask_of_node[node as usize] = Some(spans.intern(mask));
        }
        let mask = topology.cpus.iter().filter_map(|c| mask_of_node[c.node as usize]).collect();
        levels.push(TopologyLevel { level: Level::Numa, flags: SdFlags::NUMA, mask, numa_distance: Some(limit) });
    }
    levels
}
