//! What two tasks that answer each other did where nobody had to be woken.
//!
//! A request wakes the one who answers only if it sleeps, and an answer wakes the one who asked only if it sleeps by
//! then. So of two tasks that wake each other by turns, a recording may show half. Two wake-ups of the same task by the
//! other with none between them the other way round are a message that found its reader awake: it is put where such
//! messages are sent, and where they are read, when somebody does sleep.

use super::timeline::{Step, TaskNr, TimedStep, Timeline, Timelines};
use rustc_hash::FxHashMap;

/// Of two tasks that answer each other, the one wakes the other this part as often, at least.
const LEAST_SEEN: f64 = 0.25;
/// How often they do, at least.
const LEAST_WAKEUPS: u64 = 4;

/// The tasks of a group with the messages that are missing, and how many these are. Returns `None` if none is.
pub(super) fn completed(lines: &Timelines, tasks: &[TaskNr]) -> Option<(Timelines, u64)> {
    // Most groups of a recording are of one task, and all edges are looked at.
    if tasks.len() < 2 {
        return None;
    }
    let count = |from: TaskNr, to: TaskNr| lines.edges.get(&(from, to)).map_or(0, |edge| edge.count);
    let mut pairs: Vec<(TaskNr, TaskNr)> = lines.edges.keys().copied().filter(|(a, b)| a < b).collect();
    pairs.retain(|&(a, b)| {
        let (less, more) = (count(a, b).min(count(b, a)), count(a, b).max(count(b, a)));
        tasks.contains(&a) && less >= LEAST_WAKEUPS && less as f64 >= LEAST_SEEN * more as f64
    });
    if pairs.is_empty() {
        return None;
    }
    pairs.sort_unstable();
    let mut found = Timelines {
        tasks: vec![Timeline::default(); lines.tasks.len()],
        edges: FxHashMap::default(),
        busy_ns: lines.busy_ns.clone(),
        counts: Default::default(),
        ..*lines
    };
    for &task in tasks {
        found.tasks[task as usize] = lines.tasks[task as usize].clone();
    }
    let mut added = 0;
    for (a, b) in pairs {
        added += complete(&mut found.tasks, a, b);
    }
    (added > 0).then_some((found, added))
}

/// What a task does with another: where it wakes it, and where it waits for it, by their indices among its steps.
struct Side {
    /// The time and index of each wake-up of the other.
    wakes: Vec<(u64, usize)>,
    /// By its time, the index of each wait that the other ended.
    waits: FxHashMap<u64, usize>,
    /// How it wakes the other.
    wake: Step,
    /// The usual work from a wake-up to the wait for the answer, and from the end of a wait to the wake-up, ns.
    send_to_wait: f64,
    wait_to_send: f64,
}

