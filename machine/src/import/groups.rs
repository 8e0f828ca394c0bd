//! CPUs that have something in common, as each of them lists it.

use super::sys::Sys;
use crate::MachineError;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// By CPU: who has it in common with this CPU.
pub(super) type Groups = Vec<CpuMask>;

/// Holds that each CPU is in its own list, and that the CPUs of a list have all the same one.
pub(super) fn check(sys: &Sys<'_>, groups: &Groups, file: impl Fn(Cpu) -> String) -> Result<(), MachineError> {
    for (cpu, group) in (0..).zip(groups) {
        if !group.test(cpu) {
            let id = sys.ids[cpu as usize];
            let what = format!("lists CPUs {}; expected CPU {id} itself among them", shown(sys, group));
            return Err(sys.tree.contradiction(&file(cpu), what));
        }
        // The first of an equal group has been compared with all others.
        let first = group.first().unwrap_or(cpu);
        if first < cpu && groups[first as usize] == *group {
            continue;
        }
        if let Some(other) = group.iter().find(|&other| groups[other as usize] != *group) {
            let (mine, theirs) = (shown(sys, group), shown(sys, &groups[other as usize]));
            let what = format!("lists CPUs {mine}; expected the same as in {}, CPUs {theirs}", file(other));
            return Err(sys.tree.contradiction(&file(cpu), what));
        }
    }
    Ok(())
}

/// Holds that whoever is in a group with a CPU is also in the wider one of that CPU. `what` says of both what it is.
pub(super) fn within(
    sys: &Sys<'_>,
    inner: (&Groups, &str),
    outer: (&Groups, &str),
    file: impl Fn(Cpu) -> String,
) -> Result<(), MachineError> {
    for (cpu, (small, large)) in (0..).zip(inner.0.iter().zip(outer.0)) {
        if !small.is_subset(large) {
            let (id, small, large) = (sys.ids[cpu as usize], sys.names(small), sys.names(large));
            let what =
                format!("{} of CPU {id} has CPUs {small}; expected only CPUs of its {}, {large}", inner.1, outer.1);
            return Err(sys.tree.contradiction(&file(cpu), what));
        }
    }
    Ok(())
}

/// The groups' numbers by CPU: 0 upwards in the order of their first CPUs.
pub(super) fn numbers(groups: &Groups) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::with_capacity(groups.len());
    let mut next = 0;
    for (cpu, group) in (0..).zip(groups) {
        let first = group.first().filter(|&first| first < cpu);
        numbers.push(first.map_or(next, |first| numbers[first as usize]));
        next += u32::from(first.is_none());
    }
    numbers
}

fn shown(sys: &Sys<'_>, group: &CpuMask) -> String {
    if group.is_empty() { "none".to_owned() } else { sys.names(group) }
}
