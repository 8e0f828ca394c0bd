//! Which CPUs this process may use, and which pairs of them differ in what lies between them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use wakelab_machine::Machine;
use wakelab_sched::cpumask::Cpu;

/// The relation of two CPUs in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// They are one.
    OneCpu,
    /// They are threads of one core.
    Smt,
    /// They are cores of one cluster, which is a part of an LLC.
    Cluster,
    /// They are cores of one LLC.
    Llc,
    /// They have different LLCs in one package.
    OtherLlc,
    /// They are in different packages or NUMA nodes.
    OtherNode,
}

impl Relation {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Relation::OneCpu => "one CPU",
            Relation::Smt => "SMT",
            Relation::Cluster => "cluster",
            Relation::Llc => "LLC",
            Relation::OtherLlc => "other LLC",
            Relation::OtherNode => "other node",
        }
    }
}

/// Two CPUs, by their numbers in the kernel, or one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The relation of the two.
    pub relation: Relation,
    /// Their numbers.
    pub cpus: [Cpu; 2],
}

impl Place {
    /// One CPU.
    pub fn one(cpu: Cpu) -> Self {
        Place { relation: Relation::OneCpu, cpus: [cpu; 2] }
    }
}

/// The CPUs that this process may use, by their numbers in the kernel, lowest first: `taskset` and cpusets restrict
/// them.
///
/// # Errors
/// Those of `sched_getaffinity()`.
pub fn allowed() -> io::Result<Vec<Cpu>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as Cpu).collect())
}

/// Restricts the calling thread to CPUs.
pub(crate) fn pin(cpus: &[Cpu]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("CPU {cpu}: expected a number below {}", CpuSet::MAX_CPU)));
        }
        set.set(cpu as usize);
    }
    sched_setaffinity(None, &set).map_err(|error| io::Error::other(format!("sched_setaffinity to {cpus:?}: {error}")))
}

/// A pair of allowed CPUs for each relation that there is, and one CPU alone, all with the CPU of the highest capacity
/// that has the most relations (the lowest of those).
pub fn places(machine: &Machine, allowed: &[Cpu]) -> Vec<Place> {
    let cpus = known(machine, allowed);
    let highest = cpus.iter().map(|&(cpu, _)| machine.topology.cpus[cpu as usize].capacity).max();
    let fast = cpus.iter().filter(|&&(cpu, _)| Some(machine.topology.cpus[cpu as usize].capacity) == highest);
    let of = |&(cpu, id): &(Cpu, Cpu)| {
        let mut found: BTreeMap<Relation, Place> = BTreeMap::new();
        for &(other, other_id) in &cpus {
            let relation = relation(machine, cpu, other);
            found.entry(relation).or_insert(Place { relation, cpus: [id, other_id] });
        }
        found.into_values().collect::<Vec<_>>()
    };
    let all = fast.map(of);
    all.reduce(|best, next| if next.len() > best.len() { next } else { best }).unwrap_or_default()
}

/// An allowed CPU of each capacity, the highest first: the capacity, and the CPU's number in the kernel.
pub fn capacities(machine: &Machine, allowed: &[Cpu]) -> Vec<(u32, Cpu)> {
    let mut first: BTreeMap<u32, Cpu> = BTreeMap::new();
    for (cpu, id) in known(machine, allowed) {
        first.entry(machine.topology.cpus[cpu as usize].capacity).or_insert(id);
    }
    first.into_iter().rev().collect()
}

/// The allowed CPUs that the machine has: the machine's number and the kernel's.
fn known(machine: &Machine, allowed: &[Cpu]) -> Vec<(Cpu, Cpu)> {
    let all = (0..machine.topology.nr_cpus()).map(|cpu| (cpu, machine.kernel_cpu(cpu)));
    all.filter(|(_, id)| allowed.contains(id)).collect()
}

fn relation(machine: &Machine, a: Cpu, b: Cpu) -> Relation {
    let [of, other] = [a, b].map(|cpu| machine.topology.cpus[cpu as usize]);
    if a == b {
        Relation::OneCpu
    } else if of.core == other.core {
        Relation::Smt
    } else if of.llc == other.llc && of.cluster.is_some() && of.cluster == other.cluster && machine.has_clusters() {
        Relation::Cluster
    } else if of.llc == other.llc {
        Relation::Llc
    } else if of.package == other.package && of.node == other.node {
        Relation::OtherLlc
    } else {
        Relation::OtherNode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relations(machine: &str, allowed: &[Cpu]) -> Vec<(Relation, [Cpu; 2])> {
        let machine = wakelab_machine::get(machine).expect("a machine");
        places(&machine, allowed).iter().map(|place| (place.relation, place.cpus)).collect()
    }

    #[test]
    fn each_relation_that_there_is_has_a_pair() {
        let all: Vec<Cpu> = (0..256).collect();
        let zen = relations("amd-zen3-2s128c256t-nps1", &all);
        let expected = [
            (Relation::OneCpu, [0, 0]),
            (Relation::Smt, [0, 128]),
            (Relation::Llc, [0, 1]),
            (Relation::OtherLlc, [0, 8]),
            (Relation::OtherNode, [0, 64]),
        ];
        assert_eq!(zen, expected);
    }

    #[test]
    fn only_allowed_cpus_are_used() {
        assert_eq!(relations("test-2c", &[1]), [(Relation::OneCpu, [1, 1])]);
        assert_eq!(relations("test-8c", &[2, 3, 5]).len(), 3, "2 and 3 are siblings, 5 is another core");
        assert!(relations("test-2c", &[7]).is_empty(), "a CPU that the machine does not have");
    }

    #[test]
    fn unequal_cpus_have_one_of_each_capacity_and_pairs_of_the_fastest() {
        let pixel = wakelab_machine::get("pixel6").expect("a machine");
        let all: Vec<Cpu> = (0..8).collect();
        let kinds: Vec<u32> = capacities(&pixel, &all).iter().map(|kind| kind.0).collect();
        assert_eq!(kinds, [1024, 498, 160]);
        assert!(places(&pixel, &all).iter().all(|place| place.cpus[0] >= 6), "{:?}", places(&pixel, &all));
        assert_eq!(capacities(&pixel, &[0, 1]).len(), 1);
    }
}
