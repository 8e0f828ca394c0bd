//! `[[topology.cpu]]`: machines that are not the same everywhere.

use super::cpulist;
use super::table::{Table, number};
use super::topology::{DISTANCE, MAX_NODES};
use crate::MachineError;
use std::collections::BTreeMap;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{CpuTopology, LOCAL_DISTANCE, MAX_CPUS, Topology, TopologyError};

const KEYS: &[&str] = &["cpus", "core", "cluster", "llc", "die", "package", "node", "capacity"];

/// Numbers of cores, LLCs and the rest: there are no more of them than CPUs.
const ID: std::ops::RangeInclusive<u64> = 0..=MAX_CPUS as u64 - 1;

/// The shape.
pub(super) fn read(table: &Table<'_>) -> Result<Topology, MachineError> {
    let rows = table.tables("cpu")?;
    let mut cpus: BTreeMap<Cpu, (CpuTopology, usize)> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        for (cpu, of) in read_row(row)? {
            if let Some((_, before)) = cpus.insert(cpu, (of, index)) {
                let first = rows[before].error("").line.map_or_else(String::new, |line| format!(" (line {line})"));
                return Err(row.error(format!("CPU {cpu} has a row already{first}; expected each CPU once")));
            }
        }
    }
    let Some(nr_cpus) = cpus.last_key_value().map(|(last, _)| last + 1) else {
        return Err(table.missing("cpu", "rows `[[topology.cpu]]`; a machine has at least one CPU"));
    };
    if nr_cpus as usize > cpus.len() {
        let without = CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|cpu| !cpus.contains_key(cpu)));
        let what = format!("no row for CPUs {without}; expected one for each CPU from 0 to {}", nr_cpus - 1);
        return Err(table.error(what).with_hint("CPUs are numbered from 0 without gaps"));
    }
    let node_distance = distances(table)?;
    let topology = Topology { cpus: cpus.values().map(|&(cpu, _)| cpu).collect(), node_distance };
    topology.validate().map_err(|error| match (of_cpu(&error), of_node(&error)) {
        (Some(cpu), _) => cpus
            .get(&cpu)
            .map_or(table, |&(_, row)| &rows[row])
            .error(error)
            .with_hint("CPUs with one `core` (or `llc`, `die`...) in common share all that contains it"),
        (None, node) => distance_error(table, node, &error),
    })?;
    Ok(topology)
}

/// The CPUs of one row.
fn read_row(row: &Table<'_>) -> Result<Vec<(Cpu, CpuTopology)>, MachineError> {
    row.only(KEYS)?;
    let list = row.need_text("cpus", "a list of CPUs such as \"0-3,8\"")?;
    let cpus = cpulist::parse(list).map_err(|what| row.error(format!("cpus = \"{list}\": {what}")))?;
    let cores = cores(row, cpus.len())?;
    let id = |key: &str| row.need_number(key, &ID).map(|id| id as u32);
    let of = CpuTopology {
        core: 0,
        cluster: row.number("cluster", &ID)?.map(|id| id as u32),
        llc: id("llc")?,
        die: id("die")?,
        package: id("package")?,
        node: row.need_number("node", &(0..=MAX_NODES - 1))? as u32,
        capacity: row.number("capacity", &(1..=1024))?.unwrap_or(1024) as u32,
    };
    Ok(cpus.into_iter().zip(cores).map(|(cpu, core)| (cpu, CpuTopology { core, ..of })).collect())
}

/// The core of each CPU of a row: one number for all, which makes them SMT siblings, or a list.
fn cores(row: &Table<'_>, nr_cpus: usize) -> Result<Vec<u32>, MachineError> {
    let Some(value) = row.get("core") else {
        return Err(row.missing("core", "the number of the core, or a list with one for each CPU of the row"));
    };
    if !value.get_ref().is_array() {
        let core = number(row.source, &row.path("core"), value, &ID)?;
        return Ok(vec![core as u32; nr_cpus]);
    }
    let cores = row.numbers("core", &ID)?.unwrap_or_default();
    if cores.len() != nr_cpus {
        let what = format!("core has {} numbers; expected one for each of the row's {nr_cpus} CPUs", cores.len());
        return Err(row.error(what));
    }
    Ok(cores.into_iter().map(|core| core as u32).collect())
}

/// The rows of the distance table; one node needs none.
fn distances(table: &Table<'_>) -> Result<Vec<Vec<u32>>, MachineError> {
    let Some(value) = table.get("distances") else { return Ok(vec![vec![LOCAL_DISTANCE]]) };
    const EXPECTED: &str = "a list of rows such as [[10, 20], [20, 10]]";
    let rows = value.get_ref().as_array().ok_or_else(|| table.wrong("distances", value, EXPECTED))?;
    if rows.is_empty() || rows.len() as u64 > MAX_NODES {
        return Err(table.wrong("distances", value, &format!("{EXPECTED}, 1 to {MAX_NODES} of them")));
    }
    let limits = u64::from(LOCAL_DISTANCE)..=*DISTANCE.end();
    let mut distances = Vec::new();
    for row in rows.iter() {
        let items = row.get_ref().as_array().ok_or_else(|| table.wrong("distances", row, EXPECTED))?;
        let read = |item| number(table.source, &table.path("distances"), item, &limits).map(|distance| distance as u32);
        distances.push(items.iter().map(read).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(distances)
}

/// An error of the distance table, at the node's row.
fn distance_error(table: &Table<'_>, node: Option<usize>, error: &TopologyError) -> MachineError {
    let rows = table.get("distances").and_then(|value| value.get_ref().as_array());
    let row = rows.zip(node).and_then(|(rows, node)| rows.get(node));
    match row {
        Some(row) => table.source.error(Some(row.span().start), format!("`{}`: {error}", table.path("distances"))),
        None => table.error(error),
    }
    .with_hint("`distances` has a row for each node, and in it a number for each node, like the firmware's SLIT")
}

/// The CPU whose row is the place of an error.
fn of_cpu(error: &TopologyError) -> Option<Cpu> {
    match *error {
        TopologyError::Capacity { cpu, .. }
        | TopologyError::ClusterAcrossLlcs { cpu, .. }
        | TopologyError::NoSuchNode { cpu, .. }
        | TopologyError::Split { cpus: [_, cpu], .. } => Some(cpu),
        _ => None,
    }
}

/// The node whose row of distances is the place of an error.
fn of_node(error: &TopologyError) -> Option<usize> {
    match *error {
        TopologyError::NotSquare { node, .. } => Some(node),
        TopologyError::Distance { nodes: [node, _], .. }
        | TopologyError::Diagonal { nodes: [node, _], .. }
        | TopologyError::Asymmetric { nodes: [node, _], .. } => Some(node),
        _ => None,
    }
}
