//! Compares the two implementations in the states that random operations lead to.

use crate::runqueue_reference::fast::Fast;
use crate::runqueue_reference::system::{Op, QUEUES, QueueState, System, TaskState};
use crate::support::random::Random;
use wakelab_sched::runqueue::{FairRules, Policy, Prev};

/// The number of operations on one system, after which a new one is made.
const LENGTH: u32 = 400;

/// Runs random operations, and asserts that everything is equal after each, until `states` states were compared and as
/// many joining tasks were compared with a running one for preemption. `make` returns the rules, the start of virtual
/// time and the slow implementation. `overflowed` returns whether the kernel's own numbers have left their range, so
/// there is nothing to compare with.
pub fn equal_in_states<S: System>(
    states: u64,
    mut make: impl FnMut(&mut Random) -> (FairRules, u64, S),
    overflowed: impl Fn(&S) -> bool,
) {
    let mut random = Random(1);
    let (mut compared, mut checks, mut wins) = (0, 0, 0);
    while compared < states || checks < states {
        let (rules, start, mut slow) = make(&mut random);
        let mut fast = Fast::of(rules, start);
        let (mut now, mut gone) = (1_000_000_000, Vec::new());
        let (mut queues, mut tasks) = (fast.queues(), fast.tasks());
        for _ in 0..LENGTH {
            now += pause(&mut random);
            gone.resize(tasks.len(), false);
            let Some(op) = operation(&mut random, &queues, &tasks, &gone) else { continue };
            if let Op::Schedule { queue, prev: Prev::Exits } = op {
                queues[queue].curr.into_iter().for_each(|task| gone[task] = true);
            }
            fast.apply(now, op);
            slow.apply(now, op);
            if overflowed(&slow) {
                break;
            }
            let after = fast.queues();
            assert_eq!(after, slow.queues(), "{rules:?}: {op:?} at {now}");
            let state = fast.tasks();
            assert_eq!(state, slow.tasks(), "{rules:?}: {op:?} at {now}");
            compared += 1;
            if compared % 64 == 0 {
                assert_eq!(fast.validate(), Ok(()), "{rules:?}: {op:?} at {now}");
            }
            if let Op::Fork { queue, .. } | Op::Wake { queue, .. } | Op::Migrate { queue, .. } = op {
                checks += u64::from(queues[queue].curr.is_some());
                wins += u64::from(after[queue].need_resched > queues[queue].need_resched);
            }
            (queues, tasks) = (after, state);
        }
    }
    println!("{compared} states, {checks} checks for preemption, of which {wins} asked for a reschedule");
    assert!(wins * 20 > checks, "preemption is tried");
}

/// The time until the next operation, ns.
fn pause(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => 0,
        1 | 2 => random.below(20_000),
        3..6 => random.below(1_500_000),
        6 => random.below(6_000_000),
        _ => random.below(40_000_000),
    }
}

/// An operation that is possible in this state, most often a wake-up. There are at most 9 tasks.
fn operation(random: &mut Random, queues: &[QueueState], tasks: &[TaskState], gone: &[bool]) -> Option<Op> {
    let queue = random.below(QUEUES as u64) as usize;
    let chosen = |may: &dyn Fn(usize) -> bool| (0..tasks.len()).filter(|&t| !gone[t] && may(t)).collect::<Vec<_>>();
    let policy =
        [Policy::Normal, Policy::Normal, Policy::Normal, Policy::Batch, Policy::Idle][random.below(5) as usize];
    let nice = if random.chance(40) { 0 } else { random.below(40) as i8 - 20 };
    let slice = if random.chance(40) { 0 } else { 100_000 + random.below(8_000_000) };
    let runs = |task: usize| queues.iter().any(|queue| queue.curr == Some(task));
    Some(match random.below(100) {
        0..8 if gone.iter().filter(|&&gone| !gone).count() < 9 => Op::Fork { queue, policy, nice, slice },
        0..50 => {
            let task = random.of(chosen(&|t| !tasks[t].on_rq || tasks[t].delayed))?;
            Op::Wake { task, queue, sync: random.chance(50) }
        }
        50..54 => Op::Tick { queue },
        54..56 => Op::Update { queue },
        56..70 => Op::Schedule { queue, prev: Prev::Runs },
        70..88 => Op::Schedule { queue, prev: Prev::Sleeps },
        88 => Op::Schedule { queue, prev: Prev::Exits },
        89..92 => Op::Yield { queue },
        92..94 => Op::Nice { task: random.of(chosen(&|_| true))?, nice },
        94..96 => Op::Slice { task: random.of(chosen(&|_| true))?, slice },
        _ => Op::Migrate { task: random.of(chosen(&|t| tasks[t].on_rq && !runs(t)))?, queue },
    })
}
