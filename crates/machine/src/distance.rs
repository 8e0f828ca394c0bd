//! The distance that cache lines travel, and the costs of operations that depend on it.

use crate::{Cost, Costs, Machine, ScxCosts};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::CpuTopology;

/// The distance that a cache line travels from the CPU that wrote it.
///
/// SMT siblings are not nearer than other cores of the LLC: the costs of `intel-1s56c112t` were fitted so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// The CPU itself wrote them.
    Own,
    /// From a CPU of the cluster.
    Cluster,
    /// From a CPU of the rest of the LLC.
    Llc,
    /// From another LLC.
    Far,
}

/// The distances between the CPUs of a machine.
#[derive(Clone, Debug)]
pub struct Distances {
    /// By CPU: the number of the last level cache that the hardware has there.
    cache_of: Vec<u32>,
    /// By CPU: the number of its cluster, if that is a part of an LLC; else a number of its own.
    cluster_of: Vec<u32>,
}

impl Distances {
    /// The distances on a machine whose kernel sees the LLC of this number at each CPU. A package whose LLC the kernel
    /// sees as several has one.
    pub fn new(machine: &Machine, llc_of: &[u32]) -> Self {
        let cpus = &machine.topology.cpus;
        let has_clusters = machine.has_clusters();
        let cluster = |(cpu, own): (u32, &CpuTopology)| own.cluster.filter(|_| has_clusters).unwrap_or(u32::MAX - cpu);
        Distances {
            cache_of: match machine.split_llc {
                true => cpus.iter().map(|cpu| cpu.package).collect(),
                false => llc_of.to_vec(),
            },
            cluster_of: (0..).zip(cpus).map(cluster).collect(),
        }
    }

    /// Returns how far lines travel that `from` has written and `to` reads.
    ///
    /// # Panics
    /// If one is none of the machine's CPUs.
    #[inline]
    pub fn between(&self, from: Cpu, to: Cpu) -> Distance {
        if from == to {
            Distance::Own
        } else if self.cache_of[from as usize] != self.cache_of[to as usize] {
            Distance::Far
        } else if self.cluster_of[from as usize] == self.cluster_of[to as usize] {
            Distance::Cluster
        } else {
            Distance::Llc
        }
    }
}

/// A cost at each [`Distance`], ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByDistance(pub [u64; 4]);

impl ByDistance {
    /// The cost at a distance, ns.
    #[inline]
    pub fn at(&self, distance: Distance) -> u64 {
        self.0[distance as usize]
    }

    /// The same, where every other CPU is as far as one of the LLC.
    #[must_use]
    pub fn without_distance(self) -> Self {
        let llc = self.at(Distance::Llc);
        ByDistance([self.at(Distance::Own), llc, llc, llc])
    }
}

/// The costs that depend on the distance of cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistanceCosts {
    /// Enqueueing a task on a run queue, by the distance from its CPU to the waker's.
    pub enqueue: ByDistance,
    /// Putting a task on a wakelist, for the waker, by the same.
    pub wakelist: ByDistance,
    /// Enqueueing the tasks of a wakelist on their CPU, by the distance from the waker's CPU to it.
    pub wakelist_flush: ByDistance,
    /// Running where the task did not run before.
    pub cold_task: ByDistance,
    /// Reading a message, by the distance from its writer's CPU to the reader's.
    pub cold_message: ByDistance,
}

impl Costs {
    /// Returns the costs at each distance.
    ///
    /// An enqueue is `enqueue_local` and lines; messages and cold tasks are lines. Within a cluster each line costs
    /// `cluster_line` per cent. A wake-up through the wakelist moves the same lines, of the wakee and of the run queue:
    /// half of them come to the waker, and half go back to the wakee's CPU. There it costs as much more or less than
    /// within the LLC as an enqueue does.
    pub fn by_distance(&self) -> DistanceCosts {
        let cluster = |lines: u64| lines * self.cluster_line.value / 100;
        let (own, llc, far) = (self.enqueue_local.value, self.enqueue_remote.value, self.enqueue_far.value);
        let lines = llc.saturating_sub(own);
        let less = lines - cluster(lines);
        let half = |cost: u64| {
            let more = far.saturating_sub(llc) / 2;
            ByDistance([cost, cost.saturating_sub(less / 2), cost, cost + more])
        };
        let cold = |llc: u64, far: u64| ByDistance([0, cluster(llc), llc, far]);
        DistanceCosts {
            enqueue: ByDistance([own, llc - less, llc, far]),
            wakelist: half(self.wakelist.value),
            wakelist_flush: half(self.wakelist_flush.value),
            cold_task: cold(self.cold_task.value, self.cold_task_far.value),
            cold_message: cold(self.cold_message.value, self.cold_message_far.value),
        }
    }
}

impl ScxCosts {
    /// Returns the cost of a cache line of a dispatch queue at each distance, ns. `cluster_line` is that of the
    /// machine's costs ([`Costs::cluster_line`]).
    pub fn line_by_distance(&self, cluster_line: &Cost) -> ByDistance {
        let (llc, far) = (self.scx_line.value, self.scx_line_far.value);
        ByDistance([0, llc * cluster_line.value / 100, llc, far])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Distance::{Cluster, Far, Llc, Own};

    fn distances(name: &str) -> Distances {
        let machine = crate::get(name).expect("built in");
        let llcs: Vec<u32> = machine.topology.cpus.iter().map(|cpu| cpu.llc).collect();
        Distances::new(&machine, &llcs)
    }

    #[test]
    fn cpus_of_a_cluster_are_nearer_than_those_of_the_llc() {
        let kunpeng = distances("kunpeng920-2s128c");
        assert_eq!([0, 3, 4, 31, 32, 64].map(|cpu| kunpeng.between(0, cpu)), [Own, Cluster, Llc, Llc, Far, Far]);
    }

    #[test]
    fn without_clusters_there_is_one_distance_in_an_llc() {
        let intel = distances("intel-1s56c112t");
        // 56 is the sibling of 0.
        assert_eq!([0, 1, 56, 111].map(|cpu| intel.between(0, cpu)), [Own, Llc, Llc, Llc]);
        assert_eq!([1, 56].map(|cpu| distances("intel-2s112c224t-8llc").between(0, cpu)), [Llc, Far]);
    }

    #[test]
    fn lines_of_a_cluster_cost_their_part_and_far_ones_more_by_either_route() {
        let mut costs = crate::get("intel-1s56c112t").expect("built in").costs;
        for (name, value) in [("enqueue_local", 250), ("enqueue_remote", 1650), ("enqueue_far", 2850)] {
            costs.get_mut(name).expect("a cost").value = value;
        }
        for (name, value) in [("wakelist", 600), ("wakelist_flush", 500), ("cold_message", 700), ("cluster_line", 25)] {
            costs.get_mut(name).expect("a cost").value = value;
        }
        let by = costs.by_distance();
        assert_eq!(by.enqueue.0, [250, 250 + 350, 1650, 2850]);
        // 1050 less by lines of the cluster, 1200 more by those of another LLC.
        assert_eq!((by.wakelist.0, by.wakelist_flush.0), ([600, 75, 600, 1200], [500, 0, 500, 1100]));
        assert_eq!(by.cold_message.0, [0, 175, 700, costs.cold_message_far.value]);
        assert_eq!(by.enqueue.without_distance().0, [250, 1650, 1650, 1650]);
    }
}
