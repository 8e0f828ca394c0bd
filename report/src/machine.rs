//! Machines: the list, and one of them with what things cost on it.

mod json;
mod power;
mod power_json;
mod tree;

pub use json::{json, list_json};

use crate::numbers::{duration, thousands};
use crate::table::{table, text as table_text};
use comfy_table::{CellAlignment, Table};
use std::fmt::Write;
use wakelab_machine::{Counts, Machine, MachineFile, Origin};

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
    text += &tree::tree(machine);
    if !machine.caches.is_empty() {
        let mut caches = table(&["cache", "KiB", "CPUs", "from"], 1);
        for cache in &machine.caches {
            let (name, size) = (cache.name.clone(), thousands(cache.size_kib));
            caches.add_row([name, size, cache.shared_by.to_string(), from(&cache.origin)]);
        }
        let _ = write!(text, "\nCaches\n\n{}", with_text_at_end(caches));
    }
    text += &power::text(machine);

    let all = machine.costs.list();
    let mut costs = table(&["cost", "value", "range", "from"], 1);
    for (name, unit, _, cost) in &all {
        let value = format!("{} {}", thousands(cost.value), unit.suffix());
        costs.add_row([(*name).to_owned(), value, range([cost.low, cost.high]), from(&cost.origin)]);
    }
    let assumed = all.iter().filter(|(.., cost)| matches!(cost.origin, Origin::Assumed(_))).count();
    let _ = write!(text, "\nCosts\n\n{}\n{assumed} of {} costs are assumed.\n", with_text_at_end(costs), all.len());
    text + &noise(file)
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
        "\nBackground work: a kworker of each CPU wakes up about every {period} ({period_low} to {period_high}) and runs \
         for {run} ({run_low} to {run_high})\n  {from}\n"
    )
}

fn range([low, high]: [u64; 2]) -> String {
    format!("{}..{}", thousands(low), thousands(high))
}

fn from(origin: &Origin) -> String {
    match origin {
        Origin::Source(text) => text.clone(),
        Origin::Assumed(text) => format!("assumed: {text}"),
    }
}

/// A table whose columns between the first and the last are numbers.
fn with_text_at_end(mut table: Table) -> String {
    let last = table.column_count() - 1;
    if let Some(column) = table.column_mut(last) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table_text(&table)
}
