//! Programs from what tasks did.
//!
//! A wait that another task ended becomes a read of the task's own mailbox, a channel, and the wake-up a message into
//! it: a reply waits for its request, whatever the policy does to either. A wait that a timer or an interrupt ended
//! stays a sleep.
//!
//! A window that is repeated for ever cannot deadlock: it ends with as many messages sent to each mailbox as were read
//! from it, only its owner reads a mailbox, and senders never wait. What was recorded is one order in which a round
//! comes to its end, and so does every other order. The tasks of a group end their rounds together: what one task does
//! for others without anybody having to sleep is not recorded, so that nothing else would keep a task that never
//! slept from doing many rounds while others do one.

use super::timeline::{Step, TaskNr, TimedStep, Timeline, Timelines};

/// An amount of work or of time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Amount {
    /// That many ns.
    Ns(u64),
    /// One of these, ns, each time.
    OneOf(Vec<u64>),
}

impl Amount {
    /// The mean, ns.
    pub(super) fn mean(&self) -> u64 {
        match self {
            Amount::Ns(ns) => *ns,
            Amount::OneOf(values) => values.iter().sum::<u64>() / values.len().max(1) as u64,
        }
    }
}

/// A step of a captured program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CapturedOp {
    Run(Amount),
    /// What follows, up to the next `Run`, `Receive` or sleep, is done in an interrupt.
    Softirq,
    Send {
        to: TaskNr,
        sync: bool,
    },
    Receive,
    Sleep(Amount),
    /// Sleeps until this time of the run, ns.
    SleepUntil(u64),
    /// Sleeps until a timer expires that has this period, ns.
    Timer(u64),
    Fork(TaskNr),
    /// Waits until all children have exited.
    WaitForChildren,
    Exec,
    /// Waits until all tasks of the group that do the window again and again have come here.
    EndOfRound,
    Begin,
    Done,
}

impl CapturedOp {
    /// Whether the task sleeps here until something happens.
    pub(super) fn waits(&self) -> bool {
        matches!(self, CapturedOp::Receive | CapturedOp::Sleep(_) | CapturedOp::SleepUntil(_) | CapturedOp::Timer(_))
    }

    /// The step without its amount. Sleeps are alike, whatever ends them.
    pub(super) fn shape(&self) -> CapturedOp {
        match self {
            CapturedOp::Run(_) => CapturedOp::Run(Amount::Ns(0)),
            CapturedOp::Sleep(_) | CapturedOp::SleepUntil(_) | CapturedOp::Timer(_) => CapturedOp::Sleep(Amount::Ns(0)),
            other => other.clone(),
        }
    }
}

/// Whether and how often the steps of a program are done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeats {
    Once,
    ForEver,
}

/// What a task does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CapturedProgram {
    /// Done once, first.
    pub(super) first: Vec<CapturedOp>,
    /// Done next, for ever; empty if the program ends.
    pub(super) for_ever: Vec<CapturedOp>,
}

impl CapturedProgram {
    /// All steps.
    pub(super) fn ops(&self) -> impl Iterator<Item = &CapturedOp> {
        self.first.iter().chain(&self.for_ever)
    }

    /// Whether it ends its rounds together with others of its group.
    pub(super) fn ends_rounds(&self) -> bool {
        self.for_ever.contains(&CapturedOp::EndOfRound)
    }
}

/// What becomes of a sleep that a timer or an interrupt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleeps {
    /// It ends at the time at which it ended.
    Until,
    /// It is as long as it was.
    Lengths,
    /// It ends with the period of the task's timer, if it has one, or is as long as it was.
    Periods,
}

/// How far the times between expiries of a timer may differ, of their mean.
const PERIOD_SPREAD: f64 = 0.1;
/// How many expiries a period is taken from, at least.
const LEAST_EXPIRIES: usize = 4;