impl Side {
    fn of(line: &Timeline, other: TaskNr) -> Self {
        let (mut wakes, mut waits) = (Vec::new(), FxHashMap::default());
        let mut wake = Step::Wake { wakee: other, sync: false, interrupt: false };
        let (mut to_wait, mut to_send) = (Vec::new(), Vec::new());
        // The last of both, and the work since.
        let (mut last, mut work) = (None, 0.0);
        for (at, timed) in line.steps.iter().enumerate() {
            match timed.step {
                Step::Run(ns) => work += ns,
                Step::Wake { wakee, .. } if wakee == other => {
                    if last == Some(false) {
                        to_send.push(work);
                    }
                    wakes.push((timed.t_ns, at));
                    (last, work, wake) = (Some(true), 0.0, timed.step);
                }
                Step::Wait { by: Some(by), .. } if by == other => {
                    if last == Some(true) {
                        to_wait.push(work);
                    }
                    waits.insert(timed.t_ns, at);
                    (last, work) = (Some(false), 0.0);
                }
                _ => {}
            }
        }
        Side { wakes, waits, wake, send_to_wait: median(to_wait), wait_to_send: median(to_send) }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// A step that is put before the one at this index, or into it if that is work, after this part of it.
struct Insert {
    at: usize,
    after: f64,
    step: Step,
}

/// Adds the missing messages of a pair; returns how many.
fn complete(tasks: &mut [Timeline], a: TaskNr, b: TaskNr) -> u64 {
    let sides = [Side::of(&tasks[a as usize], b), Side::of(&tasks[b as usize], a)];
    let of_a = sides[0].wakes.iter().map(|&(t_ns, at)| (t_ns, 0, at));
    let mut all: Vec<(u64, usize, usize)> =
        of_a.chain(sides[1].wakes.iter().map(|&(t_ns, at)| (t_ns, 1, at))).collect();
    all.sort_unstable();
    let mut inserts: [Vec<Insert>; 2] = [Vec::new(), Vec::new()];
    for pair in all.windows(2).filter(|pair| pair[0].1 == pair[1].1) {
        let [(t_first, asks, sent), (t_next, _, sent_next)] = [pair[0], pair[1]];
        let answers = 1 - asks;
        let waits = &sides[answers].waits;
        let (Some(&woken), Some(&woken_next)) = (waits.get(&t_first), waits.get(&t_next)) else { continue };
        if sent >= sent_next || woken >= woken_next {
            continue;
        }
        let [asker, answerer] = [a, b].map(|task| task as usize);
        let [asker, answerer] = if asks == 0 { [asker, answerer] } else { [answerer, asker] };
        let by = if answers == 0 { a } else { b };
        let wait = Step::Wait { began_ns: 0, by: Some(by) };
        let own = &sides[asks];
        let near = (own.send_to_wait, own.wait_to_send);
        inserts[asks].push(place(&tasks[asker].steps, [sent, sent_next], near, wait));
        let own = &sides[answers];
        let near = (own.wait_to_send, own.send_to_wait);
        inserts[answers].push(place(&tasks[answerer].steps, [woken, woken_next], near, own.wake));
    }
    let added = inserts[0].len() as u64;
    for (task, inserts) in [a, b].into_iter().zip(inserts) {
        insert(&mut tasks[task as usize].steps, inserts);
    }
    added
}

/// Where between two steps another belongs that usually has so much work after the first, and before the second: it
/// is counted from the one that it is nearer to.
fn place(steps: &[TimedStep], [first, next]: [usize; 2], (after, before): (f64, f64), step: Step) -> Insert {
    let mut left = after.min(before);
    if after <= before {
        for (at, timed) in steps.iter().enumerate().take(next).skip(first + 1) {
            if let Step::Run(ns) = timed.step {
                if ns > left {
                    return Insert { at, after: left, step };
                }
                left -= ns;
            }
            if left <= 0.0 {
                return Insert { at: at + 1, after: 0.0, step };
            }
        }
        let at = if left <= 0.0 { first + 1 } else { next };
        return Insert { at, after: 0.0, step };
    }
    for at in (first + 1..next).rev() {
        if left <= 0.0 {
            return Insert { at: at + 1, after: 0.0, step };
        }
        if let Step::Run(ns) = steps[at].step {
            if ns > left {
                return Insert { at, after: ns - left, step };
            }
            left -= ns;
        }
    }
    Insert { at: first + 1, after: 0.0, step }
}

fn insert(steps: &mut Vec<TimedStep>, mut inserts: Vec<Insert>) {
    inserts.sort_by(|a, b| (a.at, a.after).partial_cmp(&(b.at, b.after)).expect("no NaN"));
    let mut inserts = inserts.into_iter().peekable();
    let mut all = Vec::with_capacity(steps.len() + inserts.len());
    let mut last_ns = 0;
    let timed = |t_ns: u64, step: Step| match step {
        Step::Wait { by, .. } => TimedStep { t_ns, step: Step::Wait { began_ns: t_ns, by } },
        step => TimedStep { t_ns, step },
    };
    for (at, mut own) in steps.drain(..).enumerate() {
        let mut done = 0.0;
        while let Some(one) = inserts.next_if(|one| one.at <= at) {
            if let Step::Run(ns) = &mut own.step
                && one.after > done
            {
                let part = (one.after - done).min(*ns);
                all.push(TimedStep { t_ns: last_ns, step: Step::Run(part) });
                *ns -= part;
                done = one.after;
            }
            all.push(timed(last_ns, one.step));
        }
        last_ns = own.t_ns;
        all.push(own);
    }
    all.extend(inserts.map(|one| timed(last_ns, one.step)));
    *steps = all;
}

#[cfg(test)]
mod tests {
    use super::super::timeline::Edge;
    use super::*;

    fn wake(wakee: TaskNr) -> Step {
        Step::Wake { wakee, sync: true, interrupt: false }
    }

    fn wait(began_ns: u64, by: TaskNr) -> Step {
        Step::Wait { began_ns, by: Some(by) }
    }

    /// Task 0 asks task 1, and goes on 10 ns of work later at the earliest; every second answer finds it awake.
    fn lines() -> Timelines {
        let mut lines = Timelines::default();
        lines.tasks.resize(2, Timeline::default());
        for n in 0..20 {
            let t = 1000 * n;
            let mut push = |task: usize, t_ns, step| lines.tasks[task].steps.push(TimedStep { t_ns, step });
            push(0, t + 100, wake(1));
            push(1, t + 100, wait(t, 0));
            push(1, t + 150, Step::Run(50.0));
            if n % 2 == 0 {
                push(0, t + 110, Step::Run(10.0));
                push(1, t + 150, wake(0));
                push(0, t + 150, wait(t + 110, 1));
                push(0, t + 900, Step::Run(700.0));
            } else {
                push(0, t + 900, Step::Run(710.0));
            }
        }
        lines.edges.insert((0, 1), Edge { count: 20, ..Edge::default() });
        lines.edges.insert((1, 0), Edge { count: 10, ..Edge::default() });
        lines
    }

    #[test]
    fn an_answer_that_found_its_reader_awake_is_put_where_others_are() {
        let lines = lines();
        let (found, added) = completed(&lines, &[0, 1]).expect("some are missing");
        assert_eq!(added, 9, "the last has no next one to show it");
        let of = |task: usize, n: usize, len: usize| -> Vec<Step> {
            found.tasks[task].steps[n * len..(n + 1) * len].iter().map(|timed| timed.step).collect()
        };
        for n in 0..18 {
            let asks = of(0, n, 4);
            assert!(matches!(
                asks[..],
                [Step::Wake { .. }, Step::Run(10.0), Step::Wait { by: Some(1), .. }, Step::Run(700.0)]
            ));
            let answers = of(1, n, 3);
            assert!(matches!(answers[..], [Step::Wait { .. }, Step::Run(50.0), Step::Wake { wakee: 0, .. }]));
        }
        for task in &found.tasks {
            assert!(task.steps.is_sorted_by_key(|timed| timed.t_ns));
        }
    }

    #[test]
    fn nothing_is_added_where_all_is_seen_or_nobody_answers() {
        let mut lines = lines();
        lines.edges.remove(&(1, 0));
        assert!(completed(&lines, &[0, 1]).is_none(), "task 1 never answers");
    }
}
