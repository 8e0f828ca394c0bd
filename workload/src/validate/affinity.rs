//! CPUs that a task or a step names.

use super::WrongStep;
use crate::{Call, Program};

/// Checks the sets of CPUs that a program's steps name, on a machine of so many CPUs.
pub(super) fn check(program: &Program, sets: &[Vec<u32>], nr_cpus: u32) -> Result<(), WrongStep> {
    for (step, op) in program.ops.iter().enumerate() {
        let Some(Call::Affinity { cpus: Some(set) }) = op.call() else { continue };
        let checked = match sets.get(set as usize) {
            None => Err(format!("names set {set} of CPUs, of {}", sets.len())),
            Some(cpus) => check_cpus(cpus, nr_cpus),
        };
        checked.map_err(|what| WrongStep::new(step, what))?;
    }
    Ok(())
}

/// Checks CPUs: some, ascending, and of the machine.
pub(super) fn check_cpus(cpus: &[u32], nr_cpus: u32) -> Result<(), String> {
    if cpus.is_empty() {
        return Err("its affinity has no CPU; expected one or more".to_owned());
    }
    if !cpus.is_sorted_by(|a, b| a < b) {
        return Err("the CPUs of its affinity are not ascending".to_owned());
    }
    match cpus.iter().find(|&&cpu| cpu >= nr_cpus) {
        None => Ok(()),
        Some(cpu) => {
            Err(format!("its affinity has CPU {cpu}; the machine has CPUs 0 to {}", nr_cpus.saturating_sub(1)))
        }
    }
}