/// Builds the program of a task from its steps up to `to_ns`, which it does as often as `repeats` says. Without
/// transactions in the source, a transaction is what a task does between two waits (`marks`).
pub(super) fn of_window(lines: &Timelines, task: TaskNr, to_ns: u64, repeats: Repeats, marks: bool) -> CapturedProgram {
    let line = &lines.tasks[task as usize];
    let for_ever = repeats == Repeats::ForEver && line.forked_by().is_none();
    let exact = repeats == Repeats::Once;
    let sleeps = if exact { Sleeps::Until } else { Sleeps::Lengths };
    let mut ops = steps(lines, line, to_ns, sleeps, marks);
    // Tasks that fork in every round would be ever more if they did not wait for their children.
    let forks = ops.iter().any(|op| matches!(op, CapturedOp::Fork(_)));
    if for_ever {
        // What a task does not do again before the end of the window, it does not do at once in the next round either.
        let first = ops.iter().find(|op| !matches!(op, CapturedOp::Begin | CapturedOp::Run(Amount::Ns(0))));
        let since = asleep_since(line, to_ns).or_else(|| last_seen(line, to_ns, &ops));
        if let Some(since) = since
            && first != Some(&CapturedOp::Receive)
        {
            ops.push(CapturedOp::Sleep(Amount::Ns(to_ns.min(lines.to_ns).saturating_sub(since))));
        }
        take_time(&mut ops);
        ops.extend(forks.then_some(CapturedOp::WaitForChildren));
        ops.push(CapturedOp::EndOfRound);
        CapturedProgram { first: Vec::new(), for_ever: ops }
    } else {
        ops.extend((forks && !exact).then_some(CapturedOp::WaitForChildren));
        CapturedProgram { first: ops, for_ever: Vec::new() }
    }
}

/// Adds a ns of work to a round that has none: rounds without time would be done for ever at one moment.
pub(super) fn take_time(round: &mut Vec<CapturedOp>) {
    if !round.iter().any(|op| matches!(op, CapturedOp::Run(amount) if amount.mean() > 0)) {
        round.push(CapturedOp::Run(Amount::Ns(1)));
    }
}

/// Since when a task sleeps at `to_ns`, if it does.
fn asleep_since(line: &Timeline, to_ns: u64) -> Option<u64> {
    match line.steps.iter().find(|timed| timed.t_ns > to_ns) {
        Some(TimedStep { step: Step::Wait { began_ns, .. }, .. }) => Some(*began_ns).filter(|&began| began <= to_ns),
        Some(_) => None,
        None => line.asleep_since,
    }
}

/// When a task that never waited was seen last. It may have ended, or its sleep was lost.
fn last_seen(line: &Timeline, to_ns: u64, ops: &[CapturedOp]) -> Option<u64> {
    if ops.iter().any(CapturedOp::waits) {
        return None;
    }
    line.steps.iter().take_while(|timed| timed.t_ns <= to_ns).last().map(|timed| timed.t_ns)
}

/// The steps of a task up to `to_ns` as those of a program. There is a `Run` before each other step, if only of 0 ns,
/// so that rounds which differ only in whether some work was left look alike.
pub(super) fn steps(lines: &Timelines, line: &Timeline, to_ns: u64, sleeps: Sleeps, marks: bool) -> Vec<CapturedOp> {
    let period = period(&line.steps).filter(|_| sleeps == Sleeps::Periods);
    let mut ops = vec![CapturedOp::Begin];
    let mut work = 0;
    let mut then = |work: &mut u64, op: &[CapturedOp]| {
        ops.push(CapturedOp::Run(Amount::Ns(std::mem::take(work))));
        ops.extend_from_slice(op);
    };
    for timed in line.steps.iter().take_while(|timed| timed.t_ns <= to_ns) {
        match timed.step {
            Step::Run(ns) => work += ns.round() as u64,
            Step::Wake { wakee, sync, interrupt: true } => {
                then(&mut work, &[CapturedOp::Softirq, CapturedOp::Send { to: wakee, sync }]);
            }
            Step::Wake { wakee, sync, interrupt: false } => then(&mut work, &[CapturedOp::Send { to: wakee, sync }]),
            Step::Wait { began_ns, by } => {
                let wait = match by {
                    Some(_) => CapturedOp::Receive,
                    None if sleeps == Sleeps::Until => CapturedOp::SleepUntil(timed.t_ns.saturating_sub(lines.from_ns)),
                    None => match period {
                        Some(ns) => CapturedOp::Timer(ns),
                        None => CapturedOp::Sleep(Amount::Ns(timed.t_ns.saturating_sub(began_ns))),
                    },
                };
                match marks {
                    true => then(&mut work, &[CapturedOp::Done, wait, CapturedOp::Begin]),
                    false => then(&mut work, &[wait]),
                }
            }
            Step::Yielded { .. } => {}
            // A child that does nothing in the window is none.
            Step::Fork(child) if lines.tasks[child as usize].acts_by(to_ns) => {
                then(&mut work, &[CapturedOp::Fork(child)]);
            }
            Step::Fork(_) => {}
            Step::Exec => then(&mut work, &[CapturedOp::Exec]),
            Step::Done => then(&mut work, &[CapturedOp::Done, CapturedOp::Begin]),
        }
    }
    if work > 0 {
        then(&mut work, if marks { &[CapturedOp::Done] } else { &[] });
    }
    ops
}

