//! Loops in which no time can pass. A simulator would go round in them at one instant for ever.

use crate::{Op, Program, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The first step that goes round without time: `(program, step)`.
///
/// A round takes time if it has work or sleep in it, if it sends to or receives from programs whose own rounds take time
/// (a channel is finite), or if it waits for a child that takes time. Costs of the machine do not count: they may be 0.
pub(crate) fn timeless_step(programs: &[Program], tasks: &[Task]) -> Option<(usize, usize)> {
    let loops: Vec<Option<Range<usize>>> = programs.iter().map(endless_loop).collect();
    let peers = Peers::new(programs, tasks, &loops);
    let mut timed: Vec<bool> = loops.iter().map(Option::is_none).collect();
    // Each pass can only add; what is left when none is added waits for nobody who takes time.
    loop {
        let takes = |program: usize| {
            let round = &programs[program].ops[loops[program].clone().unwrap_or_default()];
            let peers_do = |op: &Op| peers.of(program, op).is_none_or(|peers| peers.iter().all(|&peer| timed[peer]));
            round.iter().any(|op| takes_time(op, round, programs, &peers_do))
        };
        let more: Vec<usize> = (0..programs.len()).filter(|&program| !timed[program] && takes(program)).collect();
        if more.is_empty() {
            break;
        }
        more.into_iter().for_each(|program| timed[program] = true);
    }
    let looping = timed.iter().position(|timed| !timed).and_then(|p| Some((p, loops[p].as_ref()?.end)));
    looping.or_else(|| timeless_fork(programs))
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
        Op::Send { .. } | Op::Recv { .. } => peers_do(op),
        // Only a child of the same round is there to be waited for each time.
        Op::Wait => round.iter().any(|op| match *op {
            Op::Fork { program } => programs[program as usize].ops.iter().any(works),
            _ => false,
        }),
        _ => works(op),
    }
}

fn works(op: &Op) -> bool {
    matches!(op, Op::Run(work) | Op::Softirq(work) | Op::Sleep(work) if work.ns > 0)
}

/// All forks: `(program, step, child)`.
fn forks(programs: &[Program]) -> impl Iterator<Item = (usize, usize, usize)> {
    programs.iter().enumerate().flat_map(|(program, p)| {
        p.ops.iter().enumerate().filter_map(move |(step, op)| match *op {
            Op::Fork { program: child } => Some((program, step, child as usize)),
            _ => None,
        })
    })
}

/// A fork by which a program comes back to itself, with no work in any program on the way.
fn timeless_fork(programs: &[Program]) -> Option<(usize, usize)> {
    let idle = |program: usize| !programs[program].ops.iter().any(works);
    let edges: Vec<_> = forks(programs).filter(|&(from, _, to)| idle(from) && idle(to)).collect();
    edges.iter().find_map(|&(from, step, to)| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![to]);
        while let Some(program) = todo.pop() {
            if seen.insert(program) {
                todo.extend(edges.iter().filter(|edge| edge.0 == program).map(|edge| edge.2));
            }
        }
        seen.contains(&from).then_some((from, step))
    })
}

/// Who is at the other end of a channel, in its endless loop.
struct Peers {
    /// By program, number of its channel, and whether it sends.
    peers: BTreeMap<(usize, u32, bool), BTreeSet<usize>>,
}

impl Peers {
    fn new(programs: &[Program], tasks: &[Task], loops: &[Option<Range<usize>>]) -> Self {
        let uses: Vec<Vec<(u32, bool)>> = (0..programs.len()).map(|p| uses(&programs[p], loops[p].clone())).collect();
        let runs: Vec<BTreeSet<usize>> = (0..programs.len()).map(|p| with_children(p, programs)).collect();
        let mut ends = BTreeSet::new();
        for task in tasks {
            // A task's children have its channels.
            for &program in &runs[task.program as usize] {
                let end = |&(number, sends): &(u32, bool)| (program, number, sends, task.channels[number as usize]);
                ends.extend(uses[program].iter().map(end));
            }
        }
        let mut at: BTreeMap<(u32, bool), BTreeSet<usize>> = BTreeMap::new();
        for &(program, _, sends, channel) in &ends {
            at.entry((channel, sends)).or_default().insert(program);
        }
        let mut peers: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
        for (program, number, sends, channel) in ends {
            let others = at.get(&(channel, !sends)).into_iter().flatten();
            peers.entry((program, number, sends)).or_default().extend(others);
        }
        Peers { peers }
    }

    /// The programs at the other end, or none where the step is no message or no task runs the program.
    fn of(&self, program: usize, op: &Op) -> Option<&BTreeSet<usize>> {
        let key = match *op {
            Op::Send { channel, .. } => (program, channel, true),
            Op::Recv { channel } => (program, channel, false),
            _ => return None,
        };
        self.peers.get(&key)
    }
}

/// The channels that an endless loop uses, and whether it sends into them.
fn uses(program: &Program, round: Option<Range<usize>>) -> Vec<(u32, bool)> {
    let uses: BTreeSet<_> = program.ops[round.unwrap_or(0..0)]
        .iter()
        .filter_map(|op| match *op {
            Op::Send { channel, .. } => Some((channel, true)),
            Op::Recv { channel } => Some((channel, false)),
            _ => None,
        })
        .collect();
    uses.into_iter().collect()
}

/// A program and those that it and its children fork.
pub(crate) fn with_children(program: usize, programs: &[Program]) -> BTreeSet<usize> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![program]);
    while let Some(program) = todo.pop() {
        if seen.insert(program) {
            todo.extend(forks(programs).filter(|fork| fork.0 == program).map(|fork| fork.2));
        }
    }
    seen
}
