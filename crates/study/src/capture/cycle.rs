//! The round that a task does again and again, if it does: what it does between waits, in the same order each time.
//!
//! A cycle takes the time that was recorded: what is left out of it are rounds that look like several in one, and waits
//! that break into it now and then. A burst of messages after each expiry of a timer is no cycle without the timer.
//!
//! A recording shows a wait only where a task slept. A reply that is there in time is read without one, so that some
//! rounds look like two in one. A task for which most rounds are alike is taken to do that round for ever, with amounts
//! of work drawn from those that were recorded. Whether the rounds of tasks that wake each other fit together is shown
//! by doing them without time: see [`runs_for_ever`].

use super::groups::Shared;
use super::program::{Amount, CapturedOp, CapturedProgram};
use super::timeline::TaskNr;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The part of the rounds that must be alike.
const LEAST_ALIKE: f64 = 0.75;
/// How many rounds a cycle is taken from, at least.
const LEAST_ROUNDS: usize = 8;
/// The longest cycle, in waits: a transaction of a database has some twenty.
const LONGEST: usize = 64;
/// By how much the transactions in a round may be more or fewer than they are in all rounds.
const MOST_OFF_DONE: f64 = 0.1;
/// In how many rounds cycles that are broken into are looked for.
const MOST_SEARCHED: usize = 20_000;
/// The most values that stand for a distribution: each is the mean of an equal part of the recorded ones.
const VALUES: usize = 64;
/// How many rounds each task does in [`runs_for_ever`], at least.
const ROUNDS: u32 = 64;
/// How many rounds it does there at most: what nobody stops would go on while the others wait.
const MOST_ROUNDS: u32 = 64 * ROUNDS;
/// The most messages in a mailbox of tasks whose rounds fit together.
const MOST_WAITING: u32 = 32;

/// The part of the time of all rounds that those which are left out of a cycle may take: as long as those of it, or the
/// task would do its rounds more than twice as fast as it was recorded.
const MOST_TIME_LEFT_OUT: f64 = 0.5;
/// The part of it that those may take which end with a timer or a device. What paces a task is not left out.
const MOST_SLEEP_LEFT_OUT: f64 = 0.1;

/// Returns the program of a task as a first part and a cycle. Returns `None` if its rounds are not alike, or if the
/// cycle does not take the time that they took. `ends` has when each of its waits ended, ns.
pub(super) fn of(ops: &[CapturedOp], ends: &[u64]) -> Option<CapturedProgram> {
    // What comes up to the first wait is the rest of a round.
    let rounds: Vec<&[CapturedOp]> = ops.split_inclusive(CapturedOp::waits).collect();
    let (first, rounds) = rounds.split_first()?;
    let whole = rounds.iter().take_while(|round| round.last().is_some_and(CapturedOp::waits)).count();
    let rounds = &rounds[..whole];
    if rounds.len() < LEAST_ROUNDS {
        return None;
    }
    let elapsed: Vec<u64> = ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    debug_assert_eq!(elapsed.len(), rounds.len(), "each round ends with a wait");
    let mut kinds: FxHashMap<Vec<CapturedOp>, usize> = FxHashMap::default();
    let shapes: Vec<usize> = rounds
        .iter()
        .map(|round| {
            let next = kinds.len();
            *kinds.entry(round.iter().map(CapturedOp::shape).collect()).or_insert(next)
        })
        .collect();
    let longest = LONGEST.min(2 * rounds.len() / LEAST_ROUNDS);
    let cycle = |rounds: &[Vec<&[CapturedOp]>]| rounds.iter().flat_map(|same| pooled(same)).collect::<Vec<_>>();
    let by_place = || (1..=longest).filter_map(|length| Some((in_step(&shapes, length)?, length, 0)));
    let by_begin = || {
        (2..=longest).filter_map(|length| {
            let begins = aligned(&shapes, length)?;
            let before = *begins.first()?;
            let same = |phase: usize| begins.iter().map(|begin| begin + phase).collect();
            Some(((0..length).map(same).collect::<Vec<Vec<usize>>>(), length, before))
        })
    };
    let done = |ops: &[CapturedOp]| ops.iter().filter(|op| **op == CapturedOp::Done).count() as f64;
    let all_done = rounds.iter().map(|round| done(round)).sum::<f64>() / rounds.len() as f64;
    let program = |(places, length, before): (Vec<Vec<usize>>, usize, usize), most_off: f64| {
        let same: Vec<Vec<&[CapturedOp]>> = places.iter().map(|at| at.iter().map(|&at| rounds[at]).collect()).collect();
        let cycle = cycle(&same);
        // Rounds without the transactions that the task does now and then, or with more of them, are not what it does.
        let off = (done(&cycle) / length as f64 - all_done).abs();
        let in_time = takes_its_time(rounds, &elapsed, &places, before);
        let before = rounds[..before].iter().flat_map(|round| round.iter().cloned());
        (in_time && off <= most_off * all_done && (all_done == 0.0 || done(&cycle) > 0.0))
            .then(|| CapturedProgram { first: first.iter().cloned().chain(before).collect(), for_ever: cycle })
    };
    let close = |found| program(found, MOST_OFF_DONE);
    let any = |found| program(found, f64::MAX);
    by_place().find_map(close).or_else(|| by_begin().find_map(close)).or_else(|| by_place().find_map(any))
}

