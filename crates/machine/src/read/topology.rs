//! `[topology]`: counts of a uniform machine, or rows of CPUs.

use super::value::origin;
use crate::{Counts, Origin};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table, parse_cpulist};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{Arch, CpuTopology, LOCAL_DISTANCE, MAX_CPUS, Numbering, Topology, TopologyError, Uniform};

/// The keys of a uniform machine.
const UNIFORM: &[&str] = &[
    "packages",
    "dies",
    "llcs",
    "cores",
    "threads",
    "cluster_cores",
    "nodes",
    "near",
    "far",
    "numbering",
    "capacities",
];

/// The keys of a machine that is described CPU by CPU.
const ROWS: &[&str] = &["cpu"];

/// The keys of both.
const COMMON: &[&str] = &["arch", "split_llc", "reclaim_distance", "distances", "cpu_ids", "source", "assumed"];

/// The most NUMA nodes: `MAX_NUMNODES` if `CONFIG_NODES_SHIFT` is 10, as in the distributions' x86 kernels.
const MAX_NODES: u64 = 1024;

/// Counts of things that have CPUs.
pub(super) const COUNT: RangeInclusive<u64> = 1..=MAX_CPUS as u64;

/// Numbers of cores, LLCs and the rest: there are no more of them than CPUs.
const ID: RangeInclusive<u64> = 0..=MAX_CPUS as u64 - 1;

/// Distances to another node.
const DISTANCE: RangeInclusive<u64> = LOCAL_DISTANCE as u64 + 1..=255;

