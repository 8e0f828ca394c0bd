//! `"tasks"`: all threads, and checks that what they name exists.

use super::event::Event;
use super::json::{Cx, Place, Prop};
use super::policy::Policy;
use super::thread::Thread;
use crate::error::WorkloadError;
use crate::validate::TASKS_MAX;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use wakelab_input::did_you_mean;

/// Reads the threads that exist from the start, and those that they fork.
pub(super) fn read(cx: &Cx<'_>, tasks: &Prop<'_>, policy: Policy) -> Result<Vec<Thread>, WorkloadError> {
    let all = tasks.object(cx, "threads, such as {\"thread0\": {\"run\": 1000, \"sleep\": 9000}}")?;
    let mut threads: Vec<Thread> = vec![];
    let mut names = HashSet::new();
    // By key that has come before: the number after it that is tried next.
    let mut next: HashMap<&str, u32> = HashMap::new();
    for prop in &all.props {
        let mut name = prop.name.to_owned();
        let number = next.entry(prop.name).or_insert(1);
        while !names.insert(name.clone()) {
            // As workgen does.
            name = format!("{}{number}", prop.name);
            *number += 1;
        }
        threads.push(Thread::read(cx, &name, prop, policy)?);
    }
    if threads.is_empty() {
        return Err(tasks.place.error(cx.path, "expected one or more threads, found {}"));
    }
    let total: u64 = threads.iter().map(|thread| u64::from(thread.instances)).sum();
    if total > TASKS_MAX {
        let what = format!("the file has {total} threads; expected at most {TASKS_MAX}");
        return Err(tasks.place.error(cx.path, what));
    }
    if total == 0 {
        let what = "no thread starts: \"instance\" is 0 in all of them; set it to 1 or more in at least one";
        return Err(tasks.place.error(cx.path, what));
    }
    let mut threads = reached(cx, threads)?;
    no_deadline_forks(cx, &threads)?;
    conditions(cx, &mut threads)?;
    semaphores(cx, &threads)?;
    no_groups_of_forked(cx, &threads)?;
    no_shared_timers(cx, &threads)?;
    Ok(threads)
}

/// Leaves out the threads that nobody starts.
fn reached(cx: &Cx<'_>, threads: Vec<Thread>) -> Result<Vec<Thread>, WorkloadError> {
    let mut reached: Vec<bool> = threads.iter().map(|thread| thread.instances > 0).collect();
    let mut todo: Vec<usize> = (0..threads.len()).filter(|&i| reached[i]).collect();
    let numbers: HashMap<&str, usize> = threads.iter().map(|thread| thread.name.as_str()).zip(0..).collect();
    while let Some(i) = todo.pop() {
        for child in forks(cx, &numbers, &threads[i])? {
            if !std::mem::replace(&mut reached[child], true) {
                todo.push(child);
            }
        }
    }
    let mut started = vec![];
    for (thread, reached) in threads.into_iter().zip(reached) {
        if reached {
            started.push(thread);
        } else {
            cx.refuse(
                &thread.place,
                "the thread never starts: \"instance\" is 0, and no thread that runs forks it",
                "it is left out",
            )?;
        }
    }
    Ok(started)
}

/// The threads that a thread forks, by index. `numbers` are the indexes of all threads by name.
fn forks(cx: &Cx<'_>, numbers: &HashMap<&str, usize>, of: &Thread) -> Result<Vec<usize>, WorkloadError> {
    let mut children = vec![];
    for step in of.steps() {
        let Event::Fork(name) = &step.event else { continue };
        let Some(&child) = numbers.get(name.as_str()) else {
            let mut names: Vec<_> = numbers.iter().collect();
            names.sort_unstable_by_key(|(_, number)| **number);
            let names = names.into_iter().map(|(name, _)| *name);
            let what = format!("\"tasks\" has no thread {name:?}; expected one that it has");
            return Err(step.place.error(cx.path, what).with_hint(did_you_mean(name, names)));
        };
        children.push(child);
    }
    Ok(children)
}

/// Refuses forks by threads of SCHED_DEADLINE, for which `fork()` fails (EAGAIN).
fn no_deadline_forks(cx: &Cx<'_>, threads: &[Thread]) -> Result<(), WorkloadError> {
    for parent in threads.iter().filter(|thread| thread.policy == Policy::Deadline) {
        if parent.phases.iter().any(|phase| phase.sched.policy.is_some()) {
            continue;
        }
        let fork = parent.steps().find(|step| matches!(step.event, Event::Fork(_)));
        if let Some(step) = fork {
            let what = "a SCHED_DEADLINE thread cannot fork (EAGAIN); use another policy for it";
            return Err(step.place.error(cx.path, what));
        }
    }
    Ok(())
}

