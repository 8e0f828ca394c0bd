//! A machine's CPUs, sorted by where they are.

use crate::Machine;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::CpuTopology;

/// CPUs of one LLC and node that have the same capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The package (socket).
    pub package: u32,
    /// The die.
    pub die: u32,
    /// The LLC.
    pub llc: u32,
    /// The NUMA node.
    pub node: u32,
    /// 1 to 1024.
    pub capacity: u32,
    /// The CPUs.
    pub cpus: CpuMask,
    /// How many cores these are.
    pub cores: usize,
    /// How many clusters; 0 where there are none.
    pub clusters: usize,
}

/// How much there is of what.
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
    /// Clusters; 0 where there are none.
    pub clusters: usize,
    /// Cores.
    pub cores: usize,
    /// The fewest CPUs that a core has.
    pub threads_min: usize,
    /// The most CPUs that a core has.
    pub threads_max: usize,
    /// NUMA nodes, with those that have no CPU.
    pub nodes: usize,
}

impl Machine {
    /// Its CPUs, sorted by package, die, LLC, node and capacity.
    pub fn parts(&self) -> Vec<Part> {
        let cpus = &self.topology.cpus;
        let mut places: BTreeMap<_, Vec<Cpu>> = BTreeMap::new();
        for (cpu, c) in (0..).zip(cpus) {
            places.entry((c.package, c.die, c.llc, c.node, c.capacity)).or_default().push(cpu);
        }
        let part = |((package, die, llc, node, capacity), members): (_, Vec<Cpu>)| {
            let of = || members.iter().map(|&cpu| &cpus[cpu as usize]);
            let (cores, clusters) = (distinct(of().map(|c| c.core)), distinct(of().filter_map(|c| c.cluster)));
            let cpus = CpuMask::from_cpus(self.topology.nr_cpus(), members.iter().copied());
            Part { package, die, llc, node, capacity, cpus, cores, clusters }
        };
        places.into_iter().map(part).collect()
    }

    /// How many CPUs, cores... it has.
    pub fn counts(&self) -> Counts {
        let cpus = &self.topology.cpus;
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
            nodes: self.topology.node_distance.len(),
        }
    }
}

fn distinct(ids: impl Iterator<Item = u32>) -> usize {
    ids.collect::<BTreeSet<_>>().len()
}
