//! Which wake-ups are a task's own doing, and which were made by an interrupt that came while it ran.
//!
//! A timer's wake-up is made on the CPU where the task slept, whatever runs there. So the waker of a recording may have
//! nothing to do with it. The context tells, where the source has it: a wake-up in task context, or with the sync hint,
//! is the waker's own; one in a hardirq is not. A softirq may be that of a message that the waker has sent over
//! loopback, or that of a timer. There, and where the context is not known, what counts is who makes the wakee's
//! wake-ups: always the same few tasks, or whoever runs there, the idle task among them.

use super::timeline::{Edge, Step, TaskNr, TimedStep, Timelines};
use rustc_hash::{FxHashMap, FxHashSet};

/// The least part of a wakee's wake-ups that a waker makes if they are its own doing.
const LEAST_SHARE: f64 = 0.25;
/// The greatest part of a wakee's wake-ups on idle CPUs if those on busy ones are the doing of the tasks there.
const MOST_FROM_IDLE: f64 = 0.2;
/// The least part of a waker's wake-ups from another CPU than the one where the wakee slept, if they are its own doing
/// though others come while CPUs are idle: a timer expires where it was started.
const LEAST_FROM_ELSEWHERE: f64 = 0.2;
/// The least part of a wakee's wake-ups that such a waker makes: a device interrupts any CPU.
const LEAST_SHARE_FROM_ELSEWHERE: f64 = 0.5;

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
    let elsewhere = part(edge.from_elsewhere, edge.count) >= LEAST_FROM_ELSEWHERE;
    by_few || (elsewhere && part(edge.count, waits) >= LEAST_SHARE_FROM_ELSEWHERE)
}