/// Whether a cycle of the rounds at these places takes about the time of all rounds, from the first that is in it on.
fn takes_its_time(rounds: &[&[CapturedOp]], elapsed: &[u64], places: &[Vec<usize>], before: usize) -> bool {
    let mut kept = vec![false; rounds.len()];
    places.iter().flatten().for_each(|&at| kept[at] = true);
    let (mut all, mut left_out, mut paced) = (0.0, 0.0, 0.0);
    for (at, &ns) in elapsed.iter().enumerate().skip(before) {
        all += ns as f64;
        if !kept[at] {
            left_out += ns as f64;
            paced += if rounds[at].last() == Some(&CapturedOp::Receive) { 0.0 } else { ns as f64 };
        }
    }
    left_out <= MOST_TIME_LEFT_OUT * all && paced <= MOST_SLEEP_LEFT_OUT * all
}

/// The rounds that are alike at each place of cycles of so many, one after another from the first on. Returns `None` if
/// these are too few.
fn in_step(shapes: &[usize], length: usize) -> Option<Vec<Vec<usize>>> {
    let most_common: Vec<usize> =
        (0..length).map(|phase| most_common(shapes.iter().skip(phase).step_by(length))).collect();
    let alike = |at: &usize| shapes[*at] == most_common[at % length];
    let same = |phase: usize| (phase..shapes.len()).step_by(length).filter(alike).collect::<Vec<usize>>();
    let same: Vec<Vec<usize>> = (0..length).map(same).collect();
    (same.iter().map(Vec::len).sum::<usize>() as f64 >= LEAST_ALIKE * shapes.len() as f64).then_some(same)
}

/// Where cycles of so many rounds begin. Other rounds may come in between: a cycle goes on from its begin after them.
/// Returns `None` if these are too few.
fn aligned(shapes: &[usize], length: usize) -> Option<Vec<usize>> {
    let mut grams: FxHashMap<&[usize], usize> = FxHashMap::default();
    let first = &shapes[..shapes.len().min(MOST_SEARCHED)];
    first.windows(length).for_each(|gram| *grams.entry(gram).or_default() += 1);
    let most = grams.iter().max_by_key(|&(gram, count)| (*count, std::cmp::Reverse(*gram)))?.0;
    let enough = |begins: &[usize], of: &[usize]| (begins.len() * length) as f64 >= LEAST_ALIKE * of.len() as f64;
    // The same cycle may begin with any of its rounds. What comes first in the window is the least that is left out.
    let rotated = (0..length).map(|by| {
        let mut gram = most.to_vec();
        gram.rotate_left(by);
        (occurrences(first, &gram), gram)
    });
    let (begins, gram) =
        rotated.max_by_key(|(begins, _)| (begins.len(), std::cmp::Reverse(begins.first().copied())))?;
    if !enough(&begins, first) {
        return None;
    }
    let begins = occurrences(shapes, &gram);
    enough(&begins, shapes).then_some(begins)
}

/// Where a sequence begins, from left to right, none in another.
fn occurrences(shapes: &[usize], gram: &[usize]) -> Vec<usize> {
    let (mut begins, mut at) = (Vec::new(), 0);
    while let Some(window) = shapes.get(at..at + gram.len()) {
        let found = window == gram;
        begins.extend(found.then_some(at));
        at += if found { gram.len() } else { 1 };
    }
    begins
}

fn most_common<'a>(values: impl Iterator<Item = &'a usize>) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    values.for_each(|&value| *counts.entry(value).or_default() += 1);
    counts.into_iter().max_by_key(|&(value, count)| (count, std::cmp::Reverse(value))).map_or(0, |(value, _)| value)
}