/// The steps without work of 0 ns, but where it says that what follows is no longer in an interrupt.
pub(super) fn without_idle_steps(ops: &[CapturedOp]) -> Vec<CapturedOp> {
    let mut in_softirq = false;
    let mut kept = Vec::with_capacity(ops.len());
    for (at, op) in ops.iter().enumerate() {
        let nothing = *op == CapturedOp::Run(Amount::Ns(0));
        let sends = matches!(ops.get(at + 1), Some(CapturedOp::Send { .. }));
        if nothing && !(in_softirq && sends) {
            continue;
        }
        in_softirq = match op {
            CapturedOp::Softirq => true,
            CapturedOp::Run(_) => false,
            other => in_softirq && !other.waits(),
        };
        kept.push(op.clone());
    }
    kept
}

/// The period of a task's timer, ns: the median time between two ends of sleeps, if most of these times are close to
/// it, and the timer expired all the time. The lengths of the sleeps must differ by more than that: tasks that take
/// turns on a CPU do the same at regular times, too, and sleep as long as they say.
fn period(steps: &[TimedStep]) -> Option<u64> {
    let sleeps: Vec<(u64, u64)> = steps
        .iter()
        .filter_map(|timed| match timed.step {
            Step::Wait { began_ns, by: None } => Some((began_ns, timed.t_ns)),
            _ => None,
        })
        .collect();
    if sleeps.len() <= LEAST_EXPIRIES {
        return None;
    }
    let between = spread(sleeps.windows(2).map(|pair| pair[1].1.saturating_sub(pair[0].1)).collect());
    let span = sleeps.last().map_or(0, |last| last.1) - sleeps[0].1;
    let all_the_time = (between.0 * (sleeps.len() as u64 - 1)).abs_diff(span) as f64 <= PERIOD_SPREAD * span as f64;
    let lengths = spread(sleeps.iter().map(|(began, ended)| ended.saturating_sub(*began)).collect());
    let absolute = |(median, part): (u64, f64)| median as f64 * part;
    let steadier = absolute(between) < absolute(lengths);
    (all_the_time && between.1 <= PERIOD_SPREAD && steadier && between.0 > 0).then_some(between.0)
}

/// The median, and the middle half of the values as a part of it.
fn spread(mut values: Vec<u64>) -> (u64, f64) {
    values.sort_unstable();
    let at = |pct: usize| values[(values.len() - 1) * pct / 100];
    (at(50), (at(75) - at(25)) as f64 / at(50).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(steps: &[(u64, Step)]) -> (Timelines, Timeline) {
        let steps = steps.iter().map(|&(t_ns, step)| TimedStep { t_ns, step }).collect();
        (Timelines::default(), Timeline { steps, ..Timeline::default() })
    }

    fn sleep(began_ns: u64) -> Step {
        Step::Wait { began_ns, by: None }
    }

    #[test]
    fn a_timer_keeps_its_period_whatever_the_work() {
        let steps: Vec<_> = (1..10u64)
            .flat_map(|n| [(n * 1000, sleep(n * 1000 - 400 - 50 * n)), (n * 1000 + 500, Step::Run(100.0))])
            .collect();
        let (lines, line) = line(&steps);
        let ops = super::steps(&lines, &line, u64::MAX, Sleeps::Periods, false);
        assert!(ops.contains(&CapturedOp::Timer(1000)), "{ops:?}");
    }

    #[test]
    fn a_sleep_of_a_length_keeps_its_length() {
        let mut at = 0;
        let mut steps = Vec::new();
        for n in 0..10 {
            steps.push((at + 700, sleep(at)));
            at += 700 + 300 * (1 + n % 4);
            steps.push((at, Step::Run(300.0)));
        }
        let (lines, line) = line(&steps);
        let ops = super::steps(&lines, &line, u64::MAX, Sleeps::Periods, false);
        assert!(ops.contains(&CapturedOp::Sleep(Amount::Ns(700))), "{ops:?}");
    }

    #[test]
    fn a_message_of_a_softirq_is_sent_in_one_and_the_next_is_not() {
        let wake = |interrupt| Step::Wake { wakee: 1, sync: false, interrupt };
        let (lines, line) = line(&[(1, Step::Run(5.0)), (2, wake(true)), (3, wake(true)), (4, wake(false))]);
        let send = CapturedOp::Send { to: 1, sync: false };
        let run = |ns| CapturedOp::Run(Amount::Ns(ns));
        let softirq = CapturedOp::Softirq;
        let expected =
            [CapturedOp::Begin, run(5), softirq.clone(), send.clone(), softirq, send.clone(), run(0), send.clone()];
        assert_eq!(without_idle_steps(&super::steps(&lines, &line, u64::MAX, Sleeps::Periods, false)), expected);
    }
}
