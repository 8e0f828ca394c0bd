//! The numbers of CPUs, cores, LLCs... of a machine, and whether it is uniform.

use crate::Machine;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{CpuTopology, Numbering, Topology, Uniform};

/// CPUs of one LLC and node that have the same capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuGroup {
    /// The package (socket).
    pub package: u32,
    /// The die.
    pub die: u32,
    /// The LLC.
    pub llc: u32,
    /// The NUMA node.
    pub node: u32,
    /// The capacity of each, 1 to 1024.
    pub capacity: u32,
    /// The CPUs.
    pub cpus: CpuMask,
    /// The number of cores.
    pub cores: usize,
    /// The number of clusters; 0 if there are none.
    pub clusters: usize,
}

/// The numbers of CPUs, cores, LLCs... of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// CPUs: threads of cores.
    pub cpus: usize,
    /// Packages (sockets).
    pub packages: usize,
    /// Dies.
    pub dies: usize,
    /// LLCs.
    pub llcs: usize,
    /// Clusters; 0 if there are none.
    pub clusters: usize,
    /// Cores.
    pub cores: usize,
    /// The fewest CPUs that a core has.
    pub threads_min: usize,
    /// The most CPUs that a core has.
    pub threads_max: usize,
    /// NUMA nodes, including those without CPUs.
    pub nodes: usize,
}

/// Returns whether an LLC has clusters of several cores, besides other cores.
pub(crate) fn has_clusters(topology: &Topology) -> bool {
    let mut llcs: BTreeMap<u32, usize> = BTreeMap::new();
    let mut clusters: BTreeMap<u32, (usize, HashSet<u32>, u32)> = BTreeMap::new();
    for cpu in &topology.cpus {
        *llcs.entry(cpu.llc).or_default() += 1;
        if let Some(cluster) = cpu.cluster {
            let (cpus, cores, llc) = clusters.entry(cluster).or_default();
            *cpus += 1;
            cores.insert(cpu.core);
            *llc = cpu.llc;
        }
    }
    clusters.values().any(|(cpus, cores, llc)| cores.len() > 1 && *cpus < llcs[llc])
}

impl Machine {
    /// Returns whether an LLC has clusters of several cores, besides other cores.
    pub fn has_clusters(&self) -> bool {
        has_clusters(&self.topology)
    }
}

impl Counts {
    /// Counts CPUs, cores, LLCs... of a shape.
    pub(crate) fn of(topology: &Topology) -> Self {
        let cpus = &topology.cpus;
        let count = |id: fn(&CpuTopology) -> u32| distinct(cpus.iter().map(id));
        let mut threads: BTreeMap<u32, usize> = BTreeMap::new();
        for cpu in cpus {
            *threads.entry(cpu.core).or_default() += 1;
        }
        Counts {
            cpus: cpus.len(),
            packages: count(|cpu| cpu.package),
            dies: count(|cpu| cpu.die),
            llcs: count(|cpu| cpu.llc),
            clusters: distinct(cpus.iter().filter_map(|cpu| cpu.cluster)),
            cores: threads.len(),
            threads_min: threads.values().copied().min().unwrap_or(0),
            threads_max: threads.values().copied().max().unwrap_or(0),
            nodes: topology.node_distance.len(),
        }
    }
}

impl Machine {
    /// Returns the CPUs grouped and sorted by package, die, LLC, node and capacity.
    pub fn cpu_groups(&self) -> Vec<CpuGroup> {
        let cpus = &self.topology.cpus;
        let mut places: BTreeMap<_, Vec<Cpu>> = BTreeMap::new();
        for (cpu, c) in (0..).zip(cpus) {
            places.entry((c.package, c.die, c.llc, c.node, c.capacity)).or_default().push(cpu);
        }
        let group = |((package, die, llc, node, capacity), members): (_, Vec<Cpu>)| {
            let of = || members.iter().map(|&cpu| &cpus[cpu as usize]);
            let (cores, clusters) = (distinct(of().map(|c| c.core)), distinct(of().filter_map(|c| c.cluster)));
            let cpus = CpuMask::from_cpus(self.topology.nr_cpus(), members.iter().copied());
            CpuGroup { package, die, llc, node, capacity, cpus, cores, clusters }
        };
        places.into_iter().map(group).collect()
    }

    /// Counts CPUs, cores, LLCs...
    pub fn counts(&self) -> Counts {
        Counts::of(&self.topology)
    }

    /// Returns the counts that make this topology, if the machine is the same everywhere except for the CPUs'
    /// capacities. Returns `None` if it is not.
    pub fn uniform(&self) -> Option<Uniform> {
        let candidate = uniform_counts(&self.topology)?;
        [Numbering::Adjacent, Numbering::Split].into_iter().find_map(|numbering| {
            let candidate = Uniform { numbering, ..candidate };
            let mut uniform = candidate.topology();
            for (uniform, cpu) in uniform.cpus.iter_mut().zip(&self.topology.cpus) {
                uniform.capacity = cpu.capacity;
            }
            (uniform == self.topology).then_some(candidate)
        })
    }

    /// Returns whether all CPUs have the capacity 1024.
    pub fn all_of_full_capacity(&self) -> bool {
        self.topology.cpus.iter().all(|cpu| cpu.capacity == 1024)
    }
}

/// The counts, if the machine were the same everywhere.
fn uniform_counts(topology: &Topology) -> Option<Uniform> {
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

/// The distance of node 0 to the first other node of its package, or of another package.
fn distance(topology: &Topology, packages: u32, same_package: bool) -> Option<u32> {
    let nodes = topology.node_distance.len();
    let package_of = |node: usize| node as u64 * u64::from(packages) / nodes as u64;
    let other = (1..nodes).find(|&node| (package_of(node) == package_of(0)) == same_package)?;
    topology.node_distance[0].get(other).copied()
}

fn distinct(ids: impl Iterator<Item = u32>) -> usize {
    ids.collect::<BTreeSet<_>>().len()
}
