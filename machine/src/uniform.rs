//! Whether a machine is the same everywhere.

use crate::Machine;
use std::collections::HashSet;
use wakelab_sched::domain::{CpuTopology, Numbering, Topology, Uniform};

impl Machine {
    /// The counts that make this topology, if it is the same everywhere but for the CPUs' capacities.
    pub fn uniform(&self) -> Option<Uniform> {
        let candidate = counts(&self.topology)?;
        [Numbering::Adjacent, Numbering::Split].into_iter().find_map(|numbering| {
            let candidate = Uniform { numbering, ..candidate };
            let mut made = candidate.topology();
            for (made, cpu) in made.cpus.iter_mut().zip(&self.topology.cpus) {
                made.capacity = cpu.capacity;
            }
            (made == self.topology).then_some(candidate)
        })
    }

    /// Whether all CPUs have the capacity 1024.
    pub fn all_of_full_capacity(&self) -> bool {
        self.topology.cpus.iter().all(|cpu| cpu.capacity == 1024)
    }
}

/// What the counts would be if the machine were the same everywhere.
fn counts(topology: &Topology) -> Option<Uniform> {
    let of = |id: fn(&CpuTopology) -> u32| topology.cpus.iter().map(id).collect::<HashSet<_>>().len() as u32;
    let packages = of(|cpu| cpu.package);
    let (dies, llcs, cores) = (of(|cpu| cpu.die), of(|cpu| cpu.llc), of(|cpu| cpu.core));
    let clusters = topology.cpus.iter().filter_map(|cpu| cpu.cluster).collect::<HashSet<_>>().len() as u32;
    // Nodes without CPUs are described CPU by CPU.
    let nodes = Some(topology.node_distance.len() as u32).filter(|&nodes| nodes <= cores)?;
    let ratio = |many: u32, few: u32| many.checked_div(few).filter(|&ratio| ratio > 0);
    Some(Uniform {
        packages,
        dies: ratio(dies, packages)?,
        llcs: ratio(llcs, dies)?,
        cores: ratio(cores, llcs)?,
        threads: ratio(topology.nr_cpus(), cores)?,
        cluster_cores: (clusters > 0).then(|| cores.div_ceil(clusters)),
        nodes,
        near: distance(topology, packages, true).unwrap_or(Uniform::new(1, 1).near),
        far: distance(topology, packages, false).unwrap_or(Uniform::new(1, 1).far),
        numbering: Numbering::Adjacent,
    })
}

/// The distance of two nodes of one package, or of two.
fn distance(topology: &Topology, packages: u32, same_package: bool) -> Option<u32> {
    let nodes = topology.node_distance.len();
    let package_of = |node: usize| node as u64 * u64::from(packages) / nodes as u64;
    let other = (1..nodes).find(|&node| (package_of(node) == package_of(0)) == same_package)?;
    topology.node_distance[0].get(other).copied()
}
