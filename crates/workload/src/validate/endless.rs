//! Forks that end, and loops in which time passes. A simulator would fork until memory is full, or repeat a loop
//! without time at one instant for ever.

use super::forks::{Families, children_first, forked, reached};
use super::{TASKS_MAX, WrongStep, all_forks};
use crate::error::{About, WorkloadError};
use crate::{Call, Op, Program, Task, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Checks that no fork leads back to its own program, that tasks forked in an endless loop are waited for in it, and
/// that there are not too many tasks at a time.
pub(super) fn check_forks(workload: &Workload) -> Result<(), WorkloadError> {
    let programs = &workload.programs;
    let Some(order) = children_first(&forked(programs)) else {
        let back = all_forks(programs).find(|&(program, _, child)| reached(programs, [child])[program]);
        let (program, step, child) = back.expect("a fork leads back");
        return Err(comes_back(&programs[child], step).in_program(&programs[program]));
    };
    let leaves = leaves_tasks(programs, &order);
    for (program, step, child) in all_forks(programs) {
        if times(&programs[program].ops, step, leaves[child]).is_none() {
            return Err(never_ends(&programs[child], step).in_program(&programs[program]));
        }
    }
    let most = most_tasks(programs, &order, &leaves);
    let total = workload.tasks.iter().fold(0_u64, |sum, task| sum.saturating_add(most[task.program as usize]));
    if total > TASKS_MAX {
        let what = format!("there can be {total} tasks at once; expected at most {TASKS_MAX}");
        let hint = "put a \"wait\" into a loop that forks, so that its tasks do not pile up";
        // The fork of the program that comes to most.
        let forks = all_forks(programs).max_by_key(|&(program, _, _)| most[program]);
        return Err(match forks {
            Some((program, step, child)) => {
                let what = format!("forks {}: {what}", programs[child].name);
                WrongStep { hint: Some(hint), ..WrongStep::new(step, what) }.in_program(&programs[program])
            }
            None => WorkloadError::new(About::Whole, what).with_hint(Some(hint.to_owned())),
        });
    }
    Ok(())
}

fn comes_back(child: &Program, step: usize) -> WrongStep {
    WrongStep {
        hint: Some("use `repeat` for what goes on for ever, and fork only programs that do not lead back here"),
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

/// How often a step that forks is done before the children have been waited for; `None` for ever. The tasks that a
/// child
/// forks may outlive it.
fn times(ops: &[Op], step: usize, outlives: bool) -> Option<u64> {
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

/// By program: whether tasks that it or its children forked can outlive it. `order` has children first.
fn leaves_tasks(programs: &[Program], order: &[usize]) -> Vec<bool> {
    let mut leaves = vec![false; programs.len()];
    for &program in order {
        let ops = &programs[program].ops;
        let last = |find: fn(&Op) -> bool| ops.iter().rposition(find);
        let endless = ops.iter().any(|op| matches!(op, Op::Repeat { times: None, .. }));
        let child_leaves = |op: &Op| matches!(*op, Op::Fork { program } if leaves[program as usize]);
        leaves[program] = (!endless && last(|op| matches!(op, Op::Fork { .. })) > last(|op| *op == Op::Wait))
            || ops.iter().any(child_leaves);
    }
    leaves
}

/// By program: the most tasks that a task of it can be at a time, itself and those that it forks. `order` has children
/// first.
fn most_tasks(programs: &[Program], order: &[usize], leaves: &[bool]) -> Vec<u64> {
    let mut most = vec![1_u64; programs.len()];
    for &program in order {
        let ops = &programs[program].ops;
        for (step, op) in ops.iter().enumerate() {
            let Op::Fork { program: child } = *op else { continue };
            let child = child as usize;
            let times = times(ops, step, leaves[child]).unwrap_or(u64::MAX);
            most[program] = most[program].saturating_add(times.saturating_mul(most[child]));
        }
    }
    most
}

/// Returns the first step that repeats without time passing: `(program, step)`.
///
/// A round takes time if it has work, sleep or a timer in it, if it sends to or receives from programs whose own rounds
/// take time (a channel is finite), if it waits for a signal of such programs, meets one at a barrier, or waits for a
/// child that takes time. A mutex does not count, because it may be free, nor do the machine's costs of steps, which
/// may be 0.
pub(super) fn timeless_step(programs: &[Program], tasks: &[Task], families: &Families) -> Option<(usize, usize)> {
    let loops: Vec<Option<Range<usize>>> = programs.iter().map(endless_loop).collect();
    let mut peers = Peers::new(programs, tasks, families, &loops);
    let mut timed: Vec<bool> = loops.iter().map(Option::is_none).collect();
    // A program that takes time can only add others. Those left at the end wait for no program that takes time.
    let mut todo: Vec<usize> = (0..programs.len()).rev().collect();
    while let Some(program) = todo.pop() {
        let round = &programs[program].ops[loops[program].clone().unwrap_or_default()];
        if !timed[program] && round.iter().any(|op| takes_time(op, round, programs, &|op| peers.take_time(program, op)))
        {
            timed[program] = true;
            todo.extend(peers.takes_time(program));
        }
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
        Op::Run(work) | Op::Softirq(work) | Op::Sleep(work) => work.ns > 0,
        Op::Call(Call::Io(work) | Call::RunCpuLocked(work)) => work.ns > 0,
        Op::Call(Call::Spin { hold, .. }) => hold.ns > 0,
        Op::Call(Call::SpinFor { ns, .. }) => *ns > 0,
        // A missed timer takes no time, but then time has passed already.
        _ => matches!(op.call(), Some(Call::Timer { .. } | Call::RunFor { .. })),
    }
}

/// The side of a step at a resource.
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

    /// Returns the side of the tasks that are waited for.
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

/// The programs that do the same at one resource, each in an endless loop of its own.
#[derive(Debug, Default)]
struct Group {
    programs: Vec<usize>,
    /// How many of them take time.
    timed: usize,
}

/// A resource, and what is done there.
type Place = (u32, End);

/// The programs that are waited for at resources.
struct Peers {
    groups: BTreeMap<Place, Group>,
    /// By program, its number of the resource, and what it does there: the resources, of which each task may have
    /// another.
    places: BTreeMap<(usize, u32, End), Vec<Place>>,
}

impl Peers {
    fn new(programs: &[Program], tasks: &[Task], families: &Families, loops: &[Option<Range<usize>>]) -> Self {
        let uses: Vec<Vec<(u32, End)>> = (0..programs.len()).map(|p| uses(&programs[p], loops[p].clone())).collect();
        let mut ends = BTreeSet::new();
        for task in tasks {
            // A task's children share its channels.
            for &program in &families[&(task.program as usize)] {
                let end = |&(number, end): &(u32, End)| (program, number, end, task.channels[number as usize]);
                ends.extend(uses[program].iter().map(end));
            }
        }
        let mut groups: BTreeMap<Place, Group> = BTreeMap::new();
        let mut places: BTreeMap<_, Vec<Place>> = BTreeMap::new();
        for (program, number, end, channel) in ends {
            let group = &mut groups.entry((channel, end)).or_default().programs;
            // A program may have one resource under two numbers.
            if group.last() != Some(&program) {
                group.push(program);
            }
            places.entry((program, number, end)).or_default().push((channel, end));
        }
        Peers { groups, places }
    }

    /// Whether the programs that are waited for in this step take time, as far as is known.
    fn take_time(&self, program: usize, op: &Op) -> bool {
        let Some((number, end)) = End::of(op) else { return true };
        // No other task takes part in the step, or no task runs the program.
        let Some(places) = self.places.get(&(program, number, end)) else { return true };
        let mut others = places.iter().filter_map(|&(channel, end)| self.groups.get(&(channel, end.other())));
        match end {
            // All must come, so one that takes time is enough.
            End::Meet => others.any(|group| group.timed > 0),
            _ => others.all(|group| group.timed == group.programs.len()),
        }
    }

    /// Notes that a program takes time. Returns the programs that may do so because of it.
    fn takes_time(&mut self, program: usize) -> Vec<usize> {
        let own = self.places.range((program, 0, End::Send)..(program + 1, 0, End::Send));
        let own: BTreeSet<Place> = own.flat_map(|(_, places)| places.iter().copied()).collect();
        let mut more = Vec::new();
        for (channel, end) in own {
            let Some(group) = self.groups.get_mut(&(channel, end)) else { continue };
            group.timed += 1;
            if group.timed == 1 || group.timed == group.programs.len() {
                more.extend(self.groups.get(&(channel, end.other())).into_iter().flat_map(|others| &others.programs));
            }
        }
        more
    }
}

/// The resources that an endless loop uses, and what it does there.
fn uses(program: &Program, round: Option<Range<usize>>) -> Vec<(u32, End)> {
    let uses: BTreeSet<_> = program.ops[round.unwrap_or(0..0)].iter().filter_map(End::of).collect();
    uses.into_iter().collect()
}
