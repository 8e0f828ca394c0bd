//! The topology of the machine, which scx_utils reads, in the form that the program takes.

use anyhow::{Result, bail};
use scx_utils::Topology;
use wakelab_sched::domain::{CpuTopology, Topology as DomainTopology};
use wakelab_scx_decisions::wire::MAX_CPUS;

/// As in src/bpf/intf.h.
const MAX_SMT: usize = 8;
/// `node_reclaim_distance`: domains of more distant nodes have no SD_WAKE_AFFINE.
const RECLAIM_DISTANCE: usize = 30;
/// `imbalance_pct` of domains of a core, and of all others, since 5.10.
const PCT: (u32, u32) = (110, 117);

/// A CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: usize,
    /// Index of its LLC.
    pub llc: usize,
    /// Its index in the ascending list of the CPUs of its LLC.
    pub llc_pos: usize,
    /// 1024 is the largest.
    pub capacity: u32,
    /// The CPUs of its core, with itself.
    pub smt: Vec<usize>,
    /// The numbers of its core, LLC, node and package, and 0 for the machine.
    pub levels: [u32; 5],
}

/// A level of domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Per cent.
    pub imbalance_pct: u32,
    /// Whether it has SD_WAKE_AFFINE.
    pub affine: bool,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// One more than the highest number of a CPU.
    pub nr_cpus: usize,
    /// The CPUs that are online.
    pub cpus: Vec<Cpu>,
    /// The CPUs of each LLC, ascending.
    pub llcs: Vec<Vec<usize>>,
    /// The levels of domains, from the lowest.
    pub levels: [Level; 5],
    /// Whether any core has several CPUs.
    pub smt: bool,
    /// Whether CPUs differ in capacity.
    pub asym: bool,
    /// The distances between nodes.
    pub node_distance: Vec<Vec<usize>>,
}

impl Machine {
    /// Reads the topology from sysfs.
    ///
    /// # Errors
    /// Fails if it cannot be read, or the machine is larger than the program allows.
    pub fn read() -> Result<Self> {
        let topology = Topology::new()?;
        let nr_cpus = *scx_utils::NR_CPU_IDS;
        if nr_cpus > MAX_CPUS {
            bail!("expected at most {MAX_CPUS} CPUs, found {nr_cpus}");
        }
        let llcs: Vec<Vec<usize>> =
            topology.all_llcs.values().map(|llc| llc.all_cpus.keys().copied().collect()).collect();
        let llc_index = |cpu: usize| llcs.iter().position(|llc| llc.contains(&cpu)).unwrap_or(0);
        let largest = topology.all_cpus.values().map(|cpu| cpu.cpu_capacity).max().unwrap_or(1024).max(1);
        let mut cpus = Vec::new();
        for cpu in topology.all_cpus.values() {
            let core = &topology.all_cores[&cpu.core_id];
            let smt: Vec<usize> = core.cpus.keys().copied().collect();
            if smt.len() > MAX_SMT {
                bail!("expected at most {MAX_SMT} CPUs in a core, found {}", smt.len());
            }
            let llc = llc_index(cpu.id);
            cpus.push(Cpu {
                id: cpu.id,
                llc,
                llc_pos: llcs[llc].iter().position(|&id| id == cpu.id).unwrap_or(0),
                // The kernel's own capacity only. scx_utils also derives one from frequencies, which differ on servers.
                capacity: cpu
                    .kernel_cpu_capacity
                    .map_or(1024, |capacity| (capacity * 1024 / largest) as u32)
                    .clamp(1, 1024),
                smt,
                levels: [cpu.core_id as u32, llc as u32, cpu.node_id as u32, cpu.package_id as u32, 0],
            });
        }
        let farthest = topology.nodes.values().flat_map(|node| node.distance.iter().copied()).max().unwrap_or(10);
        let level = |imbalance_pct, affine| Level { imbalance_pct, affine };
        let (near, far) = (level(PCT.1, true), level(PCT.1, farthest <= RECLAIM_DISTANCE));
        Ok(Machine {
            nr_cpus,
            smt: cpus.iter().any(|cpu| cpu.smt.len() > 1),
            asym: cpus.iter().any(|cpu| cpu.capacity != cpus[0].capacity),
            levels: [level(PCT.0, true), near, near, near, far],
            node_distance: topology.nodes.values().map(|node| node.distance.clone()).collect(),
            cpus,
            llcs,
        })
    }

    /// The topology of which domains are built.
    ///
    /// # Errors
    /// Fails if CPUs are missing, which a recording cannot describe.
    pub fn topology(&self) -> Result<DomainTopology> {
        if self.cpus.len() != self.nr_cpus || self.cpus.iter().enumerate().any(|(at, cpu)| cpu.id != at) {
            bail!("recordings need all CPUs online and numbered without gaps");
        }
        let cpu = |cpu: &Cpu| CpuTopology {
            core: cpu.levels[0],
            cluster: None,
            llc: cpu.levels[1],
            die: cpu.levels[3],
            package: cpu.levels[3],
            node: cpu.levels[2],
            capacity: cpu.capacity,
        };
        let row = |row: &Vec<usize>| row.iter().map(|&distance| distance as u32).collect();
        Ok(DomainTopology {
            cpus: self.cpus.iter().map(cpu).collect(),
            node_distance: self.node_distance.iter().map(row).collect(),
        })
    }

    /// `imbalance_pct` of the domain that spans the LLC.
    pub fn llc_pct(&self, llc: usize) -> u32 {
        let first = self.llcs[llc].first().and_then(|&id| self.cpus.iter().find(|cpu| cpu.id == id));
        if first.is_some_and(|cpu| cpu.smt.len() == self.llcs[llc].len()) { PCT.0 } else { PCT.1 }
    }

    /// The interval at which nr_idle_scan is computed, ns: that of the balancing of an idle LLC, 1 ms per CPU of the
    /// largest one.
    pub fn scan_interval_ns(&self) -> u64 {
        self.llcs.iter().map(Vec::len).max().unwrap_or(1).max(4) as u64 * 1_000_000
    }

    /// `sysctl_sched_base_slice` of 7.2 on this machine, ns: 0.7 ms times 1 + log2 of the CPUs, of which at most 8
    /// count.
    pub fn base_slice_ns(&self) -> u64 {
        700_000 * u64::from(1 + self.cpus.len().clamp(1, 8).ilog2())
    }
}
