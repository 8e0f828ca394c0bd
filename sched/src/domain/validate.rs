//! Shapes that no machine has.

use super::topology::{CpuTopology, LOCAL_DISTANCE, MAX_CPUS, Topology};
use crate::cpumask::Cpu;
use std::collections::HashMap;
use std::fmt;

/// What is wrong with a [`Topology`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyError {
    /// There is no CPU.
    Empty,
    /// There are more CPUs than [`MAX_CPUS`].
    TooManyCpus {
        /// How many.
        nr_cpus: usize,
    },
    /// A capacity is not in 1 to 1024.
    Capacity {
        /// The CPU.
        cpu: Cpu,
        /// Its capacity.
        capacity: u32,
    },
    /// Two CPUs have one thing in common but not another that contains it.
    Split {
        /// The field in which they are equal.
        inner: &'static str,
        /// Its value.
        id: u32,
        /// The field in which they should be equal too.
        outer: &'static str,
        /// The two CPUs.
        cpus: [Cpu; 2],
        /// Their values of `outer`.
        values: [String; 2],
    },
    /// A cluster and an LLC share CPUs, but neither holds the other.
    ClusterAcrossLlcs {
        /// A CPU of both.
        cpu: Cpu,
        /// The cluster.
        cluster: u32,
        /// A CPU of the cluster in another LLC.
        other_llc: Cpu,
        /// A CPU of the LLC in another cluster.
        other_cluster: Cpu,
    },
    /// A CPU's node has no row in the distance matrix.
    NoSuchNode {
        /// The CPU.
        cpu: Cpu,
        /// Its node.
        node: u32,
        /// How many rows there are.
        nodes: usize,
    },
    /// A row of the distance matrix has the wrong length.
    NotSquare {
        /// The row.
        node: usize,
        /// Its length.
        len: usize,
        /// How many rows there are.
        nodes: usize,
    },
    /// A distance is above 255.
    Distance {
        /// From and to.
        nodes: [usize; 2],
        /// The distance.
        distance: u32,
    },
    /// A node's distance to itself is not 10 (`LOCAL_DISTANCE`), or another node is as near.
    Diagonal {
        /// From and to; equal for the node itself.
        nodes: [usize; 2],
        /// The distance.
        distance: u32,
    },
    /// A distance differs by direction.
    Asymmetric {
        /// The two nodes.
        nodes: [usize; 2],
        /// There and back.
        distances: [u32; 2],
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the machine has no CPU: `cpus` is empty"),
            Self::TooManyCpus { nr_cpus } => write!(f, "{nr_cpus} CPUs: at most {MAX_CPUS} are supported"),
            Self::Capacity { cpu, capacity } => write!(f, "CPU {cpu}: capacity {capacity} is not in 1..=1024"),
            Self::Split { inner, id, outer, cpus: [a, b], values: [x, y] } => {
                write!(f, "CPUs {a} and {b} have the same {inner} ({id}) but different {outer} ({x} and {y})")?;
                if (*inner, *outer) == ("llc", "node") {
                    write!(f, "; with sub-NUMA clustering the kernel sees one LLC per node (match_llc()): split it")?;
                }
                Ok(())
            }
            Self::ClusterAcrossLlcs { cpu, cluster, other_llc, other_cluster } => write!(
                f,
                "CPU {cpu}: cluster {cluster} also has CPU {other_llc} of another llc, and the llc also has CPU \
                 {other_cluster} of another cluster; one must contain the other"
            ),
            Self::NoSuchNode { cpu, node, nodes } => {
                write!(f, "CPU {cpu}: node {node} is not in node_distance, which has {nodes} rows")
            }
            Self::NotSquare { node, len, nodes } => {
                write!(f, "node_distance[{node}] has {len} entries, but there are {nodes} rows")
            }
            Self::Distance { nodes: [a, b], distance } => {
                write!(f, "node_distance[{a}][{b}] = {distance}: the largest distance is 255")
            }
            Self::Diagonal { nodes: [a, b], distance } if a == b => {
                write!(f, "node_distance[{a}][{a}] = {distance}: a node's distance to itself is {LOCAL_DISTANCE}")
            }
            Self::Diagonal { nodes: [a, b], distance } => write!(
                f,
                "node_distance[{a}][{b}] = {distance}: another node is farther than the node itself ({LOCAL_DISTANCE})"
            ),
            Self::Asymmetric { nodes: [a, b], distances: [to, from] } => {
                write!(f, "node_distance[{a}][{b}] = {to} but node_distance[{b}][{a}] = {from}")
            }
        }
    }
}

impl std::error::Error for TopologyError {}

