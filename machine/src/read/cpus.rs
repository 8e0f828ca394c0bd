//! `cpus = "0-3"`: which CPUs of the machine a table is about.

use super::cpulist;
use super::table::Table;
use crate::MachineError;
use wakelab_sched::cpumask::CpuMask;

/// The CPUs of a table that must name some.
pub(super) fn need(table: &Table<'_>, nr_cpus: u32) -> Result<CpuMask, MachineError> {
    let list = table.need_text("cpus", "a list of CPUs such as \"0-3,8\"")?;
    let wrong = |what: String| table.error(format!("cpus = \"{list}\": {what}"));
    let cpus = cpulist::parse(list).map_err(wrong)?;
    match cpus.iter().find(|&&cpu| cpu >= nr_cpus) {
        Some(cpu) => Err(wrong(format!("expected CPUs from 0 to {}, found {cpu}", nr_cpus - 1))),
        None => Ok(CpuMask::from_cpus(nr_cpus, cpus)),
    }
}