/// The table, which describes the machine in one of the two ways.
pub(super) fn table<'a>(root: &Table<'a>) -> Result<Table<'a>, InputError> {
    let keys = |keys: &[&[&'static str]]| root.table("topology", &keys.concat());
    let expected = "a table with the counts of a uniform machine, or rows `[[topology.cpu]]`";
    let table = root.map("topology", expected)?.ok_or_else(|| root.missing("topology", expected))?;
    let given = |keys: &[&'static str]| keys.iter().copied().find(|key| table.get(key).is_some());
    let strict = match (given(ROWS), given(UNIFORM)) {
        (Some(a), Some(b)) => {
            let what = format!("give counts or rows of CPUs, not both `{a}` and `{b}`");
            let (uniform, rows) = (UNIFORM.join(", "), ROWS.join(", "));
            let hint = format!("{uniform} describe a uniform machine; {rows} describe any, CPU by CPU");
            return Err(table.error(what).with_hint(hint));
        }
        (Some(_), None) => keys(&[ROWS, COMMON])?,
        (None, _) => keys(&[UNIFORM, COMMON])?,
    };
    Ok(strict.expect("the table was there"))
}

/// Reads the machine's shape.
pub(super) fn read(table: &Table<'_>) -> Result<Topology, InputError> {
    match ROWS.iter().any(|key| table.get(key).is_some()) {
        true => read_rows(table),
        false => read_uniform(table),
    }
}

/// Reads what the machine's kernels make of the shape: the architecture, and the distance above which wake-ups do not
/// balance between nodes.
pub(super) fn read_kernel(table: &Table<'_>) -> Result<(Arch, Option<u32>), InputError> {
    let arch = table.choice("arch", &[("x86", Arch::X86), ("arm64", Arch::Arm64)])?.unwrap_or(Arch::X86);
    let distance = table.number("reclaim_distance", &DISTANCE)?;
    Ok((arch, distance.map(|distance| distance as u32)))
}

/// Reads whether the LLCs that the kernel sees in a package are parts of one.
pub(super) fn read_split(table: &Table<'_>, topology: &Topology) -> Result<bool, InputError> {
    let split = table.flag("split_llc")?.unwrap_or(false);
    let counts = Counts::of(topology);
    if split && counts.llcs <= counts.packages {
        let what =
            "each package has only one LLC, so an LLC cannot be a part of one; expected `llcs` or rows with several";
        return Err(table.wrong("split_llc", what));
    }
    Ok(split)
}

/// Reads the kernel's numbers of the CPUs, if they differ from those in the file, and where the shape was taken from.
pub(super) fn read_origin(table: &Table<'_>, nr_cpus: u32) -> Result<(Option<Vec<Cpu>>, Option<Origin>), InputError> {
    let given = table.get("source").or(table.get("assumed"));
    let origin = given.map(|_| origin(table)).transpose()?;
    let Some(list) = table.text("cpu_ids")? else { return Ok((None, origin)) };
    let ids = parse_cpulist(list, MAX_CPUS).map_err(|what| table.wrong("cpu_ids", what))?;
    if ids.len() != nr_cpus as usize || !ids.is_sorted_by(|a, b| a < b) {
        return Err(
            table.unexpected("cpu_ids", &format!("{nr_cpus} CPU numbers, one for each CPU, in ascending order"))
        );
    }
    // The last of n different numbers is n - 1 only if they are 0 to n - 1.
    Ok((Some(ids).filter(|ids| ids.last() != Some(&(nr_cpus - 1))), origin))
}

fn read_uniform(table: &Table<'_>) -> Result<Topology, InputError> {
    let number = |key: &str, limits: &RangeInclusive<u64>, default: u32| -> Result<u32, InputError> {
        Ok(table.number(key, limits)?.map_or(default, |number| number as u32))
    };
    let count = |key: &str| number(key, &COUNT, 1);
    let default = Uniform::new(1, 1);
    let uniform = Uniform {
        packages: count("packages")?,
        dies: count("dies")?,
        llcs: count("llcs")?,
        cores: table.need_number("cores", &COUNT)? as u32,
        threads: count("threads")?,
        cluster_cores: table.number("cluster_cores", &COUNT)?.map(|cores| cores as u32),
        nodes: number("nodes", &(1..=MAX_NODES), default.nodes)?,
        near: number("near", &DISTANCE, default.near)?,
        far: number("far", &DISTANCE, default.far)?,
        numbering: numbering(table)?.unwrap_or(default.numbering),
    };
    fits(table, &uniform)?;
    let mut topology = uniform.topology();
    if table.get("distances").is_some() {
        if let Some(key) = ["near", "far"].into_iter().find(|key| table.get(key).is_some()) {
            return Err(table.wrong(key, "give `distances`, or `near` and `far`, not both"));
        }
        topology.node_distance = distances(table)?;
    }
    if let Some(capacities) = table.numbers("capacities", &(1..=1024))? {
        if capacities.len() != topology.cpus.len() {
            let what = format!("capacities has {} numbers; expected one for each CPU", capacities.len());
            return Err(table.error(format!("{what}, {}", topology.nr_cpus())));
        }
        for (cpu, capacity) in topology.cpus.iter_mut().zip(capacities) {
            cpu.capacity = capacity as u32;
        }
    }
    topology.validate().map_err(|error| {
        if node_of(&error).is_some() {
            return distance_error(table, node_of(&error), &error);
        }
        let hint = "nodes and clusters must not cut through the levels below them: check the counts";
        table.error(error.to_string()).with_hint(hint)
    })?;
    Ok(topology)
}

fn numbering(table: &Table<'_>) -> Result<Option<Numbering>, InputError> {
    match table.text("numbering")? {
        None => Ok(None),
        Some("adjacent") => Ok(Some(Numbering::Adjacent)),
        Some("split") => Ok(Some(Numbering::Split)),
        Some(_) => {
            let expected = "\"adjacent\" (siblings 0 and 1) or \"split\" (siblings 0 and n/2)";
            Err(table.unexpected("numbering", expected))
        }
    }
}

/// Refuses counts that are too large, before anything is allocated for them.
fn fits(table: &Table<'_>, uniform: &Uniform) -> Result<(), InputError> {
    let Uniform { packages, dies, llcs, cores, threads, nodes, .. } = *uniform;
    // Five numbers up to 8192 can have a product above 2^64.
    let cores_of_all: u128 = [packages, dies, llcs, cores].into_iter().map(u128::from).product();
    let cpus = cores_of_all * u128::from(threads);
    if cpus > u128::from(MAX_CPUS) {
        let product = format!("{packages} packages × {dies} dies × {llcs} llcs × {cores} cores × {threads} threads");
        return Err(table
            .error(format!("{product} make {cpus} CPUs; expected at most {MAX_CPUS}"))
            .with_hint("`dies` counts the dies of a package, `llcs` the LLCs of a die, `cores` the cores of an LLC"));
    }
    if u128::from(nodes) > cores_of_all {
        return Err(table.error(format!("{nodes} nodes for {cores_of_all} cores; expected at most one for each core")));
    }
    Ok(())
}

const ROW: &[&str] = &["cpus", "core", "cluster", "llc", "die", "package", "node", "capacity"];

fn read_rows(table: &Table<'_>) -> Result<Topology, InputError> {
    let rows = table.tables("cpu", ROW)?;
    let mut cpus: BTreeMap<Cpu, (CpuTopology, usize)> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        for (cpu, of) in read_row(row)? {
            if let Some((_, before)) = cpus.insert(cpu, (of, index)) {
                let first = rows[before].line().map_or_else(String::new, |line| format!(" (line {line})"));
                return Err(row.error(format!("CPU {cpu} already has a row{first}; expected each CPU once")));
            }
        }
    }
    let Some(nr_cpus) = cpus.last_key_value().map(|(last, _)| last + 1) else {
        return Err(table.missing("cpu", "rows `[[topology.cpu]]`; a machine has at least one CPU"));
    };
    if nr_cpus as usize > cpus.len() {
        let without = CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|cpu| !cpus.contains_key(cpu)));
        let what = format!("CPUs {without} have no row; expected one for each CPU from 0 to {}", nr_cpus - 1);
        return Err(table.error(what).with_hint("CPUs are numbered from 0 without gaps"));
    }
    let node_distance = distances(table)?;
    let topology = Topology { cpus: cpus.values().map(|&(cpu, _)| cpu).collect(), node_distance };
    topology.validate().map_err(|error| match (cpu_of(&error), node_of(&error)) {
        (Some(cpu), _) => cpus
            .get(&cpu)
            .map_or(table, |&(_, row)| &rows[row])
            .error(error.to_string())
            .with_hint("CPUs that share a `core` (or `llc`, `die`...) also share everything that contains it"),
        (None, node) => distance_error(table, node, &error),
    })?;
    Ok(topology)
}