/// Makes wake-ups that are not the waker's doing ends of sleeps.
pub(super) fn settle(lines: &mut Timelines) {
    let own: FxHashSet<(TaskNr, TaskNr)> = lines
        .edges
        .iter()
        .filter(|((_, wakee), edge)| {
            let of = &lines.tasks[*wakee as usize];
            is_own_doing(edge, of.waits, of.woken_from_idle)
        })
        .map(|(&edge, _)| edge)
        .collect();
    let own = without_servants(lines, own);
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

/// Leaves out wake-ups of kernel threads that wake no user task in turn.
///
/// kcompactd and the workers that any task wakes now and then would make one group of all that they ever served. What
/// they do is background, and nobody waits for it. A worker that ends a wait, as those of block devices, stays.
fn without_servants(lines: &Timelines, mut own: FxHashSet<(TaskNr, TaskNr)>) -> FxHashSet<(TaskNr, TaskNr)> {
    let kernel = |task: TaskNr| lines.tasks[task as usize].attributes.kernel_thread;
    let mut by_wakee: FxHashMap<TaskNr, Vec<TaskNr>> = FxHashMap::default();
    for &(waker, wakee) in own.iter().filter(|(waker, _)| kernel(*waker)) {
        by_wakee.entry(wakee).or_default().push(waker);
    }
    // From the user tasks that kernel threads wake, back through the kernel threads that wake these.
    let mut serving: FxHashSet<TaskNr> = FxHashSet::default();
    let mut reached: Vec<TaskNr> = by_wakee.keys().copied().filter(|&wakee| !kernel(wakee)).collect();
    while let Some(wakee) = reached.pop() {
        for &waker in by_wakee.get(&wakee).into_iter().flatten() {
            if serving.insert(waker) {
                reached.push(waker);
            }
        }
    }
    own.retain(|&(waker, wakee)| kernel(waker) || !kernel(wakee) || serving.contains(&wakee));
    own
}

/// The part of a task's wake-ups, and of its partner's, that two tasks make of each other if they are a pair.
const LEAST_OF_PAIR: f64 = 0.95;

/// Adds the replies that nobody had to be woken for.
///
/// Two tasks on one CPU that answer each other by turns may show half of it: the one that sends is preempted by the one
/// that it wakes (the sync hint says that it is about to sleep), finds the reply there when it runs again, and never
/// sleeps. Without the reply it would seem to compute and to send for ever, whatever becomes of the other. So where two
/// tasks wake each other and nobody else, the one that was preempted so is taken to have waited until the other
/// slept, unless it did something before: on another CPU it may go on meanwhile, and who waits for what the other does
/// only after the next message would wait for ever.
pub(super) fn add_replies(lines: &mut Timelines) {
    let mut by: FxHashMap<TaskNr, u64> = FxHashMap::default();
    let mut of: FxHashMap<TaskNr, u64> = FxHashMap::default();
    for (&(waker, wakee), edge) in &lines.edges {
        *by.entry(waker).or_default() += edge.count;
        *of.entry(wakee).or_default() += edge.count;
    }
    let most = |count: u64, all: Option<&u64>| count as f64 >= LEAST_OF_PAIR * all.copied().unwrap_or(0) as f64;
    let mut pairs: Vec<(TaskNr, TaskNr)> = lines
        .edges
        .iter()
        .filter(|((waker, wakee), edge)| most(edge.count, by.get(waker)) && most(edge.count, of.get(wakee)))
        .map(|(&pair, _)| pair)
        .collect();
    pairs.sort_unstable();
    for (waker, wakee) in pairs {
        let yielded = yields(&lines.tasks[waker as usize].steps, wakee);
        let answered = answers(&mut lines.tasks[wakee as usize].steps, &yielded, waker);
        lines.losses.implied_replies += answered.len() as u64;
        for timed in &mut lines.tasks[waker as usize].steps {
            if timed.step == (Step::Yielded { to: wakee })
                && let Some(&slept) = answered.get(&timed.t_ns)
            {
                *timed = TimedStep { t_ns: slept, step: Step::Wait { began_ns: timed.t_ns, by: Some(wakee) } };
            }
        }
        if !answered.is_empty() {
            let edge = lines.edges.entry((wakee, waker)).or_default();
            edge.count += answered.len() as u64;
        }
    }
    for line in &mut lines.tasks {
        line.steps.retain(|timed| !matches!(timed.step, Step::Yielded { .. }));
    }
}

/// When a task was preempted by the one that it woke, and when it woke, waited or was preempted next, ns.
fn yields(steps: &[TimedStep], to: TaskNr) -> Vec<(u64, u64)> {
    let mut next_ns = u64::MAX;
    let mut found = Vec::new();
    for timed in steps.iter().rev() {
        if timed.step == (Step::Yielded { to }) {
            found.push((timed.t_ns, next_ns));
        }
        match timed.step {
            Step::Run(_) => {}
            // A wait counts from its begin.
            Step::Wait { began_ns, .. } => next_ns = began_ns,
            _ => next_ns = timed.t_ns,
        }
    }
    found.reverse();
    found
}

/// Adds a wake-up of `waker` before the first wait after each of the times at which it was preempted, if it did nothing
/// until then. Returns when these waits began, by that time.
fn answers(steps: &mut Vec<TimedStep>, yielded: &[(u64, u64)], waker: TaskNr) -> FxHashMap<u64, u64> {
    let mut answered = FxHashMap::default();
    let mut left = yielded.iter().copied().peekable();
    let mut with_replies = Vec::with_capacity(steps.len() + yielded.len());
    for timed in steps.drain(..) {
        if let Step::Wait { began_ns, .. } = timed.step {
            let mut last = None;
            while let Some(at) = left.next_if(|&(at, _)| at <= began_ns) {
                last = Some(at);
            }
            if let Some((at, _)) = last.filter(|&(_, next_ns)| next_ns >= began_ns) {
                answered.insert(at, began_ns);
                with_replies.push(TimedStep {
                    t_ns: began_ns,
                    step: Step::Wake { wakee: waker, sync: true, interrupt: false },
                });
            }
        }
        with_replies.push(timed);
    }
    *steps = with_replies;
    answered
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
        assert!(is_own_doing(&Edge { from_elsewhere: 20, ..edge(60) }, 100, 40), "no timer: it was elsewhere");
        assert!(!is_own_doing(&Edge { from_elsewhere: 3, ..edge(3) }, 100, 50), "a device that interrupts any CPU");
    }

    #[test]
    fn kernel_threads_that_end_no_wait_of_a_user_task_are_background() {
        let mut lines = Timelines::default();
        for kernel_thread in [false, false, true, true, true] {
            let mut line = super::super::timeline::Timeline::default();
            line.attributes.kernel_thread = kernel_thread;
            lines.tasks.push(line);
        }
        let own = |edges: &[(TaskNr, TaskNr)]| edges.iter().copied().collect::<FxHashSet<_>>();
        // 2 is kcompactd; 3 hands a request on to 4, which ends the wait.
        let all = own(&[(0, 1), (0, 2), (1, 2), (0, 3), (3, 4), (4, 1)]);
        assert_eq!(without_servants(&lines, all), own(&[(0, 1), (0, 3), (3, 4), (4, 1)]));
    }

    #[test]
    fn a_reply_that_nobody_slept_for_is_added() {
        let at = |t_ns, step| TimedStep { t_ns, step };
        let wake = |wakee| Step::Wake { wakee, sync: true, interrupt: false };
        let mut lines = Timelines::default();
        let sender = (0..3).flat_map(|n| [at(10 * n + 1, wake(1)), at(10 * n + 2, Step::Yielded { to: 1 })]);
        let reader = (0..3).map(|n| at(10 * n + 11, Step::Wait { began_ns: 10 * n + 5, by: Some(0) }));
        for steps in [sender.collect(), reader.collect::<Vec<_>>()] {
            lines.tasks.push(super::super::timeline::Timeline { steps, ..Default::default() });
        }
        lines.edges.insert((0, 1), Edge { sync: 3, ..edge(3) });
        add_replies(&mut lines);
        assert_eq!(lines.losses.implied_replies, 3);
        let waits =
            |task: usize| lines.tasks[task].steps.iter().filter(|at| matches!(at.step, Step::Wait { .. })).count();
        assert_eq!((waits(0), waits(1)), (3, 3));
        assert_eq!(lines.tasks[1].steps[..2], [at(5, wake(0)), at(11, Step::Wait { began_ns: 5, by: Some(0) })]);
        assert_eq!(lines.tasks[0].steps[1], at(5, Step::Wait { began_ns: 2, by: Some(1) }));
    }

    #[test]
    fn who_went_on_elsewhere_did_not_wait_for_a_reply() {
        let at = |t_ns, step| TimedStep { t_ns, step };
        let wake = |wakee| Step::Wake { wakee, sync: true, interrupt: false };
        let mut lines = Timelines::default();
        // The first reply may have been there. Before the second wait it sends once more, from another CPU.
        let sender = vec![
            at(1, wake(1)),
            at(2, Step::Yielded { to: 1 }),
            at(11, wake(1)),
            at(12, Step::Yielded { to: 1 }),
            at(14, wake(1)),
        ];
        let reader =
            vec![at(11, Step::Wait { began_ns: 5, by: Some(0) }), at(21, Step::Wait { began_ns: 15, by: Some(0) })];
        for steps in [sender, reader] {
            lines.tasks.push(super::super::timeline::Timeline { steps, ..Default::default() });
        }
        lines.edges.insert((0, 1), Edge { sync: 3, ..edge(3) });
        add_replies(&mut lines);
        assert_eq!(lines.losses.implied_replies, 1);
        let waits = lines.tasks[0].steps.iter().filter(|at| matches!(at.step, Step::Wait { .. })).count();
        assert_eq!(waits, 1);
    }

    #[test]
    fn who_wakes_many_waits_for_none() {
        let wake = |wakee| TimedStep { t_ns: 1, step: Step::Wake { wakee, sync: true, interrupt: false } };
        let yielded = |to| TimedStep { t_ns: 2, step: Step::Yielded { to } };
        let mut lines = Timelines::default();
        let steps = vec![wake(1), yielded(1), wake(2), yielded(2)];
        lines.tasks.push(super::super::timeline::Timeline { steps, ..Default::default() });
        for wakee in [1, 2] {
            let wait = TimedStep { t_ns: 9, step: Step::Wait { began_ns: 3, by: Some(0) } };
            lines.tasks.push(super::super::timeline::Timeline { steps: vec![wait], ..Default::default() });
            lines.edges.insert((0, wakee), edge(1));
        }
        add_replies(&mut lines);
        assert_eq!(lines.losses.implied_replies, 0);
        assert_eq!(lines.tasks[0].steps, [wake(1), wake(2)]);
    }
}
