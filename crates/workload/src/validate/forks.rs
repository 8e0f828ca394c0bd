//! Which programs fork which, and queue which as work, for many programs: in a file each task may have its own.

use crate::error::{About, WorkloadError};
use crate::{Op, Program, Task};
use std::collections::BTreeMap;

/// By program: the programs that its steps fork, ascending, each once.
pub(super) fn forked(programs: &[Program]) -> Vec<Vec<usize>> {
    let forks = |op: &&Op| matches!(op, Op::Fork { .. });
    programs.iter().map(|program| numbers(program.ops.iter().filter(forks))).collect()
}

/// The programs that a program's steps start in other tasks, ascending, each once.
fn started(program: &Program) -> Vec<usize> {
    numbers(program.ops.iter())
}

fn numbers<'a>(steps: impl Iterator<Item = &'a Op>) -> Vec<usize> {
    let mut started: Vec<usize> = steps.filter_map(Op::starts).map(|program| program as usize).collect();
    started.sort_unstable();
    started.dedup();
    started
}

/// By program: whether one of these programs is it, or forks or queues it, by itself or by what it starts.
pub(crate) fn reached(programs: &[Program], from: impl IntoIterator<Item = usize>) -> Vec<bool> {
    let mut reached = vec![false; programs.len()];
    let mut todo: Vec<usize> = from.into_iter().collect();
    while let Some(program) = todo.pop() {
        if !std::mem::replace(&mut reached[program], true) {
            todo.extend(started(&programs[program]));
        }
    }
    reached
}

/// Returns the programs in an order in which each comes after those that it forks. Returns `None` if a fork leads back
/// to its own program.
pub(super) fn children_first(forked: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut parents = vec![0_usize; forked.len()];
    forked.iter().flatten().for_each(|&child| parents[child] += 1);
    let mut order: Vec<usize> = (0..forked.len()).filter(|&program| parents[program] == 0).collect();
    let mut next = 0;
    while let Some(&program) = order.get(next) {
        next += 1;
        for &child in &forked[program] {
            parents[child] -= 1;
            if parents[child] == 0 {
                order.push(child);
            }
        }
    }
    order.reverse();
    (order.len() == forked.len()).then_some(order)
}

/// The most programs in all families.
const FAMILIES_MAX: usize = 10_000_000;

/// By program that a task runs: itself and all that it, its children and kworkers for it run, ascending.
pub(super) type Families = BTreeMap<usize, Vec<usize>>;

/// Returns the families of the programs that tasks run.
///
/// # Errors
/// They are too large. Long chains of forks, each of which tasks begin, make them so.
pub(super) fn families(programs: &[Program], tasks: &[Task]) -> Result<Families, WorkloadError> {
    let started: Vec<Vec<usize>> = programs.iter().map(started).collect();
    let (mut families, mut total) = (Families::new(), 0);
    // By program: the last family that it was found to be in.
    let mut seen = vec![usize::MAX; programs.len()];
    for root in tasks.iter().map(|task| task.program as usize) {
        if families.contains_key(&root) {
            continue;
        }
        let (mut family, mut next) = (vec![root], 0);
        seen[root] = root;
        while let Some(&program) = family.get(next) {
            next += 1;
            for &child in &started[program] {
                if std::mem::replace(&mut seen[child], root) != root {
                    family.push(child);
                }
            }
            if total + family.len() > FAMILIES_MAX {
                let what = format!("the tasks and those that they fork run more than {FAMILIES_MAX} programs in all");
                return Err(WorkloadError::new(About::Whole, what + "; expected shorter chains of forks"));
            }
        }
        total += family.len();
        family.sort_unstable();
        families.insert(root, family);
    }
    Ok(families)
}
