//! Streams: tasks that send and never wait, and tasks that do nothing but read what these send.
//!
//! With more tasks than CPUs many messages find their reader awake. Nothing in a recording tells of these: the writer
//! of a pipe or socket wakes nobody where nobody waits, and try_to_wake_up() traces `sched_waking` only for a task
//! whose state says that it sleeps (ttwu_state_match()). But they leave their work. A reader that took two messages
//! between two sleeps has done the work of two, and a writer that goes through its readers in turn, and seems to
//! leave one out, has done the work of two sends. So each round of a reader is taken for as many as its work, or its
//! transactions, are, and each gap of a writer for as many sends as its order of readers says. If both come to the
//! same number of messages, this is what the group does.

use super::cycle::{distribution, pooled};
use super::program::{Amount, CapturedOp, CapturedProgram, Sleeps, steps, take_time};
use super::timeline::{Step, TaskNr, Timeline, Timelines, family};
use std::collections::{BTreeMap, BTreeSet};

/// How many messages of a reader are needed; one that read fewer does what others of its name do.
const LEAST_MESSAGES: usize = 8;
/// A writer waits, and a reader sends, at most once in so many messages.
const RARELY: usize = 50;
/// The part of the window that a task of a stream may sleep until a timer or a device wakes it: what paces a task is
/// not left out.
const MOST_ASLEEP: f64 = 0.1;
/// The part of a reader's rounds that must be one or several of the same.
const LEAST_ALIKE: f64 = 0.75;
/// By how much the number of messages that are sent may differ from that of those that are read.
const MOST_UNBALANCED: f64 = 0.2;
/// The part of rounds whose work may be further than [`OFF_WHOLE`] from a whole multiple of the least. If the works
/// were anything, it would be 0.4.
const MOST_OFF_WHOLE: f64 = 0.2;
const OFF_WHOLE: f64 = 0.3;

/// The programs of a group that is a stream, with all messages. Returns `None` if it is none.
pub(super) fn of(lines: &Timelines, tasks: &[TaskNr], marks: bool) -> Option<BTreeMap<TaskNr, CapturedProgram>> {
    if tasks.iter().any(|&task| lines.tasks[task as usize].forked_by().is_some()) {
        return None;
    }
    let length = lines.to_ns.saturating_sub(lines.from_ns) as f64;
    if tasks.iter().any(|&task| asleep_ns(&lines.tasks[task as usize]) > MOST_ASLEEP * length) {
        return None;
    }
    let (writers, readers) = kinds(lines, tasks)?;
    let sends: BTreeMap<TaskNr, Vec<Sent>> =
        writers.iter().map(|&task| (task, sends(&lines.tasks[task as usize], &readers))).collect();
    // They may all go through their readers alike; if they do not, each has an order of its own.
    let all = order(sends.values());
    let works = all.as_ref().and_then(|order| usual_work(sends.values(), order));
    let (mut sent, mut read) = (0, 0);
    let mut programs = BTreeMap::new();
    for (&task, sends) in &sends {
        let own = || order(std::iter::once(sends));
        let order = all.clone().or_else(own)?;
        let usual = usual_work(std::iter::once(sends), &order).or(works)?;
        let (program, messages) = writer(sends, &order, usual);
        sent += messages;
        programs.insert(task, program);
    }
    let mut of_family: BTreeMap<&str, Vec<Vec<CapturedOp>>> = BTreeMap::new();
    let mut seldom = Vec::new();
    for &task in &readers {
        let line = &lines.tasks[task as usize];
        let ops = steps(lines, line, u64::MAX, Sleeps::Periods, marks);
        let rounds: Vec<&[CapturedOp]> = ops.split_inclusive(CapturedOp::waits).collect();
        let first: Vec<CapturedOp> = rounds.first()?.to_vec();
        let (units, messages) = units(&rounds[1..], marks)?;
        read += messages;
        if units.len() < LEAST_MESSAGES {
            seldom.push((task, first));
        } else {
            programs.insert(task, reader(first, &units, marks));
        }
        of_family.entry(family(&line.comm)).or_default().extend(units);
    }
    for (task, first) in seldom {
        let units = of_family.get(family(&lines.tasks[task as usize].comm)).filter(|units| !units.is_empty())?;
        programs.insert(task, reader(first, units, marks));
    }
    let balanced = sent.abs_diff(read) as f64 <= MOST_UNBALANCED * read as f64;
    (balanced && read >= LEAST_MESSAGES).then_some(programs)
}

