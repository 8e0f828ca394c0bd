//! Loops in which no time can pass. A simulator would go round in them at one instant for ever.

use super::with_children;
use crate::{Call, Op, Program, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The first step that goes round without time: `(program, step)`.
///
/// A round takes time if it has work, sleep or a timer in it, if it sends to or receives from programs whose own rounds
/// take time (a channel is finite), if it waits for a signal of such programs, meets one at a barrier, or waits for a
/// child that takes time. Neither does a mutex count, which may be free, nor what the machine makes steps cost: it may
/// be 0.
pub(super) fn step(programs: &[Program], tasks: &[Task]) -> Option<(usize, usize)> {
    let loops: Vec<Option<Range<usize>>> = programs.iter().map(endless_loop).collect();
    let peers = Peers::new(programs, tasks, &loops);
    let mut timed: Vec<bool> = loops.iter().map(Option::is_none).collect();
    // Each pass can only add; what is left when none is added waits for nobody who takes time.
    loop {
        let takes = |program: usize| {
            let round = &programs[program].ops[loops[program].clone().unwrap_or_default()];
            let peers_do = |op: &Op| match peers.of(program, op) {
                None => true,
                // All must come, so the slowest will do.
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

/// Whether a step of a round takes time, `peers_do` saying it of messages.
fn takes_time(op: &Op, round: &[Op], programs: &[Program], peers_do: &dyn Fn(&Op) -> bool) -> bool {
    match op {
        _ if End::of(op).is_some_and(|(_, end)| end != End::Signal) => peers_do(op),
        // Only a child of the same round is there to be waited for each time.
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
        // A timer that has been missed takes none, but then time has passed already.
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
    /// The task's number of the resource, and what the step does there; `None` where nobody else has a part in it.
    fn of(op: &Op) -> Option<(u32, Self)> {
        match *op {
            Op::Send { channel, .. } => Some((channel, End::Send)),
            Op::Recv { channel } => Some((channel, End::Receive)),
            _ => match op.call()? {
                Call::RecvBatch { channel, .. } => Some((channel, End::Receive)),
                Call::Signal { cond } | Call::Broadcast { cond } => Some((cond, End::Signal)),
                Call::CondWait { cond, .. } => Some((cond, End::WaitForSignal)),
                Call::Barrier { barrier } => Some((barrier, End::Meet)),
                // Neither goes on before the other has come round.
                Call::Ask { list } | Call::Await { list } => Some((list, End::Meet)),
                _ => None,
            },
        }
    }

    /// What they do who are waited for.
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

/// Who is waited for at a resource, in an endless loop of its own.
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
            // A task's children have its channels.
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

    /// The programs that are waited for, or none where nobody else has a part in the step or no task runs the program.
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