/// One round in place of many of the same shape: each amount is one of those that they have there.
pub(super) fn pooled(rounds: &[&[CapturedOp]]) -> Vec<CapturedOp> {
    let Some(one) = rounds.first() else { return Vec::new() };
    let amounts = |at: usize| -> Vec<u64> {
        let amount = |round: &&[CapturedOp]| match &round[at] {
            CapturedOp::Run(amount) | CapturedOp::Sleep(amount) => match amount {
                Amount::Ns(ns) => vec![*ns],
                Amount::OneOf(values) => values.clone(),
            },
            _ => Vec::new(),
        };
        rounds.iter().flat_map(amount).collect()
    };
    let op = |(at, op): (usize, &CapturedOp)| match op {
        CapturedOp::Run(_) => CapturedOp::Run(distribution(amounts(at))),
        CapturedOp::Sleep(_) => CapturedOp::Sleep(distribution(amounts(at))),
        other => other.clone(),
    };
    one.iter().enumerate().map(op).collect()
}

/// At most [`VALUES`] values with the mean of all.
pub(super) fn distribution(mut all: Vec<u64>) -> Amount {
    all.sort_unstable();
    if all.first() == all.last() {
        return Amount::Ns(all.first().copied().unwrap_or(0));
    }
    let parts = VALUES.min(all.len());
    let part = |number: usize| &all[number * all.len() / parts..(number + 1) * all.len() / parts];
    let mean = |values: &[u64]| (values.iter().sum::<u64>() + values.len() as u64 / 2) / values.len() as u64;
    Amount::OneOf((0..parts).map(|number| mean(part(number))).collect())
}