/// How long a task slept until a timer or a device woke it, ns. What its steps begin with is of before the window.
fn asleep_ns(line: &Timeline) -> f64 {
    let slept = line.steps.iter().skip(1).filter_map(|timed| match timed.step {
        Step::Wait { began_ns, by: None } => Some(timed.t_ns.saturating_sub(began_ns) as f64),
        _ => None,
    });
    slept.sum()
}

/// The tasks that only send, and those that only read. Those that did neither in the window are what others of their
/// name are. Returns `None` if there are others.
fn kinds(lines: &Timelines, tasks: &[TaskNr]) -> Option<(BTreeSet<TaskNr>, BTreeSet<TaskNr>)> {
    let (mut writers, mut readers) = (BTreeSet::new(), BTreeSet::new());
    let mut neither = Vec::new();
    for &task in tasks {
        let steps = &lines.tasks[task as usize].steps;
        let waits = steps.iter().filter(|timed| matches!(timed.step, Step::Wait { .. })).count();
        let sends = steps.iter().filter(|timed| matches!(timed.step, Step::Wake { .. })).count();
        match (waits, sends) {
            (0, 0) => neither.push(task),
            (waits, sends) if waits * RARELY <= sends => _ = writers.insert(task),
            (waits, sends) if sends * RARELY <= waits => _ = readers.insert(task),
            _ => return None,
        }
    }
    let name = |task: &TaskNr| family(&lines.tasks[*task as usize].comm);
    for task in neither {
        let as_writer = writers.iter().any(|other| name(other) == name(&task));
        match as_writer ^ readers.iter().any(|other| name(other) == name(&task)) {
            true if as_writer => _ = writers.insert(task),
            true => _ = readers.insert(task),
            false => return None,
        }
    }
    (!writers.is_empty() && !readers.is_empty()).then_some((writers, readers))
}

/// A send, with the work before it, ns.
#[derive(Clone, Copy, Debug)]
struct Sent {
    to: TaskNr,
    work: f64,
    sync: bool,
    interrupt: bool,
}

/// What a writer sends to the readers.
fn sends(line: &Timeline, readers: &BTreeSet<TaskNr>) -> Vec<Sent> {
    let mut sends: Vec<Sent> = Vec::new();
    let mut work = 0.0;
    for timed in &line.steps {
        match timed.step {
            Step::Run(ns) => work += ns,
            Step::Wake { wakee, sync, interrupt } if readers.contains(&wakee) => {
                sends.push(Sent { to: wakee, work: std::mem::take(&mut work), sync, interrupt });
            }
            _ => {}
        }
    }
    sends
}

/// How far apart two sends are in an order of readers: from 1 to their number.
fn apart(order: &[TaskNr], pair: &[Sent]) -> Option<usize> {
    let place = |task: TaskNr| order.iter().position(|&other| other == task);
    let (from, to) = (place(pair[0].to)?, place(pair[1].to)?);
    Some((to + order.len() - from - 1) % order.len() + 1)
}

/// The median work of a send that followed the one before it in this order.
fn usual_work<'a>(sends: impl Iterator<Item = &'a Vec<Sent>>, order: &[TaskNr]) -> Option<f64> {
    let mut single: Vec<f64> = sends
        .flat_map(|sends| sends.windows(2))
        .filter(|pair| apart(order, pair) == Some(1) && pair[1].work > 0.0)
        .map(|pair| pair[1].work)
        .collect();
    single.sort_unstable_by(f64::total_cmp);
    single.get(single.len() / 2).copied()
}

