//! `[[frequency]]`.

use super::table::{Table, number};
use super::{cpus, frequency_row};
use crate::{FreqPolicy, MachineError};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::domain::MAX_CPUS;

/// Numbers of policies: there are no more of them than CPUs.
const POLICY: RangeInclusive<u64> = 0..=MAX_CPUS as u64 - 1;

/// The policies, by their lowest CPU.
pub(super) fn read(root: &Table<'_>, nr_cpus: u32) -> Result<Vec<FreqPolicy>, MachineError> {
    let mut policies: BTreeMap<u64, FreqPolicy> = BTreeMap::new();
    let mut all = CpuMask::new(nr_cpus);
    for table in root.tables("frequency")? {
        table.only(frequency_row::KEYS)?;
        let cpus = cpus::need(&table, nr_cpus)?;
        if cpus.intersects(&all) {
            return Err(table.error("some of its CPUs have frequencies already; expected each CPU once"));
        }
        all.or_with(&cpus);
        let numbers = numbers(&table, &cpus)?;
        if let Some(number) = numbers.iter().find(|number| policies.contains_key(number)) {
            return Err(table.error(format!("policy {number} is of a row above; expected a policy to be of one row")));
        }
        let row = frequency_row::read(&table, CpuMask::new(nr_cpus))?;
        for (cpu, number) in cpus.iter().zip(numbers) {
            policies.entry(number).or_insert_with(|| row.clone()).cpus.set(cpu);
        }
    }
    let mut policies: Vec<_> = policies.into_values().collect();
    policies.sort_by_key(|policy| policy.cpus.first());
    Ok(policies)
}

/// The policy of each CPU of a row: one number for all, which change their frequency together, or a list.
fn numbers(table: &Table<'_>, cpus: &CpuMask) -> Result<Vec<u64>, MachineError> {
    let Some(value) = table.get("policy") else {
        return Err(table.missing("policy", "the number of the policy, or a list with one for each CPU of the row"));
    };
    let count = cpus.weight() as usize;
    if !value.get_ref().is_array() {
        return Ok(vec![number(table.source, &table.path("policy"), value, &POLICY)?; count]);
    }
    let numbers = table.numbers("policy", &POLICY)?.unwrap_or_default();
    if numbers.len() != count {
        let what = format!("policy has {} numbers; expected one for each of the row's {count} CPUs", numbers.len());
        return Err(table.error(what));
    }
    Ok(numbers)
}
