//! Forks that come to an end, and how many tasks there can be at once.

use super::{TASKS_MAX, WrongStep, forks, with_children};
use crate::error::{About, WorkloadError};
use crate::{Op, Program, Workload};

/// Checks that no fork leads back to its own program, that what is forked in an endless loop is waited for in it, and
/// that there are not too many tasks at once.
pub(super) fn check(workload: &Workload) -> Result<(), WorkloadError> {
    let programs = &workload.programs;
    for (program, step, child) in forks(programs) {
        if with_children(child, programs).contains(&program) {
            return Err(comes_back(&programs[child], step).in_program(&programs[program]));
        }
    }
    for (program, step, child) in forks(programs) {
        if times(programs, program, step, child).is_none() {
            return Err(never_ends(&programs[child], step).in_program(&programs[program]));
        }
    }
    let mut most = vec![None; programs.len()];
    let total = workload
        .tasks
        .iter()
        .fold(0_u64, |sum, task| sum.saturating_add(at_once(programs, task.program as usize, &mut most)));
    if total > TASKS_MAX {
        let what = format!("there can be {total} tasks at once; expected {TASKS_MAX} at most");
        let hint = "a \"wait\" in a loop that forks keeps its tasks from adding up".to_owned();
        return Err(WorkloadError::new(About::Whole, what).with_hint(Some(hint)));
    }
    Ok(())
}

fn comes_back(child: &Program, step: usize) -> WrongStep {
    WrongStep {
        hint: Some("let what goes on for ever repeat, and fork only programs that do not lead back here"),
        ..WrongStep::new(step, format!("forks {}, which leads back to this program: tasks without end", child.name))
    }
}

fn never_ends(child: &Program, step: usize) -> WrongStep {
    let what = format!("forks {} in an endless loop that does not wait for all of its tasks to exit", child.name);
    WrongStep {
        hint: Some("add the step \"wait\" to the loop, and to forked programs that fork themselves"),
        ..WrongStep::new(step, what + ": tasks without end")
    }
}

/// How often the step of a program is done before its children have been waited for; `None` for no end.
fn times(programs: &[Program], program: usize, step: usize, child: usize) -> Option<u64> {
    let ops = &programs[program].ops;
    let outlives = leaves_tasks(programs, child);
    let mut product = 1_u64;
    for (end, op) in ops.iter().enumerate() {
        let Op::Repeat { to, times } = *op else { continue };
        let round = to as usize..end;
        if round.contains(&step) && (outlives || !ops[round].contains(&Op::Wait)) {
            product = product.saturating_mul(u64::from(times?));
        }
    }
    Some(product)
}

/// Whether tasks that a program or its children forked can be there when it has exited.
fn leaves_tasks(programs: &[Program], program: usize) -> bool {
    with_children(program, programs).iter().any(|&program| {
        let ops = &programs[program].ops;
        let last = |find: fn(&Op) -> bool| ops.iter().rposition(find);
        let endless = ops.iter().any(|op| matches!(op, Op::Repeat { times: None, .. }));
        !endless && last(|op| matches!(op, Op::Fork { .. })) > last(|op| *op == Op::Wait)
    })
}

/// The most tasks that there can be at once of one that runs a program: itself and what it forks.
fn at_once(programs: &[Program], program: usize, known: &mut Vec<Option<u64>>) -> u64 {
    if let Some(most) = known[program] {
        return most;
    }
    let mut most = 1_u64;
    for (step, op) in programs[program].ops.iter().enumerate() {
        let Op::Fork { program: child } = *op else { continue };
        let times = times(programs, program, step, child as usize).unwrap_or(u64::MAX);
        most = most.saturating_add(times.saturating_mul(at_once(programs, child as usize, known)));
    }
    known[program] = Some(most);
    most
}