/// Does the programs of tasks that wake each other without time, as far as they can go by turns. Returns whether all do
/// some rounds, without messages piling up. Where only its owner reads a mailbox, the order of turns does not matter
/// to who comes how far; those that read one mailbox do the same. Sleeps end when nobody else can go on.
pub(super) fn runs_for_ever(programs: &BTreeMap<TaskNr, CapturedProgram>, shared: &Shared) -> bool {
    let mut mail: FxHashMap<TaskNr, u32> = FxHashMap::default();
    let mut at: FxHashMap<TaskNr, (usize, u32)> = programs.keys().map(|&task| (task, (0, 0))).collect();
    let mut asleep: FxHashSet<TaskNr> = FxHashSet::default();
    let mailbox = |task: TaskNr| shared.get(&task).copied().unwrap_or(task);
    while at.values().any(|&(_, rounds)| rounds < ROUNDS) {
        let mut moved = false;
        for (&task, program) in programs {
            let (step, rounds) = at.get_mut(&task).expect("all are there");
            // A round at a time, so that nobody is far ahead of those that he wakes.
            let stop = (*rounds + 1).min(MOST_ROUNDS);
            while *rounds < stop && !asleep.contains(&task) {
                let first = program.first.len();
                let op = program.first.get(*step).or_else(|| program.for_ever.get(step.checked_sub(first)?));
                match op {
                    Some(CapturedOp::Receive) => match mail.get_mut(&mailbox(task)).filter(|count| **count > 0) {
                        Some(count) => *count -= 1,
                        None => break,
                    },
                    Some(CapturedOp::Send { to, .. }) => {
                        let count = mail.entry(*to).or_default();
                        *count += 1;
                        if *count > MOST_WAITING {
                            return false;
                        }
                    }
                    Some(op) if op.waits() => _ = asleep.insert(task),
                    _ => {}
                }
                moved = true;
                *step += 1;
                if *step >= first + program.for_ever.len() {
                    (*step, *rounds) = (first, *rounds + 1);
                }
            }
        }
        if !moved && asleep.drain().count() == 0 {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ns: u64) -> CapturedOp {
        CapturedOp::Run(Amount::Ns(ns))
    }

    fn send(to: TaskNr) -> CapturedOp {
        CapturedOp::Send { to, sync: true }
    }

    fn cycle(first: Vec<CapturedOp>, for_ever: Vec<CapturedOp>) -> CapturedProgram {
        CapturedProgram { first, for_ever }
    }

    #[test]
    fn who_waits_for_nobody_does_not_run_on_while_others_wait_for_ever() {
        let alone = cycle(Vec::new(), vec![run(1)]);
        let stuck = cycle(Vec::new(), vec![CapturedOp::Receive, run(1)]);
        assert!(!runs_for_ever(&BTreeMap::from([(0, alone), (1, stuck)]), &Shared::default()));
    }

    /// The cycle of rounds of which each took this long, ns.
    fn of_rounds(ops: &[CapturedOp], took: impl Fn(usize) -> u64) -> Option<CapturedProgram> {
        let waits = ops.iter().filter(|op| op.waits()).count();
        let mut now = 0;
        let end = |at| {
            now += took(at);
            now
        };
        of(ops, &(0..waits).map(end).collect::<Vec<_>>())
    }

    #[test]
    fn a_burst_after_each_expiry_of_a_timer_is_no_cycle_without_the_timer() {
        let mut ops = vec![CapturedOp::Receive];
        for _ in 0..3 {
            ops.extend((0..3).flat_map(|_| [run(20), send(1), CapturedOp::Receive]));
            ops.extend([run(20), CapturedOp::Sleep(Amount::Ns(100_000))]);
        }
        let of_burst = |at: usize| if at.is_multiple_of(4) { 100_000 } else { 46 };
        // There are too few rounds for a cycle of four.
        assert_eq!(of_rounds(&ops, of_burst), None);
        let burst = ops[1..].to_vec();
        for _ in 0..4 {
            ops.extend(burst.iter().cloned());
        }
        let found = of_rounds(&ops, of_burst).expect("a cycle of four waits");
        assert_eq!(found.for_ever.iter().filter(|op| op.waits()).count(), 4);
        assert!(found.for_ever.contains(&CapturedOp::Sleep(Amount::Ns(100_000))));
        // If the timer is as short as a round trip it still paces the task.
        let even = of_rounds(&ops, |_| 46).expect("a cycle of four waits");
        assert_eq!(even.for_ever, found.for_ever);
    }

    #[test]
    fn a_round_is_found_though_some_are_two_in_one() {
        let mut ops = vec![run(3), CapturedOp::Receive];
        for n in 0..40 {
            ops.extend([run(100 + n), send(1)]);
            if n % 10 == 0 {
                ops.extend([run(100), send(1)]);
            }
            ops.push(CapturedOp::Receive);
        }
        let found = of_rounds(&ops, |_| 100).expect("most rounds are alike");
        assert_eq!(found.first, [run(3), CapturedOp::Receive]);
        assert!(matches!(
            &found.for_ever[..],
            [CapturedOp::Run(Amount::OneOf(_)), CapturedOp::Send { .. }, CapturedOp::Receive]
        ));
        let CapturedOp::Run(work) = &found.for_ever[0] else { unreachable!() };
        assert_eq!(work.mean(), 120, "of the rounds that are alike only");
    }

    #[test]
    fn a_cycle_may_have_several_waits() {
        let mut ops = vec![CapturedOp::Receive];
        for _ in 0..20 {
            ops.extend([run(5), CapturedOp::Receive, run(7), send(1), CapturedOp::Sleep(Amount::Ns(9))]);
        }
        let found = of_rounds(&ops, |_| 100).expect("they are alike");
        assert_eq!(found.for_ever, ops[1..6]);
        let irregular: Vec<_> = (0..60).flat_map(|n| vec![send(n * n % 7); 1 + (n % 5) as usize]).collect();
        let irregular: Vec<_> = irregular.chunks(3).flat_map(|ops| [ops, &[CapturedOp::Receive]].concat()).collect();
        assert_eq!(of_rounds(&irregular, |_| 100), None);
    }

    #[test]
    fn a_cycle_goes_on_after_what_breaks_into_it() {
        // A lock that was waited for now and then.
        let waited = |n: usize| n % 7 == 2 || n % 11 == 5;
        let shapes: Vec<usize> =
            (0..40).flat_map(|n| [0, 0, 0, 0, 0, 1].into_iter().chain(waited(n).then_some(2))).collect();
        let begins = aligned(&shapes, 6).expect("it is a cycle of six");
        assert_eq!((begins.len(), begins[0]), (40, 0));
        assert!(begins.iter().all(|&begin| shapes[begin..begin + 6] == [0, 0, 0, 0, 0, 1]));
        assert_eq!(aligned(&shapes, 4), None);
    }

    #[test]
    fn a_distribution_keeps_the_mean() {
        let values: Vec<u64> = (0..1000).map(|n| n * n).collect();
        let mean = values.iter().sum::<u64>() / 1000;
        let Amount::OneOf(few) = distribution(values) else { panic!("they differ") };
        assert_eq!(few.len(), VALUES);
        assert!((few.iter().sum::<u64>() / 64).abs_diff(mean) < mean / 50);
    }

    #[test]
    fn rounds_that_do_not_fit_together_are_found_without_time() {
        let client = cycle(vec![run(1), send(1), CapturedOp::Receive], vec![run(1), send(1), CapturedOp::Receive]);
        let server = cycle(vec![CapturedOp::Receive], vec![run(1), send(0), CapturedOp::Receive]);
        let none = Shared::new();
        let pair = BTreeMap::from([(0, client.clone()), (1, server.clone())]);
        assert!(runs_for_ever(&pair, &none));

        let both_wait = cycle(vec![CapturedOp::Receive], client.for_ever.clone());
        assert!(!runs_for_ever(&BTreeMap::from([(0, both_wait), (1, server.clone())]), &none), "a deadlock");

        let twice = cycle(client.first.clone(), vec![send(1), send(1), run(1), CapturedOp::Sleep(Amount::Ns(1))]);
        assert!(!runs_for_ever(&BTreeMap::from([(0, twice), (1, server)]), &none), "messages pile up");
    }
}
