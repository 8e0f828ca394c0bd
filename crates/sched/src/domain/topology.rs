//! The shape of a machine as the firmware describes it, and the shapes that are refused (`topology_sane()` in
//! `arch/x86/kernel/smpboot.c`, `topology_span_sane()` in `kernel/sched/topology.c`).
//!
//! ```text
//! CPU ⊆ core ⊆ cluster, LLC, die ⊆ package        core, LLC, cluster ⊆ node
//! ```

use crate::cpumask::Cpu;
use std::collections::HashMap;
use std::fmt;

/// The largest number of CPUs: `NR_CPUS` of the distributions' x86 kernels.
pub const MAX_CPUS: u32 = 8192;

/// `LOCAL_DISTANCE` (`include/linux/topology.h`): the distance of a node to itself.
pub const LOCAL_DISTANCE: u32 = 10;

/// `REMOTE_DISTANCE` (`include/linux/topology.h`): the distance between nodes if there is no table.
pub const REMOTE_DISTANCE: u32 = 20;

/// The place of one CPU in the machine. Every number is unique machine-wide: CPUs with the same `core` are SMT
/// siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTopology {
    /// The physical core.
    pub core: u32,
    /// The cluster: cores that share something below the LLC (an L2, an LLC tag). `None` if there are no clusters.
    pub cluster: Option<u32>,
    /// The last level cache.
    pub llc: u32,
    /// The die. No domain is built from it, but it is checked.
    pub die: u32,
    /// The package (socket).
    pub package: u32,
    /// The NUMA node: an index into [`Topology::node_distance`].
    pub node: u32,
    /// Capacity at the highest frequency (`arch_scale_cpu_capacity()`), 1 to 1024.
    pub capacity: u32,
}

/// The shape of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The place of each CPU, by CPU number.
    pub cpus: Vec<CpuTopology>,
    /// `node_distance(from, to)`: the rows of the SLIT, 10 (a node to itself) to 255. 7.2 averages the table of some
    /// SNC-3 machines first (`arch_sched_node_distance()`); for those, pass the averaged table.
    pub node_distance: Vec<Vec<u32>>,
}

/// How the CPUs of a uniform machine are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Siblings have consecutive numbers: 0 and 1, 2 and 3... (QEMU).
    Adjacent,
    /// The first CPU of every core, then the second of every core: siblings are 0 and n/2, 1 and n/2 + 1... (most
    /// servers).
    Split,
}

/// A machine whose packages, dies, LLCs and cores are all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// Number of packages.
    pub packages: u32,
    /// Dies per package.
    pub dies: u32,
    /// LLCs per die.
    pub llcs: u32,
    /// Cores per LLC.
    pub cores: u32,
    /// CPUs per core.
    pub threads: u32,
    /// Cores per cluster; `None` if there are no clusters. It can be more than `cores`: the cores of Ampere Altra share
    /// no LLC, but two of them form a cluster.
    pub cluster_cores: Option<u32>,
    /// Number of NUMA nodes. The cores are divided among them in order.
    pub nodes: u32,
    /// Distance between two nodes of the same package.
    pub near: u32,
    /// Distance between nodes of different packages.
    pub far: u32,
    /// How the CPUs are numbered.
    pub numbering: Numbering,
}

impl Uniform {
    /// Describes a machine of one package, die, LLC and node, with adjacent siblings.
    pub fn new(cores: u32, threads: u32) -> Self {
        Uniform {
            packages: 1,
            dies: 1,
            llcs: 1,
            cores,
            threads,
            cluster_cores: None,
            nodes: 1,
            near: 12,
            far: REMOTE_DISTANCE,
            numbering: Numbering::Adjacent,
        }
    }

