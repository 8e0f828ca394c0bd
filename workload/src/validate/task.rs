//! A task: its program, its resources, its nice value, its CPUs.

use super::affinity::check_cpus;
use super::with_children;
use crate::{Op, Task, Workload};

/// Checks a task on a machine of so many CPUs.
pub(super) fn check(workload: &Workload, task: &Task, nr_cpus: u32) -> Result<(), String> {
    let Some(program) = workload.programs.get(task.program as usize) else {
        return Err(format!("it runs program {}, of {}", task.program, workload.programs.len()));
    };
    if let Some(channel) = task.channels.iter().find(|&&channel| channel as usize >= workload.channels.len()) {
        return Err(format!("it has channel {channel}, of {}", workload.channels.len()));
    }
    let needs = resources_needed(workload, task.program as usize);
    if needs > task.channels.len() {
        return Err(format!("program {} uses {needs} channels, the task has {}", program.name, task.channels.len()));
    }
    if !(-20..=19).contains(&task.nice) {
        return Err(format!("nice is {}; expected -20 to 19", task.nice));
    }
    task.affinity.as_ref().map_or(Ok(()), |cpus| check_cpus(cpus, nr_cpus))
}

/// How many resources a task of this program must have: its own, and its children's, which share them.
fn resources_needed(workload: &Workload, program: usize) -> usize {
    let programs = with_children(program, &workload.programs);
    let numbers = programs.iter().flat_map(|&program| &workload.programs[program].ops).flat_map(Op::resources);
    numbers.map(|(number, _)| number as usize + 1).max().unwrap_or(0)
}
