//! `[topology]` of a machine that is the same everywhere.

use super::table::Table;
use super::topology::{COUNT, DISTANCE, MAX_NODES};
use crate::MachineError;
use std::ops::RangeInclusive;
use wakelab_sched::domain::{MAX_CPUS, Numbering, Topology, Uniform};

/// The keys.
pub(super) const KEYS: &[&str] = &[
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

/// The shape.
pub(super) fn read(table: &Table<'_>) -> Result<Topology, MachineError> {
    let number = |key: &str, limits: &RangeInclusive<u64>, default: u32| -> Result<u32, MachineError> {
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
        table.error(error).with_hint("nodes and clusters must not cut through what is below them: check the counts")
    })?;
    Ok(topology)
}

fn numbering(table: &Table<'_>) -> Result<Option<Numbering>, MachineError> {
    const EXPECTED: &str = "\"adjacent\" (siblings 0 and 1) or \"split\" (siblings 0 and n/2)";
    match (table.text("numbering")?, table.get("numbering")) {
        (Some("adjacent"), _) => Ok(Some(Numbering::Adjacent)),
        (Some("split"), _) => Ok(Some(Numbering::Split)),
        (Some(_), Some(value)) => Err(table.wrong("numbering", value, EXPECTED)),
        _ => Ok(None),
    }
}

/// Refuses what could not be made, before anything is allocated for it.
fn fits(table: &Table<'_>, uniform: &Uniform) -> Result<(), MachineError> {
    let Uniform { packages, dies, llcs, cores, threads, nodes, .. } = *uniform;
    // Five numbers up to 8192 can have a product above 2^64.
    let cores_of_all: u128 = [packages, dies, llcs, cores].into_iter().map(u128::from).product();
    let cpus = cores_of_all * u128::from(threads);
    if cpus > u128::from(MAX_CPUS) {
        let product = format!("{packages} packages × {dies} dies × {llcs} llcs × {cores} cores × {threads} threads");
        return Err(table
            .error(format!("{product} are {cpus} CPUs; expected at most {MAX_CPUS}"))
            .with_hint("`dies` are those of a package, `llcs` those of a die, `cores` those of an LLC"));
    }
    if u128::from(nodes) > cores_of_all {
        return Err(table.error(format!("{nodes} nodes for {cores_of_all} cores; expected at most one for each core")));
    }
    Ok(())
}
