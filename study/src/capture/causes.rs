//! Which wake-ups are a task's own doing, and which were made by an interrupt that came while it ran.
//!
//! A timer's wake-up is made on the CPU where the task slept, whatever runs there. So the waker of a recording may have
//! nothing to do with it. The context tells, where the source has it: a wake-up in task context, or with the sync hint,
//! is the waker's own; one in a hardirq is not. A softirq may be that of a message that the waker has sent over
//! loopback, or that of a timer. There, and where the context is not known, what counts is who makes the wakee's
//! wake-ups: always the same few tasks, or whoever runs there, the idle task among them.

use super::timeline::{Edge, Step, TaskNr, Timelines};

/// The least part of a wakee's wake-ups that a waker makes if they are its own doing.
const LEAST_SHARE: f64 = 0.25;
/// The greatest part of a wakee's wake-ups on idle CPUs if those on busy ones are the doing of the tasks there.
const MOST_FROM_IDLE: f64 = 0.2;
/// The least part of a waker's wake-ups from another CPU than the one where the wakee slept, if they are its own doing:
/// a timer expires where it was started.
const LEAST_FROM_ELSEWHERE: f64 = 0.2;

/// Whether the wake-ups of an edge are the waker's own doing.
fn is_own_doing(edge: &Edge, waits: u64, from_idle: u64) -> bool {
    let part = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    if edge.sync > 0 || 2 * edge.in_task >= edge.count.max(1) {
        return true;
    }
    if 2 * edge.in_hardirq >= edge.count {
        return false;
    }
    let by_few = part(edge.count, waits) >= LEAST_SHARE && part(from_idle, waits) < MOST_FROM_IDLE;
    by_few || part(edge.from_elsewhere, edge.count) >= LEAST_FROM_ELSEWHERE
}

/// Makes wake-ups that are not the waker's doing ends of sleeps, and attributes wake-ups that were not seen to the task
/// that makes most of the wakee's.
pub(super) fn settle(lines: &mut Timelines) {
    let own: rustc_hash::FxHashSet<(TaskNr, TaskNr)> = lines
        .edges
        .iter()
        .filter(|((_, wakee), edge)| {
            let of = &lines.tasks[*wakee as usize];
            is_own_doing(edge, of.waits, of.woken_from_idle)
        })
        .map(|(&edge, _)| edge)
        .collect();
    for number in 0..lines.tasks.len() {
        let task = number as TaskNr;
        lines.tasks[number].steps.retain_mut(|timed| match &mut timed.step {
            Step::Wake { wakee, .. } => own.contains(&(task, *wakee)),
            Step::Wait { by, .. } => {
                *by = by.filter(|&by| own.contains(&(by, task)));
                true
            }
            _ => true,
        });
    }
    lines.edges.retain(|edge, _| own.contains(edge));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(count: u64) -> Edge {
        Edge { count, ..Edge::default() }
    }

    #[test]
    fn a_context_decides_and_then_who_wakes() {
        assert!(is_own_doing(&Edge { in_task: 9, ..edge(10) }, 1000, 900), "in task context");
        assert!(is_own_doing(&Edge { sync: 1, in_hardirq: 10, ..edge(10) }, 10, 0), "with the sync hint");
        assert!(!is_own_doing(&Edge { in_hardirq: 10, ..edge(10) }, 10, 0), "a timer's interrupt");
        assert!(is_own_doing(&edge(90), 100, 5), "a softirq of the one task that always wakes it");
        assert!(!is_own_doing(&edge(60), 100, 40), "a timer: the CPU is idle in 40 of 100");
        assert!(!is_own_doing(&edge(3), 100, 5), "one of many that happen to run there");
        assert!(is_own_doing(&Edge { from_elsewhere: 2, ..edge(3) }, 100, 50), "no timer: it was elsewhere");
    }
}