/// Whether an amount of work is that of one message: within a half of the median. What is longer holds what cannot be
/// told from work, such as the wait for a lock.
fn is_usual(ns: u64, median: f64) -> bool {
    (0.5 * median..=1.5 * median).contains(&(ns as f64))
}

/// What a writer does that goes through its readers in this order, and how many messages it has sent in the window.
fn writer(sends: &[Sent], order: &[TaskNr], usual: f64) -> (CapturedProgram, usize) {
    let (mut amounts, mut messages) = (Vec::new(), 0);
    for pair in sends.windows(2) {
        let Some(least) = apart(order, pair) else { continue };
        // It may have been round once more, or several times.
        let around = ((pair[1].work / usual - least as f64) / order.len() as f64).round().max(0.0) as usize;
        messages += least + around * order.len();
        amounts.extend((least == 1 && around == 0).then_some(pair[1].work.round() as u64));
    }
    amounts.retain(|&ns| is_usual(ns, usual));
    let amount = if amounts.is_empty() { Amount::Ns(usual.round() as u64) } else { distribution(amounts) };
    let most = |of: fn(&Sent) -> bool| 2 * sends.iter().filter(|sent| of(sent)).count() > sends.len();
    let (sync, interrupt) = (most(|sent| sent.sync), most(|sent| sent.interrupt));
    let send = |&to: &TaskNr| {
        let softirq = interrupt.then_some(CapturedOp::Softirq);
        [CapturedOp::Run(amount.clone())].into_iter().chain(softirq).chain([CapturedOp::Send { to, sync }])
    };
    let mut for_ever: Vec<CapturedOp> = order.iter().flat_map(send).collect();
    take_time(&mut for_ever);
    // It is somewhere in its order as the window begins: writers that began together would all meet at each reader.
    let begins = sends.first().and_then(|sent| order.iter().position(|&task| task == sent.to)).unwrap_or(0);
    let first = if begins == 0 { Vec::new() } else { order[begins..].iter().flat_map(send).collect() };
    (CapturedProgram { first, for_ever }, messages)
}

/// The order in which writers go through their readers, from the first by number: each is followed by the one that was
/// seen most often after it. Returns `None` if that is no order of all.
fn order<'a>(sends: impl Iterator<Item = &'a Vec<Sent>>) -> Option<Vec<TaskNr>> {
    let mut after: BTreeMap<TaskNr, BTreeMap<TaskNr, usize>> = BTreeMap::new();
    for pair in sends.flat_map(|sends| sends.windows(2)) {
        *after.entry(pair[0].to).or_default().entry(pair[1].to).or_default() += 1;
    }
    let first = *after.keys().next()?;
    let mut order = vec![first];
    while order.len() <= after.len() {
        let next = after.get(order.last()?)?.iter().max_by_key(|&(task, count)| (*count, std::cmp::Reverse(*task)))?.0;
        if *next == first {
            break;
        }
        order.push(*next);
    }
    (order.len() == after.len()).then_some(order)
}

/// The steps of a round, and the amounts of work between them: one more than steps.
#[derive(Clone, Debug, Default)]
struct Round {
    steps: Vec<CapturedOp>,
    works: Vec<u64>,
}

impl Round {
    fn of(ops: &[CapturedOp], marks: bool) -> Self {
        let mut round = Round { steps: Vec::new(), works: vec![0] };
        for op in ops {
            match op {
                CapturedOp::Run(amount) => *round.works.last_mut().expect("it has one") += amount.mean(),
                // Without transactions in the source these only say where a wait was.
                CapturedOp::Begin | CapturedOp::Done if marks => {}
                op if op.waits() => {}
                op => {
                    round.steps.push(op.clone());
                    round.works.push(0);
                }
            }
        }
        round
    }

