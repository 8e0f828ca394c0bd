//! `[topology]`: of a uniform machine, or CPU by CPU.

use super::table::Table;
use super::{cpulist, explicit, origin, uniform};
use crate::{MachineError, Origin};
use std::ops::RangeInclusive;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, LOCAL_DISTANCE, MAX_CPUS, Topology};

/// The keys of a machine that is described CPU by CPU.
const EXPLICIT: &[&str] = &["cpu", "distances"];

/// The keys of both.
const COMMON: &[&str] = &["arch", "reclaim_distance", "cpu_ids", "source", "assumed"];

/// Most NUMA nodes: `MAX_NUMNODES` where `CONFIG_NODES_SHIFT` is 10, as in the distributions' x86 kernels.
pub(super) const MAX_NODES: u64 = 1024;

/// What a count of things that have CPUs can be.
pub(super) const COUNT: RangeInclusive<u64> = 1..=MAX_CPUS as u64;

/// What the distance to another node can be.
pub(super) const DISTANCE: RangeInclusive<u64> = LOCAL_DISTANCE as u64 + 1..=255;

/// The machine's shape.
pub(super) fn read(root: &Table<'_>) -> Result<Topology, MachineError> {
    let Some(table) = root.table("topology")? else {
        return Err(
            root.missing("topology", "a table with the counts of a uniform machine, or rows `[[topology.cpu]]`")
        );
    };
    let given = |keys: &[&'static str]| keys.iter().copied().find(|key| table.get(key).is_some());
    match (given(EXPLICIT), given(uniform::KEYS)) {
        (Some(a), Some(b)) => {
            let what = format!("expected either counts or rows of CPUs, found `{a}` and `{b}`");
            Err(table.error(what).with_hint(format!(
                "{} describe a uniform machine; {} describe any, CPU by CPU",
                uniform::KEYS.join(", "),
                EXPLICIT.join(", ")
            )))
        }
        (Some(_), None) => {
            table.only(&[EXPLICIT, COMMON].concat())?;
            explicit::read(&table)
        }
        (None, _) => {
            table.only(&[uniform::KEYS, COMMON].concat())?;
            uniform::read(&table)
        }
    }
}

/// What its kernels make of the shape: the architecture, and the distance above which nodes are not balanced at wake-ups.
pub(super) fn read_kernel(root: &Table<'_>) -> Result<(Arch, Option<u32>), MachineError> {
    let Some(table) = root.table("topology")? else { return Ok((Arch::X86, None)) };
    let arch = match (table.text("arch")?, table.get("arch")) {
        (None | Some("x86"), _) | (_, None) => Arch::X86,
        (Some("arm64"), _) => Arch::Arm64,
        (_, Some(value)) => return Err(table.wrong("arch", value, "\"x86\" or \"arm64\"")),
    };
    let distance = table.number("reclaim_distance", &DISTANCE)?;
    Ok((arch, distance.map(|distance| distance as u32)))
}

/// The kernel's numbers of the CPUs, where they differ from those in the file, and where the shape was taken from.
pub(super) fn read_origin(root: &Table<'_>, nr_cpus: u32) -> Result<(Option<Vec<Cpu>>, Option<Origin>), MachineError> {
    let Some(table) = root.table("topology")? else { return Ok((None, None)) };
    let said = table.get("source").or(table.get("assumed"));
    let origin = said.map(|_| origin::read(&table)).transpose()?;
    let (Some(list), Some(value)) = (table.text("cpu_ids")?, table.get("cpu_ids")) else { return Ok((None, origin)) };
    let expected = format!("{nr_cpus} CPU numbers, one for each CPU, lowest first");
    let ids = cpulist::parse(list).map_err(|what| table.wrong("cpu_ids", value, &format!("{expected} ({what})")))?;
    if ids.len() != nr_cpus as usize || !ids.is_sorted_by(|a, b| a < b) {
        return Err(table.wrong("cpu_ids", value, &expected));
    }
    // The last of n different numbers is n - 1 only where they are 0 to n - 1.
    Ok((Some(ids).filter(|ids| ids.last() != Some(&(nr_cpus - 1))), origin))
}