/// The CPUs of one row.
fn read_row(row: &Table<'_>) -> Result<Vec<(Cpu, CpuTopology)>, InputError> {
    let list = row.need_text("cpus", "a list of CPUs such as \"0-3,8\"")?;
    let cpus = parse_cpulist(list, MAX_CPUS).map_err(|what| row.wrong("cpus", what))?;
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
fn cores(row: &Table<'_>, nr_cpus: usize) -> Result<Vec<u32>, InputError> {
    let Some(value) = row.get("core") else {
        return Err(row.missing("core", "the number of the core, or a list with one for each CPU of the row"));
    };
    if !value.get_ref().is_array() {
        return Ok(vec![row.number_at("core", value, &ID)? as u32; nr_cpus]);
    }
    let cores = row.numbers("core", &ID)?.unwrap_or_default();
    if cores.len() != nr_cpus {
        let what = format!("core has {} numbers; expected one for each of the row's {nr_cpus} CPUs", cores.len());
        return Err(row.error(what));
    }
    Ok(cores.into_iter().map(|core| core as u32).collect())
}

/// The rows of the distance table. One node needs none.
fn distances(table: &Table<'_>) -> Result<Vec<Vec<u32>>, InputError> {
    const EXPECTED: &str = "a list of rows such as [[10, 20], [20, 10]]";
    if table.get("distances").is_none() {
        return Ok(vec![vec![LOCAL_DISTANCE]]);
    }
    let expected = format!("{EXPECTED}, 1 to {MAX_NODES} of them");
    let rows = table.elements("distances", &expected)?;
    if rows.len() as u64 > MAX_NODES {
        return Err(table.unexpected("distances", &expected));
    }
    let limits = u64::from(LOCAL_DISTANCE)..=*DISTANCE.end();
    let mut distances = Vec::new();
    for row in rows {
        let items = row.get_ref().as_array().ok_or_else(|| table.unexpected_at("distances", row, EXPECTED))?;
        let read = |item| table.number_at("distances", item, &limits).map(|distance| distance as u32);
        distances.push(items.iter().map(read).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(distances)
}

/// An error of the distance table, at the node's row.
fn distance_error(table: &Table<'_>, node: Option<usize>, error: &TopologyError) -> InputError {
    let rows = table.get("distances").and_then(|value| value.get_ref().as_array());
    let row = rows.zip(node).and_then(|(rows, node)| rows.get(node));
    match row {
        Some(row) => table.wrong_at("distances", row.span().start, error.to_string()),
        None => table.error(error.to_string()),
    }
    .with_hint("`distances` has a row for each node, and each row a number for each node, like the firmware's SLIT")
}

/// The CPU whose row is wrong.
fn cpu_of(error: &TopologyError) -> Option<Cpu> {
    match *error {
        TopologyError::Capacity { cpu, .. }
        | TopologyError::ClusterAcrossLlcs { cpu, .. }
        | TopologyError::NoSuchNode { cpu, .. }
        | TopologyError::Split { cpus: [_, cpu], .. } => Some(cpu),
        _ => None,
    }
}

/// The node whose row of distances is wrong.
fn node_of(error: &TopologyError) -> Option<usize> {
    match *error {
        TopologyError::NotSquare { node, .. } => Some(node),
        TopologyError::Distance { nodes: [node, _], .. }
        | TopologyError::Diagonal { nodes: [node, _], .. }
        | TopologyError::Asymmetric { nodes: [node, _], .. } => Some(node),
        _ => None,
    }
}
