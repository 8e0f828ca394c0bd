//! Cores, caches and nodes put together: the machine's shape.

use super::cache::{self, Caches};
use super::capacity;
use super::groups::{Groups, numbers, within};
use super::node::{self, Nodes};
use super::shape::{self, Shape};
use super::sys::Sys;
use super::tree::{AGAIN, CPU};
use crate::MachineError;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{CpuTopology, Topology};

/// The shape, the caches, and what of the shape is guessed.
pub(super) fn read(sys: &Sys<'_>, notes: &mut Vec<String>) -> Result<(Topology, Caches, Vec<String>), MachineError> {
    let mut guesses = Vec::new();
    let shape = shape::read(sys)?;
    let nodes = node::read(sys, notes)?;
    let siblings = |cpu| sys.path(cpu, "topology/thread_siblings_list");
    within(sys, (&shape.cores, "the core"), (&nodes.cpus, "node"), siblings)?;
    let cluster_file = |cpu| sys.path(cpu, "topology/cluster_cpus_list");
    within(sys, (&shape.clusters, "the cluster"), (&nodes.cpus, "node"), cluster_file)?;
    let caches = cache::read(sys)?;
    let llcs = llcs(sys, &caches, &shape, &nodes, notes, &mut guesses)?;
    let (capacities, guess) = capacity::read(sys, notes)?;
    guesses.extend(guess);

    let [core, die, package, llc] = [&shape.cores, &shape.dies, &shape.packages, &llcs].map(numbers);
    let cluster = clusters(&shape);
    let cpu = |cpu: usize| CpuTopology {
        core: core[cpu],
        cluster: cluster[cpu],
        llc: llc[cpu],
        die: die[cpu],
        package: package[cpu],
        node: nodes.of_cpu[cpu],
        capacity: capacities[cpu],
    };
    let topology = Topology { cpus: (0..sys.ids.len()).map(cpu).collect(), node_distance: nodes.distances };
    // What is left, such as siblings of different capacity, has no file of its own.
    topology.validate().map_err(|error| {
        let machine = if sys.offline().is_empty() { "" } else { " (CPUs are counted without those that are offline)" };
        sys.tree.error(CPU, format!("{error}{machine}")).with_hint(AGAIN)
    })?;
    Ok((topology, caches, guesses))
}

/// Numbers of the clusters; none where a cluster is no wider than its core.
fn clusters(shape: &Shape) -> Vec<Option<u32>> {
    let wide = |cpu: usize| shape.clusters[cpu] != shape.cores[cpu];
    let all = numbers(&shape.clusters);
    let mut kept: Vec<u32> = (0..all.len()).filter(|&cpu| wide(cpu)).map(|cpu| all[cpu]).collect();
    kept.sort_unstable();
    kept.dedup();
    (0..all.len()).map(|cpu| wide(cpu).then(|| kept.partition_point(|&number| number < all[cpu]) as u32)).collect()
}

/// By CPU: who shares its LLC, as the scheduler sees it.
fn llcs(
    sys: &Sys<'_>,
    caches: &Caches,
    shape: &Shape,
    nodes: &Nodes,
    notes: &mut Vec<String>,
    guesses: &mut Vec<String>,
) -> Result<Groups, MachineError> {
    let file = |cpu: Cpu| caches.last_file(sys, cpu);
    let wide = if caches.is_empty() {
        guesses.push("there is no cpu*/cache/index*: an LLC is taken to be a package's CPUs of one node".to_owned());
        shape.packages.clone()
    } else {
        let last = caches.last();
        within(sys, (&last, "the last cache"), (&shape.packages, "package"), file)?;
        within(sys, (&shape.cores, "the core"), (&last, "last cache"), file)?;
        last
    };
    let llcs: Vec<CpuMask> = wide.iter().zip(&nodes.cpus).map(|(llc, node)| llc.and(node)).collect();
    if !caches.is_empty() && llcs != wide {
        notes.push(
            "nodes share a last cache (sub-NUMA clustering): the scheduler sees one LLC for each (match_llc())"
                .to_owned(),
        );
    }
    for (cpu, (llc, cluster)) in (0..).zip(llcs.iter().zip(&shape.clusters)) {
        if !llc.is_subset(cluster) && !cluster.is_subset(llc) {
            let (llc, cluster) = (sys.names(llc), sys.names(cluster));
            let what =
                format!("lists CPUs {cluster}; expected all or a part of the LLC's, {llc}, or all of them and more");
            return Err(sys.tree.contradiction(&sys.path(cpu, "topology/cluster_cpus_list"), what));
        }
    }
    Ok(llcs)
}