    fn work(&self) -> u64 {
        self.works.iter().sum()
    }

    /// How many times in one this is a round with these steps; `None` if it is another one.
    fn times(&self, steps: &[CapturedOp]) -> Option<usize> {
        let whole = self.steps.chunks(steps.len().max(1)).all(|part| part == steps);
        (whole && !self.steps.is_empty()).then(|| self.steps.len() / steps.len().max(1))
    }

    /// The rounds that this one is, each with so many steps.
    fn split(&self, nr: usize) -> Vec<Vec<CapturedOp>> {
        let work = |at: usize| CapturedOp::Run(Amount::Ns(self.works[at]));
        let part = |from: usize| {
            let mut ops: Vec<CapturedOp> =
                (from..from + nr).flat_map(|at| [work(at), self.steps[at].clone()]).collect();
            let last = from + nr == self.steps.len();
            ops.push(if last { work(from + nr) } else { CapturedOp::Run(Amount::Ns(0)) });
            ops
        };
        (0..self.steps.len()).step_by(nr.max(1)).map(part).collect()
    }
}

/// What a reader did for the message that woke it, of rounds with no other, and the number of all messages. A message
/// that woke nobody may have been sent on any CPU, so that what its cold cache lines cost cannot be told from work.
/// Returns `None` if the rounds are not one or several of the same.
fn units(rounds: &[&[CapturedOp]], marks: bool) -> Option<(Vec<Vec<CapturedOp>>, usize)> {
    let read = |round: &&&[CapturedOp]| round.last() == Some(&CapturedOp::Receive);
    let rounds: Vec<Round> = rounds.iter().filter(read).map(|round| Round::of(round, marks)).collect();
    let mut kinds: Vec<&[CapturedOp]> = rounds.iter().map(|round| &round.steps[..]).collect();
    kinds.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    kinds.dedup();
    let alike = |steps: &[CapturedOp]| -> Vec<Vec<Vec<CapturedOp>>> {
        if steps.is_empty() {
            let plain: Vec<u64> = rounds.iter().filter(|round| round.steps.is_empty()).map(Round::work).collect();
            return whole_parts(&plain);
        }
        rounds.iter().filter(|round| round.times(steps).is_some()).map(|round| round.split(steps.len())).collect()
    };
    if rounds.is_empty() {
        return Some((Vec::new(), 0));
    }
    let found = kinds.iter().map(|steps| alike(steps));
    let mut enough = found.filter(|alike| alike.len() as f64 >= LEAST_ALIKE * rounds.len() as f64);
    let mut rounds = enough.next()?;
    let messages = rounds.iter().map(Vec::len).sum();
    rounds.retain(|parts| parts.len() == 1);
    let work = |ops: &[CapturedOp]| ops.iter().map(|op| if let CapturedOp::Run(ns) = op { ns.mean() } else { 0 }).sum();
    let mut works: Vec<u64> = rounds.iter().map(|parts| work(&parts[0])).collect();
    works.sort_unstable();
    let median = works.get(works.len() / 2).copied().unwrap_or(0) as f64;
    let units = rounds.into_iter().flatten().filter(|ops| is_usual(work(ops), median));
    Some((units.collect(), messages))
}

/// A reader that does these for ever, one for each message.
fn reader(first: Vec<CapturedOp>, units: &[Vec<CapturedOp>], marks: bool) -> CapturedProgram {
    let mut for_ever = pooled(&units.iter().map(|unit| &unit[..]).collect::<Vec<_>>());
    if marks {
        for_ever.insert(0, CapturedOp::Begin);
        for_ever.push(CapturedOp::Done);
    }
    take_time(&mut for_ever);
    for_ever.push(CapturedOp::Receive);
    CapturedProgram { first, for_ever }
}

