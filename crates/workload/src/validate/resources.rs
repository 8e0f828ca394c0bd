//! Channels, mutexes, conditions and barriers: each is used as one kind, and by the tasks that it needs.

use super::TASKS_MAX;
use super::forks::{Families, families};
use crate::error::{About, WorkloadError};
use crate::{Call, Channel, Kind, Op, Task, Workload};
use std::collections::{BTreeMap, BTreeSet, HashSet};

impl Workload {
    /// Returns the kind of each resource of [`Workload::channels`], according to the steps that name it; a channel if
    /// none does.
    ///
    /// # Errors
    /// A resource is used as two kinds.
    ///
    /// # Panics
    /// If a task lacks a program or resource, which [`Workload::validate`] refuses.
    pub fn kinds(&self) -> Result<Vec<Kind>, WorkloadError> {
        self.kinds_in(&families(&self.programs, &self.tasks)?)
    }

    fn kinds_in(&self, families: &Families) -> Result<Vec<Kind>, WorkloadError> {
        let mut kinds = vec![None; self.channels.len()];
        each_use(self, families, |task, op, _| {
            for (number, kind) in op.resources() {
                let at = task.channels[number as usize];
                let before = *kinds[at as usize].get_or_insert(kind);
                if before != kind {
                    let what =
                        format!("is used both as a {} and as a {}; expected one use", before.name(), kind.name());
                    return Err(wrong(self, at, what));
                }
            }
            Ok(())
        })?;
        Ok(kinds.into_iter().map(|kind| kind.unwrap_or(Kind::Channel)).collect())
    }
}

/// The tasks that use the resources that are not channels.
#[derive(Default)]
struct Users {
    /// By barrier: how many tasks meet there.
    barriers: BTreeMap<u32, u32>,
    /// By condition: the mutexes that it is waited for with.
    waiters: BTreeMap<u32, BTreeSet<u32>>,
    /// The conditions that are signalled.
    signalled: BTreeSet<u32>,
}

/// Checks that each resource is used as one kind and by the tasks that it needs.
pub(super) fn check(workload: &Workload, families: &Families, nr_cpus: u32) -> Result<(), WorkloadError> {
    let kinds = workload.kinds_in(families)?;
    let workqueues = kinds.iter().filter(|kind| **kind == Kind::Workqueue).count() as u64;
    if workqueues * u64::from(nr_cpus) > TASKS_MAX {
        let what = format!("{workqueues} workqueues make {} kworkers", workqueues * u64::from(nr_cpus));
        let hint = "a [[workqueue]] that all instances share has one kworker on each CPU".to_owned();
        return Err(WorkloadError::new(About::Whole, what + "; expected fewer").with_hint(Some(hint)));
    }
    // Of a semaphore it is the count that it begins with, which a post raises.
    let empty = |(channel, kind): &(&Channel, &Kind)| channel.capacity == 0 && **kind != Kind::Semaphore;
    if let Some((channel, _)) = workload.channels.iter().zip(&kinds).find(empty) {
        let what = "the channel holds 0 messages; expected 1 or more";
        return Err(WorkloadError::new(About::Channel(channel.name.clone()), what));
    }
    let mut users = Users::default();
    each_use(workload, families, |task, op, forked| {
        let at = |number: u32| task.channels[number as usize];
        match op.call() {
            Some(Call::Barrier { barrier }) if forked => {
                let what = "a forked task uses this barrier, and the number of forked tasks is not fixed; expected \
                            only tasks that exist from the start";
                return Err(wrong(workload, at(barrier), what));
            }
            Some(Call::Barrier { barrier }) => *users.barriers.entry(at(barrier)).or_default() += 1,
            Some(Call::CondWait { cond, mutex }) => {
                users.waiters.entry(at(cond)).or_default().insert(at(mutex));
            }
            Some(Call::Signal { cond } | Call::Broadcast { cond }) => {
                users.signalled.insert(at(cond));
            }
            Some(Call::RecvBatch { channel, room, .. }) => {
                let capacity = workload.channels[at(channel) as usize].capacity;
                if room > capacity {
                    let what = format!("holds {capacity} messages, but a step waits for room for {room}");
                    return Err(wrong(workload, at(channel), what + "; expected at most what it holds"));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    for (&barrier, &tasks) in &users.barriers {
        let meet = workload.channels[barrier as usize].capacity;
        if tasks != meet {
            let what = format!("{meet} tasks meet at this barrier, but {tasks} have it in their programs");
            return Err(wrong(workload, barrier, what + "; expected the same number"));
        }
    }
    conditions(workload, &users)
}

fn conditions(workload: &Workload, users: &Users) -> Result<(), WorkloadError> {
    for (&cond, mutexes) in &users.waiters {
        if mutexes.len() > 1 {
            let names: Vec<_> = mutexes.iter().map(|&mutex| workload.channels[mutex as usize].name.as_str()).collect();
            let what = format!("is waited for with {}; expected the same mutex for all waits", names.join(" and "));
            return Err(wrong(workload, cond, what));
        }
        if !users.signalled.contains(&cond) {
            return Err(wrong(workload, cond, "is waited for, but nothing signals it; add a signal"));
        }
    }
    match users.signalled.iter().find(|cond| !users.waiters.contains_key(cond)) {
        None => Ok(()),
        Some(&cond) => {
            Err(wrong(workload, cond, "is signalled, but nothing waits for it; add a wait, or remove the signal"))
        }
    }
}

/// Calls `visit` for each step that names a resource, once for each task that reaches it. Its last argument is whether
/// a forked task does.
fn each_use(
    workload: &Workload,
    families: &Families,
    mut visit: impl FnMut(&Task, &Op, bool) -> Result<(), WorkloadError>,
) -> Result<(), WorkloadError> {
    let programs = &workload.programs;
    let steps: Vec<Vec<Op>> = programs
        .iter()
        .map(|program| {
            let mut seen = HashSet::new();
            program.ops.iter().copied().filter(|op| op.resources().next().is_some() && seen.insert(*op)).collect()
        })
        .collect();
    for task in &workload.tasks {
        for &program in &families[&(task.program as usize)] {
            for op in &steps[program] {
                visit(task, op, program != task.program as usize)?;
            }
        }
    }
    Ok(())
}

fn wrong(workload: &Workload, at: u32, what: impl Into<String>) -> WorkloadError {
    WorkloadError::new(About::Channel(workload.channels[at as usize].name.clone()), what)
}
