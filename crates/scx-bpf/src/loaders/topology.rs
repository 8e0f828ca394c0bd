//! The machine as loaders in Rust see it: `Topology` of scx_utils (`src/topology.rs`, 1.1.4).

use std::collections::BTreeMap;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::Topology;

/// `CoreType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreType {
    Big { turbo: bool },
    Little,
}

/// `Cpu`, as far as loaders read it.
#[derive(Clone, Copy, Debug)]
pub struct ScxCpu {
    /// `cpu_capacity`, 1024 for the fastest.
    pub capacity: u32,
    pub core_type: CoreType,
    /// How many CPUs its core has.
    pub smt_level: usize,
    pub core: u32,
    pub llc: u32,
    pub node: u32,
}

/// `Llc`, with the CPUs of its cores.
#[derive(Clone, Debug, Default)]
pub struct ScxLlc {
    pub cores: BTreeMap<u32, Vec<Cpu>>,
}

impl ScxLlc {
    /// Its CPUs, by core.
    pub fn cpus(&self) -> impl Iterator<Item = Cpu> {
        self.cores.values().flatten().copied()
    }
}

/// `Topology`: nodes, their LLCs, their cores, by id.
#[derive(Clone, Debug, Default)]
pub struct ScxTopology {
    pub nodes: BTreeMap<u32, BTreeMap<u32, ScxLlc>>,
    /// By CPU.
    pub cpus: Vec<ScxCpu>,
    pub smt_enabled: bool,
}

impl ScxTopology {
    /// Returns the topology that scx_utils reads from sysfs. Capacities are those of `cpu_capacity`; without that file
    /// they would be those of the highest frequencies, which are in the same proportion.
    pub fn new(topology: &Topology) -> Self {
        let all = || topology.cpus.iter().map(|cpu| cpu.capacity);
        let (max, min) = (all().max().unwrap_or(1024).max(1), all().min().unwrap_or(1024));
        let average = all().sum::<u32>() / (topology.cpus.len() as u32).max(1);
        // get_capacity_source(): big and little cores differ by a factor of 1.3.
        let has_biglittle = max as f32 >= 1.3 * min as f32;
        let core_type = |capacity: u32| match capacity {
            _ if average < max && capacity == max => CoreType::Big { turbo: true },
            _ if !has_biglittle || capacity >= average => CoreType::Big { turbo: false },
            _ => CoreType::Little,
        };
        let mut found = ScxTopology::default();
        // glob() sorts node10 before node2. LLCs and cores get their numbers as CPUs of new ones come up.
        let mut nodes: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.sort_by_key(u32::to_string);
        let (mut llcs, mut cores) = (BTreeMap::new(), BTreeMap::new());
        let mut by_cpu: BTreeMap<Cpu, ScxCpu> = BTreeMap::new();
        for node in nodes {
            for (cpu, of) in (0..).zip(&topology.cpus).filter(|(_, of)| of.node == node) {
                let next = llcs.len() as u32;
                let llc = *llcs.entry((node, of.package, of.llc)).or_insert(next);
                let next = cores.len() as u32;
                let core = *cores.entry((node, of.package, of.core)).or_insert(next);
                let cpus = found.nodes.entry(node).or_default().entry(llc).or_default().cores.entry(core).or_default();
                cpus.push(cpu);
                let capacity = of.capacity * 1024 / max;
                let core_type = core_type(of.capacity);
                by_cpu.insert(cpu, ScxCpu { capacity, core_type, smt_level: 0, core, llc, node });
            }
        }
        for cpus in found.nodes.values().flat_map(|llcs| llcs.values().flat_map(|llc| llc.cores.values())) {
            found.smt_enabled |= cpus.len() > 1;
            for cpu in cpus {
                by_cpu.get_mut(cpu).expect("it was inserted with its core").smt_level = cpus.len();
            }
        }
        found.cpus = by_cpu.into_values().collect();
        found
    }

    /// All LLCs, by id.
    pub fn llcs(&self) -> BTreeMap<u32, &ScxLlc> {
        self.nodes.values().flatten().map(|(&id, llc)| (id, llc)).collect()
    }

    /// All cores, by id.
    pub fn cores(&self) -> BTreeMap<u32, &[Cpu]> {
        let llcs = self.nodes.values().flat_map(BTreeMap::values);
        llcs.flat_map(|llc| &llc.cores).map(|(&id, cpus)| (id, &cpus[..])).collect()
    }

    /// `has_little_cores()`.
    pub fn has_little_cores(&self) -> bool {
        self.cpus.iter().any(|cpu| cpu.core_type == CoreType::Little)
    }
}