    /// Returns the machine's shape. It is not checked: [`Topology::validate`] finds counts that contradict each other,
    /// such as nodes that split an LLC.
    pub fn topology(&self) -> Topology {
        let nr_cores = self.packages * self.dies * self.llcs * self.cores;
        let per_die = self.llcs * self.cores;
        let per_package = self.dies * per_die;
        let node_of = |core: u32| (u64::from(core) * u64::from(self.nodes) / u64::from(nr_cores)) as u32;
        let cpu = |core: u32| CpuTopology {
            core,
            cluster: self.cluster_cores.map(|cores| core / cores),
            llc: core / self.cores,
            die: core / per_die,
            package: core / per_package,
            node: node_of(core),
            capacity: 1024,
        };
        let nr_cpus = nr_cores * self.threads;
        let cpus = match self.numbering {
            Numbering::Adjacent => (0..nr_cpus).map(|n| cpu(n / self.threads)).collect(),
            Numbering::Split => (0..nr_cpus).map(|n| cpu(n % nr_cores)).collect(),
        };
        let package_of = |node: u32| u64::from(node) * u64::from(self.packages) / u64::from(self.nodes);
        let distance = |from, to| match (from == to, package_of(from) == package_of(to)) {
            (true, _) => LOCAL_DISTANCE,
            (false, true) => self.near,
            (false, false) => self.far,
        };
        let row = |from| (0..self.nodes).map(|to| distance(from, to)).collect();
        Topology { cpus, node_distance: (0..self.nodes).map(row).collect() }
    }
}

impl Topology {
    /// Returns the number of CPUs.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }
    /// Describes a machine with one LLC, one node and no SMT whose CPUs have these capacities, as phones have.
    pub fn one_llc(capacities: &[u32]) -> Self {
        let cpu = |(core, &capacity): (usize, &u32)| CpuTopology {
            core: core as u32,
            cluster: None,
            llc: 0,
            die: 0,
            package: 0,
            node: 0,
            capacity,
        };
        Topology { cpus: capacities.iter().enumerate().map(cpu).collect(), node_distance: vec![vec![LOCAL_DISTANCE]] }
    }
}

/// Why a [`Topology`] is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyError {
    /// There is no CPU.
    Empty,
    /// There are more CPUs than [`MAX_CPUS`].
    TooManyCpus {
        /// The number of CPUs.
        nr_cpus: usize,
    },
    /// A capacity is not in 1 to 1024.
    Capacity {
        /// The CPU.
        cpu: Cpu,
        /// Its capacity.
        capacity: u32,
    },
    /// Two CPUs share something but not another thing that contains it, such as a core but not an LLC.
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
    /// A cluster and an LLC overlap, but neither contains the other.
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
        /// The number of rows.
        nodes: usize,
    },
    /// A row of the distance matrix has the wrong length.
    NotSquare {
        /// The row.
        node: usize,
        /// Its length.
        len: usize,
        /// The number of rows.
        nodes: usize,
    },
    /// A distance is above 255.
    Distance {
        /// The two nodes, from and to.
        nodes: [usize; 2],
        /// The distance.
        distance: u32,
    },
    /// A node's distance to itself is not 10 (`LOCAL_DISTANCE`), or the distance to another node is 10 or less.
    Diagonal {
        /// The two nodes, from and to; equal if a node's distance to itself is wrong.
        nodes: [usize; 2],
        /// The distance.
        distance: u32,
    },
    /// A distance differs by direction.
    Asymmetric {
        /// The two nodes.
        nodes: [usize; 2],
        /// The distances in both directions.
        distances: [u32; 2],
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the machine has no CPU: `cpus` is empty"),
            Self::TooManyCpus { nr_cpus } => write!(f, "{nr_cpus} CPUs: at most {MAX_CPUS} are supported"),
            Self::Capacity { cpu, capacity } => write!(f, "CPU {cpu}: the capacity is {capacity}; expected 1 to 1024"),
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
                "node_distance[{a}][{b}] = {distance}: another node must be farther than the node itself \
                 ({LOCAL_DISTANCE})"
            ),
            Self::Asymmetric { nodes: [a, b], distances: [to, from] } => {
                write!(f, "node_distance[{a}][{b}] = {to} but node_distance[{b}][{a}] = {from}")
            }
        }
    }
}

impl std::error::Error for TopologyError {}

impl Topology {
    /// Checks that a machine can have this shape.
    ///
    /// Kernels meet contradictory tables too and repair or ignore them (`topology_sane()`, `topology_span_sane()`). The
    /// model refuses them.
    ///
    /// # Errors
    /// If two parts of the description contradict each other.
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
        // sd_init() warns about SMT siblings of different capacity: no part of the scheduler is written for them.
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