/// Checks that each condition that is waited for is signalled by somebody. A signal that nobody waits for does nothing,
/// and is an error or left out.
fn conditions(cx: &Cx<'_>, threads: &mut [Thread]) -> Result<(), WorkloadError> {
    let (mut waited, mut woken) = (BTreeSet::new(), BTreeSet::new());
    for step in threads.iter().flat_map(Thread::steps) {
        waited.extend(step.event.waits_for().map(str::to_owned));
        woken.extend(step.event.wakes().map(str::to_owned));
    }
    for thread in threads {
        for phase in &mut thread.phases {
            let mut steps = vec![];
            for step in std::mem::take(&mut phase.steps) {
                if let Some(cond) = step.event.waits_for().filter(|cond| !woken.contains(*cond)) {
                    let what = format!("no thread resumes or signals {cond:?}, so this one would wait for ever");
                    let hint = did_you_mean(cond, woken.iter().map(String::as_str));
                    return Err(step.place.error(cx.path, what + "; expected a thread that does").with_hint(hint));
                }
                match step.event.wakes().filter(|cond| !waited.contains(*cond)) {
                    None => steps.push(step),
                    Some(cond) => {
                        let meant = did_you_mean(cond, waited.iter().map(String::as_str).take(COMPARED_MAX));
                        let meant = meant.map_or_else(String::new, |meant| format!("; {meant}"));
                        let what = format!("no thread suspends or waits for {cond:?}{meant}");
                        cx.refuse(&step.place, &what, "it is left out")?;
                    }
                }
            }
            phase.steps = steps;
        }
    }
    Ok(())
}

/// Checks that somebody posts each semaphore that is waited for. A post that nobody waits for is remembered.
fn semaphores(cx: &Cx<'_>, threads: &[Thread]) -> Result<(), WorkloadError> {
    let steps = || threads.iter().flat_map(Thread::steps);
    let posted: BTreeSet<&str> = steps()
        .filter_map(|step| match &step.event {
            Event::SemPost(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    for step in steps() {
        let Event::SemWait(name) = &step.event else { continue };
        if !posted.contains(name.as_str()) {
            let what = format!("no thread posts the semaphore {name:?}, so this one would wait for ever");
            let hint = did_you_mean(name, posted.iter().copied().take(COMPARED_MAX));
            return Err(step.place.error(cx.path, what + "; expected a thread that does").with_hint(hint));
        }
    }
    Ok(())
}

/// Refuses control groups of threads that others fork: those are in the group of who forks them.
fn no_groups_of_forked(cx: &Cx<'_>, threads: &[Thread]) -> Result<(), WorkloadError> {
    for thread in threads.iter().filter(|thread| thread.instances == 0) {
        if let Some((_, place)) = &thread.taskgroup {
            let what = "a forked thread that joins another control group is not modelled";
            cx.refuse(place, what, "it stays in the control group of the thread that forks it")?;
        }
    }
    Ok(())
}

/// The most names to which each of several unknown names is compared.
const COMPARED_MAX: usize = 64;

/// Whether each thread gets its own timer of that name, as in rt-app.
pub(super) fn unique(name: &str) -> bool {
    name.starts_with("unique")
}

/// Refuses timers that several threads share: rt-app has one `next` for all of them, the model one for each thread.
fn no_shared_timers(cx: &Cx<'_>, threads: &[Thread]) -> Result<(), WorkloadError> {
    let mut users: BTreeMap<&str, (&str, &Place)> = BTreeMap::new();
    for thread in threads {
        let mut own: HashSet<&str> = HashSet::new();
        for step in thread.steps() {
            let Event::Timer { name, .. } = &step.event else { continue };
            if unique(name) || !own.insert(name) {
                continue;
            }
            let what = match users.insert(name, (&thread.name, &step.place)) {
                Some((other, place)) => format!("{other} uses the timer {name:?} too (line {})", place.line),
                None if thread.instances > 1 => format!("{} threads share the timer {name:?}", thread.instances),
                None => continue,
            };
            let what =
                format!("{what}, and a timer that threads share is not modelled; use a name that begins with `unique`");
            cx.refuse(&step.place, &what, "each thread gets its own")?;
        }
    }
    Ok(())
}