impl Topology {
    /// Checks that the description is one a machine can have.
    ///
    /// Kernels see contradictory tables too and repair or ignore them (`topology_sane()`, `topology_span_sane()`);
    /// the model refuses them.
    pub fn validate(&self) -> Result<(), TopologyError> {
        if self.cpus.is_empty() {
            return Err(TopologyError::Empty);
        }
        if self.cpus.len() > MAX_CPUS as usize {
            return Err(TopologyError::TooManyCpus { nr_cpus: self.cpus.len() });
        }
        for (cpu, c) in (0..).zip(&self.cpus) {
            if !(1..=1024).contains(&c.capacity) {
                return Err(TopologyError::Capacity { cpu, capacity: c.capacity });
            }
        }
        self.validate_distances()?;
        self.validate_nesting()?;
        self.validate_clusters()
    }

    fn validate_distances(&self) -> Result<(), TopologyError> {
        let nodes = self.node_distance.len();
        for (node, row) in self.node_distance.iter().enumerate() {
            if row.len() != nodes {
                return Err(TopologyError::NotSquare { node, len: row.len(), nodes });
            }
        }
        for (cpu, c) in (0..).zip(&self.cpus) {
            if c.node as usize >= nodes {
                return Err(TopologyError::NoSuchNode { cpu, node: c.node, nodes });
            }
        }
        for (a, row) in self.node_distance.iter().enumerate() {
            for (b, &distance) in row.iter().enumerate() {
                let back = self.node_distance[b][a];
                if distance > 255 {
                    return Err(TopologyError::Distance { nodes: [a, b], distance });
                }
                if (a == b && distance != LOCAL_DISTANCE) || (a != b && distance <= LOCAL_DISTANCE) {
                    return Err(TopologyError::Diagonal { nodes: [a, b], distance });
                }
                if distance != back {
                    return Err(TopologyError::Asymmetric { nodes: [a, b], distances: [distance, back] });
                }
            }
        }
        Ok(())
    }

    fn validate_nesting(&self) -> Result<(), TopologyError> {
        type Field = (&'static str, fn(&CpuTopology) -> Option<u32>);
        const CORE: Field = ("core", |c| Some(c.core));
        const CLUSTER: Field = ("cluster", |c| c.cluster);
        const LLC: Field = ("llc", |c| Some(c.llc));
        const DIE: Field = ("die", |c| Some(c.die));
        const PACKAGE: Field = ("package", |c| Some(c.package));
        const NODE: Field = ("node", |c| Some(c.node));
        // sd_init() warns about SMT siblings of different capacity: nothing in the scheduler is made for them.
        const CAPACITY: Field = ("capacity", |c| Some(c.capacity));
        const NESTED: [(Field, &[Field]); 4] = [
            (CORE, &[CLUSTER, LLC, DIE, PACKAGE, NODE, CAPACITY]),
            (CLUSTER, &[PACKAGE, NODE]),
            (LLC, &[PACKAGE, NODE]),
            (DIE, &[PACKAGE]),
        ];
        let show = |value: Option<u32>| value.map_or("none".to_string(), |value| value.to_string());
        for ((inner, inner_of), outers) in NESTED {
            let mut seen: HashMap<u32, Cpu> = HashMap::new();
            for (cpu, c) in (0..).zip(&self.cpus) {
                let Some(id) = inner_of(c) else { continue };
                let first = *seen.entry(id).or_insert(cpu);
                for (outer, outer_of) in outers {
                    let values = [outer_of(&self.cpus[first as usize]), outer_of(c)];
                    if values[0] != values[1] {
                        let values = values.map(show);
                        return Err(TopologyError::Split { inner, id, outer, cpus: [first, cpu], values });
                    }
                }
            }
        }
        Ok(())
    }

    fn validate_clusters(&self) -> Result<(), TopologyError> {
        let mut first_of_cluster: HashMap<u32, Cpu> = HashMap::new();
        let mut first_of_llc: HashMap<u32, Cpu> = HashMap::new();
        let mut other_llc: HashMap<u32, Cpu> = HashMap::new();
        let mut other_cluster: HashMap<u32, Cpu> = HashMap::new();
        for (cpu, c) in (0..).zip(&self.cpus) {
            let first = *first_of_llc.entry(c.llc).or_insert(cpu);
            if self.cpus[first as usize].cluster != c.cluster {
                other_cluster.entry(c.llc).or_insert(cpu);
            }
            let Some(cluster) = c.cluster else { continue };
            let first = *first_of_cluster.entry(cluster).or_insert(cpu);
            if self.cpus[first as usize].llc != c.llc {
                other_llc.entry(cluster).or_insert(cpu);
            }
        }
        for (cpu, c) in (0..).zip(&self.cpus) {
            if let Some(cluster) = c.cluster
                && let (Some(&a), Some(&b)) = (other_llc.get(&cluster), other_cluster.get(&c.llc))
            {
                // `a` and `b` differ from the first CPU of the cluster or LLC; seen from this CPU the odd one out may
                // be that first CPU.
                let a = if self.cpus[a as usize].llc == c.llc { first_of_cluster[&cluster] } else { a };
                let b = if self.cpus[b as usize].cluster == c.cluster { first_of_llc[&c.llc] } else { b };
                return Err(TopologyError::ClusterAcrossLlcs { cpu, cluster, other_llc: a, other_cluster: b });
            }
        }
        Ok(())
    }
}
