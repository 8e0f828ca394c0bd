//! The shape of a machine, as the firmware describes it.

/// Most CPUs of one machine: `NR_CPUS` of the distributions' x86 kernels.
pub const MAX_CPUS: u32 = 8192;

/// `LOCAL_DISTANCE` (`include/linux/topology.h`): the distance of a node to itself.
pub const LOCAL_DISTANCE: u32 = 10;

/// `REMOTE_DISTANCE` (`include/linux/topology.h`): what is assumed between nodes without a table.
pub const REMOTE_DISTANCE: u32 = 20;

/// Where one CPU sits. Every number is unique on the whole machine: CPUs with the same `core` are SMT siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTopology {
    /// The physical core.
    pub core: u32,
    /// Cores with something in common below the LLC (an L2, an LLC tag); `None` where there are no clusters.
    pub cluster: Option<u32>,
    /// The last level cache.
    pub llc: u32,
    /// The die. No domain is made of it; it is checked.
    pub die: u32,
    /// The package (socket).
    pub package: u32,
    /// The NUMA node: an index into [`Topology::node_distance`].
    pub node: u32,
    /// `arch_scale_cpu_capacity()`: 1 to 1024.
    pub capacity: u32,
}

/// The shape of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// By CPU.
    pub cpus: Vec<CpuTopology>,
    /// `node_distance(from, to)`: the rows of the SLIT, 10 (a node to itself) to 255. 7.2 averages the table of some
    /// SNC-3 machines first (`arch_sched_node_distance()`): give the averaged one for those.
    pub node_distance: Vec<Vec<u32>>,
}

/// Which CPUs of a uniform machine are SMT siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// A core's CPUs have consecutive numbers: 0 and 1, 2 and 3... (QEMU).
    Adjacent,
    /// First one CPU of every core, then the next of every core: 0 and n/2... (most servers).
    Split,
}

/// A machine that is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// Packages of the machine.
    pub packages: u32,
    /// Dies of a package.
    pub dies: u32,
    /// LLCs of a die.
    pub llcs: u32,
    /// Cores of an LLC.
    pub cores: u32,
    /// CPUs of a core.
    pub threads: u32,
    /// Cores of a cluster, if there are clusters. It may be more than `cores`: Ampere Altra's cores have no LLC in
    /// common, but pairs of them are a cluster.
    pub cluster_cores: Option<u32>,
    /// NUMA nodes of the machine; the cores are dealt out to them in order.
    pub nodes: u32,
    /// Distance between two nodes of one package.
    pub near: u32,
    /// Distance between nodes of different packages.
    pub far: u32,
    /// Numbering of the CPUs.
    pub numbering: Numbering,
}

impl Uniform {
    /// One package, die, LLC and node, with adjacent siblings.
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

    /// The machine's shape. Counts that do not fit together (nodes that cut through an LLC) are found by
    /// [`Topology::validate`].
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
    /// How many CPUs there are.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// A machine with one LLC, one node and no SMT whose CPUs have these capacities, as phones have.
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
