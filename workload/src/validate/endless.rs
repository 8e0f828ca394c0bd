//! Forks that end, and loops in which time passes. A simulator would fork until memory is full, or repeat a loop
//! without time at one instant for ever.

use super::{TASKS_MAX, WrongStep, forks, with_children};
use crate::error::{About, WorkloadError};
use crate::{Call, Op, Program, Task, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Checks that no fork leads back to its own program, that tasks forked in an endless loop are waited for in it, and
/// that there are not too many tasks at a time.
pub(super) fn check_forks(workload: &Workload) -> Result<(), WorkloadError> {
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
        .fold(0_u64, |sum, task| sum.saturating_add(most_tasks(programs, task.program as usize, &mut most)));
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

/// How often a step of a program is done before its children have been waited for; `None` for ever.
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

/// Whether tasks that a program or its children forked can outlive it.
fn leaves_tasks(programs: &[Program], program: usize) -> bool {
    with_children(program, programs).iter().any(|&program| {
        let ops = &programs[program].ops;
        let last = |find: fn(&Op) -> bool| ops.iter().rposition(find);
        let endless = ops.iter().any(|op| matches!(op, Op::Repeat { times: None, .. }));
        !endless && last(|op| matches!(op, Op::Fork { .. })) > last(|op| *op == Op::Wait)
    })
}

/// The most tasks that a task of a program can be at a time: itself and those that it forks.
fn most_tasks(programs: &[Program], program: usize, known: &mut Vec<Option<u64>>) -> u64 {
    if let Some(most) = known[program] {
        return most;
    }
    let mut most = 1_u64;
    for (step, op) in programs[program].ops.iter().enumerate() {
        let Op::Fork { program: child } = *op else { continue };
        let times = times(programs, program, step, child as usize).unwrap_or(u64::MAX);
        most = most.saturating_add(times.saturating_mul(most_tasks(programs, child as usize, known)));
    }
    known[program] = Some(most);
    most
}

/// Returns the first step that repeats without time passing: `(program, step)`.
///
/// A round takes time if it has work, sleep or a timer in it, if it sends to or receives from programs whose own rounds
/// take time (a channel is finite), if it waits for a signal of such programs, meets one at a barrier, or waits for a
/// child that takes time. A mutex does not count, because it may be free, nor do the machine's costs of steps, which
/// may be 0.
pub(super) fn timeless_step(programs: &[Program], tasks: &[Task]) -> Option<(usize, usize)> {
    let loops: Vec<Option<Range<usize>>> = programs.iter().map(endless_loop).collect();
    let peers = Peers::new(programs, tasks, &loops);
    let mut timed: Vec<bool> = loops.iter().map(Option::is_none).collect();
    // Each pass can only add programs. Those left when a pass adds none wait for no program that takes time.
    loop {
        let takes = |program: usize| {
            let round = &programs[program].ops[loops[program].clone().unwrap_or_default()];
            let peers_do = |op: &Op| match peers.of(program, op) {
                None => true,
                // All must come, so one that takes time is enough.
                Some(peers) if End::of(op).is_some_and(|(_, end)| end == End::Meet) => {
                    peers.iter().any(|&peer| timed[peer])
                }
                Some(peers) => peers.iter().all(|&peer| timed[peer]),
            };
            round.iter().any(|op| takes_time(op, round, programs, &peers_do))
        };
        let more: Vec<usize> = (0..programs.len()).filter(|&program| !timed[program] && takes(program)).collect();
        if more.is_empty() {
            break;
        }
        more.into_iter().for_each(|program| timed[program] = true);
    }
    timed.iter().position(|timed| !timed).and_then(|p| Some((p, loops[p].as_ref()?.end)))
}

/// The steps of a program's endless loop, without the `Repeat` at its end.
fn endless_loop(program: &Program) -> Option<Range<usize>> {
    program.ops.iter().enumerate().find_map(|(end, op)| match *op {
        Op::Repeat { to, times: None } => Some(to as usize..end),
        _ => None,
    })
}

/// Whether a step of a round takes time. `peers_do` decides for steps that wait for others.
fn takes_time(op: &Op, round: &[Op], programs: &[Program], peers_do: &dyn Fn(&Op) -> bool) -> bool {
    match op {
        _ if End::of(op).is_some_and(|(_, end)| end != End::Signal) => peers_do(op),
        // Only a child of the same round is waited for each time.
        Op::Wait => round.iter().any(|op| match *op {
            Op::Fork { program } => programs[program as usize].ops.iter().any(works),
            _ => false,
        }),
        _ => works(op),
    }
}

fn works(op: &Op) -> bool {
    match op {
        Op::Run(work) | Op::Softirq(work) | Op::Sleep(work) | Op::Call(Call::Io(work)) => work.ns > 0,
        Op::Call(Call::Spin { hold, .. }) => hold.ns > 0,
        // A missed timer takes no time, but then time has passed already.
        _ => matches!(op.call(), Some(Call::Timer { .. } | Call::RunFor { .. })),
    }
}

/// What a step does at a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Send,
    Receive,
    Signal,
    WaitForSignal,
    Meet,
}

impl End {
    /// Returns the task's number of the resource, and what the step does there. Returns `None` if no other task takes
    /// part.
    fn of(op: &Op) -> Option<(u32, Self)> {
        match *op {
            Op::Send { channel, .. } => Some((channel, End::Send)),
            Op::Recv { channel } => Some((channel, End::Receive)),
            _ => match op.call()? {
                Call::RecvBatch { channel, .. } => Some((channel, End::Receive)),
                Call::Signal { cond } | Call::Broadcast { cond } => Some((cond, End::Signal)),
                Call::CondWait { cond, .. } => Some((cond, End::WaitForSignal)),
                Call::Barrier { barrier } => Some((barrier, End::Meet)),
                // Neither goes on before the other has come.
                Call::Ask { list } | Call::Await { list } => Some((list, End::Meet)),
                _ => None,
            },
        }
    }

    /// Returns what the tasks do that are waited for.
    fn other(self) -> Self {
        match self {
            End::Send => End::Receive,
            End::Receive => End::Send,
            End::Signal => End::WaitForSignal,
            End::WaitForSignal => End::Signal,
            End::Meet => End::Meet,
        }
    }
}

/// The programs that are waited for at a resource, each in an endless loop of its own.
struct Peers {
    /// By program, its number of the resource, and what it does there.
    peers: BTreeMap<(usize, u32, End), BTreeSet<usize>>,
}

impl Peers {
    fn new(programs: &[Program], tasks: &[Task], loops: &[Option<Range<usize>>]) -> Self {
        let uses: Vec<Vec<(u32, End)>> = (0..programs.len()).map(|p| uses(&programs[p], loops[p].clone())).collect();
        let runs: Vec<BTreeSet<usize>> = (0..programs.len()).map(|p| with_children(p, programs)).collect();
        let mut ends = BTreeSet::new();
        for task in tasks {
            // A task's children share its channels.
            for &program in &runs[task.program as usize] {
                let end = |&(number, end): &(u32, End)| (program, number, end, task.channels[number as usize]);
                ends.extend(uses[program].iter().map(end));
            }
        }
        let mut at: BTreeMap<(u32, End), BTreeSet<usize>> = BTreeMap::new();
        for &(program, _, end, channel) in &ends {
            at.entry((channel, end)).or_default().insert(program);
        }
        let mut peers: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
        for (program, number, end, channel) in ends {
            let others = at.get(&(channel, end.other())).into_iter().flatten();
            peers.entry((program, number, end)).or_default().extend(others);
        }
        Peers { peers }
    }

    /// Returns the programs that are waited for. Returns `None` if no other task takes part in the step or no task runs
    /// the program.
    fn of(&self, program: usize, op: &Op) -> Option<&BTreeSet<usize>> {
        let (number, end) = End::of(op)?;
        self.peers.get(&(program, number, end))
    }
}

/// The resources that an endless loop uses, and what it does there.
fn uses(program: &Program, round: Option<Range<usize>>) -> Vec<(u32, End)> {
    let uses: BTreeSet<_> = program.ops[round.unwrap_or(0..0)].iter().filter_map(End::of).collect();
    uses.into_iter().collect()
}
