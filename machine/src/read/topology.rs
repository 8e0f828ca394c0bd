//! `[topology]`: of a uniform machine, or CPU by CPU.

use super::table::Table;
use super::{explicit, uniform};
use crate::MachineError;
use std::ops::RangeInclusive;
use wakelab_sched::domain::{LOCAL_DISTANCE, MAX_CPUS, Topology};

/// The keys of a machine that is described CPU by CPU.
const EXPLICIT: &[&str] = &["cpu", "distances"];

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
            table.only(EXPLICIT)?;
            explicit::read(&table)
        }
        (None, _) => {
            table.only(uniform::KEYS)?;
            uniform::read(&table)
        }
    }
}
