//! The shape of a machine, drawn.

use crate::numbers::count;
use std::fmt::Write;
use wakelab_machine::{Machine, Part};
use wakelab_sched::domain::Arch;

/// More LLCs of a package than this are counted, not listed.
const LISTED: usize = 16;

/// What there is, and below it a line for each LLC, by package.
pub(super) fn tree(machine: &Machine) -> String {
    let counts = machine.counts();
    let mut things =
        vec![(counts.cpus, "CPU"), (counts.cores, "core"), (counts.clusters, "cluster"), (counts.llcs, "LLC")];
    things.extend([(counts.dies, "die"), (counts.packages, "package"), (counts.nodes, "NUMA node")]);
    // Most packages are one die, and most machines have no clusters.
    things.retain(|&(n, thing)| n > 0 && (thing != "die" || n != counts.packages));
    let things: Vec<String> = things.into_iter().map(|(n, thing)| count(n as u64, thing)).collect();
    let mut text = things.join(", ") + "\n";

    let parts = machine.parts();
    for package in parts.chunk_by(|a, b| a.package == b.package) {
        let _ = writeln!(text, "package {}", package[0].package);
        let lines = if package.len() > LISTED { vec![summary(package)] } else { package.iter().map(line).collect() };
        for (i, line) in lines.iter().enumerate() {
            let branch = if i + 1 == lines.len() { "└─" } else { "├─" };
            let _ = writeln!(text, "{branch} {line}");
        }
    }
    let core = machine.topology.cpus.first().map(|cpu| cpu.core);
    let siblings = (0..).zip(&machine.topology.cpus).filter(|(_, cpu)| Some(cpu.core) == core);
    let siblings: Vec<String> = siblings.map(|(cpu, _): (u32, _)| cpu.to_string()).collect();
    if siblings.len() > 1 {
        let _ = writeln!(text, "SMT siblings of CPU 0: {}", siblings[1..].join(", "));
    }
    if counts.nodes > 1 {
        let _ = writeln!(text, "distances of the nodes:");
        for row in &machine.topology.node_distance {
            let _ = writeln!(text, "{}", row.iter().map(|distance| format!("{distance:>5}")).collect::<String>());
        }
    }
    if let Some(distance) = machine.reclaim_distance {
        let _ = writeln!(text, "wake-ups and forks are placed across nodes up to distance {distance}");
    }
    if machine.arch == Arch::Arm64 {
        let _ = writeln!(text, "domains as arm64 kernels build them");
    }
    text
}

fn line(part: &Part) -> String {
    let Part { die, llc, node, capacity, cpus, cores, clusters, .. } = part;
    let mut line = format!("die {die}, LLC {llc}, node {node}: {}", count(*cores as u64, "core"));
    if *clusters > 0 {
        let _ = write!(line, " in {}", count(*clusters as u64, "cluster"));
    }
    if *capacity != 1024 {
        let _ = write!(line, " of capacity {capacity}");
    }
    line + &format!(", CPUs {cpus}")
}

/// Several LLCs in one line.
fn summary(parts: &[Part]) -> String {
    let cores: usize = parts.iter().map(|part| part.cores).sum();
    let mut cpus = parts[0].cpus.clone();
    parts.iter().flat_map(|part| part.cpus.iter()).for_each(|cpu| {
        cpus.set(cpu);
    });
    format!("LLCs {} to {}: {cores} cores, CPUs {cpus}", parts[0].llc, parts[parts.len() - 1].llc)
}
