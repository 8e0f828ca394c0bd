//! Machines: the list, and one of them with what things cost on it.

mod json;
mod power;

pub use json::{json, list_json};

use crate::numbers::{count, duration, thousands};
use crate::table::{table, with_text_at_end};
use std::fmt::Write;
use wakelab_machine::{Calibration, Cost, Counts, CpuGroup, Machine, MachineFile, Origin, Unit};
use wakelab_sched::domain::Arch;

/// All machines, a line each.
pub fn list_text(machines: &[Machine]) -> String {
    let mut list = table(&["machine", "CPUs", "packages", "LLCs", "cores", "threads", "nodes", "what it is"], 1);
    for machine in machines {
        let counts = machine.counts();
        let [cpus, packages, llcs] = [counts.cpus, counts.packages, counts.llcs].map(|n| n.to_string());
        let [cores, nodes] = [counts.cores, counts.nodes].map(|n| n.to_string());
        let (name, threads, description) = (machine.name.clone(), threads(&counts), machine.description.clone());
        list.add_row([name, cpus, packages, llcs, cores, threads, nodes, description]);
    }
    with_text_at_end(list)
        + "\n`wakelab machine show NAME` shows what things cost; NAME may also be the path of a .toml file.\n"
}

/// CPUs of a core: `2`, or `1-2` where cores differ.
fn threads(counts: &Counts) -> String {
    match (counts.threads_min, counts.threads_max) {
        (min, max) if min == max => min.to_string(),
        (min, max) => format!("{min}-{max}"),
    }
}

/// One machine.
pub fn show_text(file: &MachineFile) -> String {
    let machine = &file.machine;
    let mut text = format!("{}\n\n{}\n\n", machine.name, machine.description);
    text += &tree(machine);
    if !machine.caches.is_empty() {
        let mut caches = table(&["cache", "KiB", "CPUs", "from"], 1);
        for cache in &machine.caches {
            let (name, size) = (cache.name.clone(), thousands(cache.size_kib));
            caches.add_row([name, size, cache.shared_by.to_string(), from(&cache.origin)]);
        }
        let _ = write!(text, "\nCaches\n\n{}", with_text_at_end(caches));
    }
    text += &power::text(machine);

    text += &costs("Costs", &machine.costs.list());
    text += &costs("Costs of a sched_ext scheduler", &machine.scx_costs.list());
    text += &noise(file);
    if let Some(ensemble) = &file.machine.ensemble {
        let sets = count(ensemble.sets.len() as u64, "set");
        let _ = write!(text, "\nEnsemble: {sets} of constants that fit {}\n", ensemble.fitted);
    }
    if let Some(Calibration { date, kernel, preset, noise, .. }) = &file.calibration {
        let _ = write!(text, "\nMeasured {date} on {kernel}, simulated as {preset}; {noise}\n");
    }
    text
}

fn costs(title: &str, all: &[(&'static str, Unit, &'static str, &Cost)]) -> String {
    let mut costs = table(&["cost", "value", "range", "from"], 1);
    for (name, unit, _, cost) in all {
        let value = format!("{} {}", thousands(cost.value), unit.suffix());
        costs.add_row([(*name).to_owned(), value, range([cost.low, cost.high]), from(&cost.origin)]);
    }
    let assumed = all.iter().filter(|(.., cost)| matches!(cost.origin, Origin::Assumed(_))).count();
    format!("\n{title}\n\n{}\n{assumed} of {} costs are assumed.\n", with_text_at_end(costs), all.len())
}

fn noise(file: &MachineFile) -> String {
    let (noise, origin) = (&file.machine.noise, &file.machine.noise_origin);
    let from = from(&origin.origin);
    if noise.kworker_period_ns == 0 {
        return format!("\nBackground work: none ({from})\n");
    }
    let (period, run) = (duration(noise.kworker_period_ns), duration(noise.kworker_run_ns));
    let [period_low, period_high] = origin.period_range.map(duration);
    let [run_low, run_high] = origin.run_range.map(duration);
    format!(
        "\nBackground work: a kworker on each CPU wakes up about every {period} ({period_low} to {period_high}) and \
         runs for {run} ({run_low} to {run_high})\n  {from}\n"
    )
}

fn range([low, high]: [u64; 2]) -> String {
    format!("{}..{}", thousands(low), thousands(high))
}

fn from(origin: &Origin) -> String {
    match origin {
        Origin::Source(text) => text.clone(),
        Origin::Measured(text) => format!("measured {text}"),
        Origin::Assumed(text) => format!("assumed: {text}"),
    }
}

/// More LLCs of a package than this are counted, not listed.
const LISTED: usize = 16;

/// What there is, and below it a line for each LLC, by package.
fn tree(machine: &Machine) -> String {
    let counts = machine.counts();
    let mut things =
        vec![(counts.cpus, "CPU"), (counts.cores, "core"), (counts.clusters, "cluster"), (counts.llcs, "LLC")];
    things.extend([(counts.dies, "die"), (counts.packages, "package"), (counts.nodes, "NUMA node")]);
    // Most packages are one die, and most machines have no clusters.
    things.retain(|&(n, thing)| n > 0 && (thing != "die" || n != counts.packages));
    let things: Vec<String> = things.into_iter().map(|(n, thing)| count(n as u64, thing)).collect();
    let mut text = things.join(", ") + "\n";

    let parts = machine.cpu_groups();
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
    if machine.split_llc {
        let _ = writeln!(text, "the LLCs of a package are parts of one: costs between them are those within it");
    }
    if machine.arch == Arch::Arm64 {
        let _ = writeln!(text, "domains as arm64 kernels build them");
    }
    text
}

fn line(part: &CpuGroup) -> String {
    let CpuGroup { die, llc, node, capacity, cpus, cores, clusters, .. } = part;
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
fn summary(parts: &[CpuGroup]) -> String {
    let cores: usize = parts.iter().map(|part| part.cores).sum();
    let mut cpus = parts[0].cpus.clone();
    parts.iter().flat_map(|part| part.cpus.iter()).for_each(|cpu| {
        cpus.set(cpu);
    });
    format!("LLCs {} to {}: {cores} cores, CPUs {cpus}", parts[0].llc, parts[parts.len() - 1].llc)
}
