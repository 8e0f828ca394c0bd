//! Writing a machine file.

use crate::limits::key;
use crate::{Machine, MachineFile, Origin};
use std::fmt::Write;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{Arch, CpuTopology, Numbering, Topology, Uniform};

impl Machine {
    /// The machine as a file that [`Machine::from_toml`] reads back to an equal machine. All costs are written out.
    /// Where the topology was taken from is not known here; [`MachineFile::to_toml`] knows it.
    pub fn to_toml(&self) -> String {
        to_toml(self, None)
    }
}

impl MachineFile {
    /// The machine as a file that [`MachineFile::from_toml`] reads back to an equal one. All costs are written out.
    pub fn to_toml(&self) -> String {
        to_toml(&self.machine, self.topology_origin.as_ref())
    }
}

// Writing to a string does not fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{ let _ = writeln!($text, $($arg)*); }};
}

fn to_toml(machine: &Machine, topology_origin: Option<&Origin>) -> String {
    let mut text = String::new();
    line!(text, "name = {}", quoted(&machine.name));
    line!(text, "description = {}", quoted(&machine.description));
    line!(text, "\n[topology]");
    if let Some(ids) = &machine.cpu_ids {
        let room = ids.last().map_or(0, |last| last + 1);
        line!(text, "cpu_ids = \"{}\"", CpuMask::from_cpus(room, ids.iter().copied()));
    }
    if machine.arch == Arch::Arm64 {
        line!(text, "arch = \"arm64\"");
    }
    if let Some(distance) = machine.reclaim_distance {
        line!(text, "reclaim_distance = {distance}");
    }
    if let Some(from) = topology_origin {
        line!(text, "{}", origin(from));
    }
    match machine.uniform() {
        Some(uniform) => write_uniform(&mut text, machine, &uniform),
        None => write_explicit(&mut text, &machine.topology),
    }
    for cache in &machine.caches {
        line!(text, "\n[[cache]]\nname = {}", quoted(&cache.name));
        line!(text, "size_kib = {}\nshared_by = {}", cache.size_kib, cache.shared_by);
        if let Some(cpus) = &cache.cpus {
            line!(text, "cpus = \"{cpus}\"");
        }
        line!(text, "{}", origin(&cache.origin));
    }
    crate::write_power::write(&mut text, machine);
    for (name, unit, _, cost) in machine.costs.list() {
        line!(text, "\n[costs.{name}]\n{} = {}\nrange = [{}, {}]", key(unit), cost.value, cost.low, cost.high);
        line!(text, "{}", origin(&cost.origin));
    }
    let (noise, noise_origin) = (&machine.noise, &machine.noise_origin);
    line!(text, "\n[noise]\nkworker_period_ns = {}", noise.kworker_period_ns);
    line!(text, "kworker_period_range = {:?}", noise_origin.period_range);
    line!(text, "kworker_run_ns = {}", noise.kworker_run_ns);
    line!(text, "kworker_run_range = {:?}\n{}", noise_origin.run_range, origin(&noise_origin.origin));
    text
}

fn write_uniform(text: &mut String, machine: &Machine, uniform: &Uniform) {
    let Uniform { packages, dies, llcs, cores, threads, cluster_cores, nodes, near, far, numbering } = *uniform;
    line!(text, "packages = {packages}\ndies = {dies}\nllcs = {llcs}\ncores = {cores}");
    line!(text, "threads = {threads}");
    if let Some(cores) = cluster_cores {
        line!(text, "cluster_cores = {cores}");
    }
    line!(text, "nodes = {nodes}\nnear = {near}\nfar = {far}");
    let numbering = match numbering {
        Numbering::Adjacent => "adjacent",
        Numbering::Split => "split",
    };
    line!(text, "numbering = \"{numbering}\"");
    if !machine.all_of_full_capacity() {
        line!(text, "capacities = {:?}", machine.topology.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>());
    }
}

/// One row for all CPUs that differ in nothing but the core.
fn write_explicit(text: &mut String, topology: &Topology) {
    line!(text, "distances = {:?}", topology.node_distance);
    let mut rows: Vec<(CpuTopology, Vec<Cpu>)> = Vec::new();
    for (cpu, of) in (0..).zip(&topology.cpus) {
        let key = CpuTopology { core: 0, ..*of };
        match rows.iter_mut().find(|(row, _)| *row == key) {
            Some((_, cpus)) => cpus.push(cpu),
            None => rows.push((key, vec![cpu])),
        }
    }
    for (row, cpus) in rows {
        let list = CpuMask::from_cpus(topology.nr_cpus(), cpus.iter().copied());
        let cores: Vec<_> = cpus.iter().map(|&cpu| topology.cpus[cpu as usize].core).collect();
        line!(text, "\n[[topology.cpu]]\ncpus = \"{list}\"\ncore = {cores:?}");
        if let Some(cluster) = row.cluster {
            line!(text, "cluster = {cluster}");
        }
        line!(text, "llc = {}\ndie = {}\npackage = {}\nnode = {}", row.llc, row.die, row.package, row.node);
        line!(text, "capacity = {}", row.capacity);
    }
}

pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Source(text) => format!("source = {}", quoted(text)),
        Origin::Assumed(text) => format!("assumed = {}", quoted(text)),
    }
}

/// A text as TOML.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