/// Rounds of nothing but work, each as the parts that it is if the works are whole multiples of the least. If they are
/// not, each is one.
fn whole_parts(works: &[u64]) -> Vec<Vec<Vec<CapturedOp>>> {
    let mut sorted = works.to_vec();
    sorted.sort_unstable();
    let low = sorted.get(sorted.len() / 10).copied().unwrap_or(0);
    let singles = &sorted[..sorted.partition_point(|&work| 2 * work < 3 * low)];
    let least = singles.get(singles.len() / 2).copied().unwrap_or(0).max(1) as f64;
    let off = |work: u64| (work as f64 / least - (work as f64 / least).round()).abs() > OFF_WHOLE;
    let nr_off = works.iter().filter(|&&work| off(work)).count();
    let are_whole = nr_off as f64 <= MOST_OFF_WHOLE * works.len() as f64;
    let parts = |&work: &u64| {
        let times = if are_whole { (work as f64 / least).round().max(1.0) as u64 } else { 1 };
        (0..times).map(|_| vec![CapturedOp::Run(Amount::Ns(work / times))]).collect()
    };
    works.iter().map(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::super::timeline::TimedStep;
    use super::*;

    /// Two writers that go through three readers in turn, with work of 100 ns for each message. Every fourth message
    /// finds its reader awake, and the reader does the work of two, 50 ns each, before it sleeps again.
    fn lines() -> Timelines {
        let mut lines = Timelines::default();
        lines.tasks.resize(5, Timeline::default());
        let (mut t_ns, mut owed) = (0, [0u32; 3]);
        for n in 0..600u32 {
            let (writer, reader) = (n as usize % 2, (n as usize / 2 + n as usize % 2) % 3);
            t_ns += 200;
            let seen = n % 8 != 3;
            let mut push = |task: usize, step| lines.tasks[task].steps.push(TimedStep { t_ns, step });
            push(writer, Step::Run(100.0));
            owed[reader] += 1;
            if seen {
                push(writer, Step::Wake { wakee: 2 + reader as TaskNr, sync: true, interrupt: false });
                push(2 + reader, Step::Wait { began_ns: t_ns - 50, by: Some(writer as TaskNr) });
                push(2 + reader, Step::Run(f64::from(50 * std::mem::take(&mut owed[reader]))));
            }
        }
        lines
    }

    #[test]
    fn messages_that_woke_nobody_are_found_by_their_work() {
        let programs = of(&lines(), &[0, 1, 2, 3, 4], true).expect("a stream");
        for task in [0, 1] {
            let sends: Vec<TaskNr> = programs[&task]
                .for_ever
                .iter()
                .filter_map(|op| if let CapturedOp::Send { to, .. } = op { Some(*to) } else { None })
                .collect();
            assert_eq!(sends, [2, 3, 4]);
            assert_eq!(programs[&task].for_ever[0], CapturedOp::Run(Amount::Ns(100)));
        }
        for task in [2, 3, 4] {
            let expected = [CapturedOp::Begin, CapturedOp::Run(Amount::Ns(50)), CapturedOp::Done, CapturedOp::Receive];
            assert_eq!(programs[&task].for_ever, expected);
        }
    }

    #[test]
    fn who_waits_or_answers_is_no_stream() {
        let mut lines = lines();
        for n in 0..100 {
            let step = Step::Wait { began_ns: n, by: Some(2) };
            lines.tasks[0].steps.push(TimedStep { t_ns: 1_000_000 + n, step });
        }
        assert_eq!(of(&lines, &[0, 1, 2, 3, 4], true), None);
    }

    #[test]
    fn work_of_any_amount_is_not_cut_to_pieces() {
        let works: Vec<u64> = (0..100).map(|n| 100 + 7 * n).collect();
        assert!(whole_parts(&works).iter().all(|parts| parts.len() == 1));
        let works: Vec<u64> = (0..100).map(|n| 100 * (1 + u64::from(n % 5 == 0)) + n % 3).collect();
        assert_eq!(whole_parts(&works).iter().map(Vec::len).sum::<usize>(), 120);
    }
}
