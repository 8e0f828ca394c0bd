//! NUMA levels and the imbalance that is allowed between nodes.

use super::build::Sd;
use super::levels::TopologyLevel;
use super::options::ImbNuma;
use super::spans::Spans;
use super::topology::{LOCAL_DISTANCE, Topology};
use super::{Level, SdFlags};
use crate::cpumask::CpuMask;
use std::collections::BTreeSet;

/// The levels that `sched_init_numa()` adds above NODE: one per distance between nodes that have CPUs. 5.10 also counts
/// nodes without CPUs, whose levels are removed again.
pub(super) fn numa_levels(topology: &Topology, spans: &mut Spans) -> Vec<TopologyLevel> {
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

/// Sets `imb_numa_nr` of one CPU's domains (`build_sched_domains()`, 6.1 and 6.12; `adjust_numa_imbalance()`, 7.2):
/// nothing within an LLC; above it what a node may run before its tasks share an LLC, scaled with the span.
pub(super) fn adjust_numa_imbalance(chain: &mut [Sd], spans: &Spans, variant: ImbNuma) {
    let weight = |sd: &Sd| spans.weight(sd.span);
    let Some(above) = chain.iter().position(|sd| !sd.flags.contains(SdFlags::SHARE_LLC)) else { return };
    let Some(llc) = above.checked_sub(1) else { return };
    let nr_llcs = weight(&chain[above]) / weight(&chain[llc]);
    let imb = match variant {
        ImbNuma::Absent => return,
        ImbNuma::Quarter if nr_llcs == 1 => weight(&chain[above]) >> 2,
        ImbNuma::Eighth if nr_llcs == 1 => (weight(&chain[above]) >> 3).max(1),
        _ => nr_llcs,
    };
    let first_numa = chain[above + 1..].iter().find(|sd| sd.flags.contains(SdFlags::NUMA));
    let imb_span = weight(first_numa.unwrap_or(&chain[above]));
    for sd in &mut chain[above..] {
        sd.imb_numa_nr = imb * (spans.weight(sd.span) / imb_span).max(1);
    }
}
