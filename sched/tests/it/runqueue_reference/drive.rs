//! Random operations, quickly made.

use crate::runqueue_reference::system::{Op, QUEUES, QueueState, TaskState};
use crate::support::random::Random;
use wakelab_sched::runqueue::{Policy, Prev};

/// How long until the next operation, ns.
pub fn pause(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => 0,
        1 | 2 => random.below(20_000),
        3..6 => random.below(1_500_000),
        6 => random.below(6_000_000),
        _ => random.below(40_000_000),
    }
}

/// An operation that the tasks are fit for, most often a wake-up. There are 9 tasks at most.
pub fn operation(random: &mut Random, queues: &[QueueState], tasks: &[TaskState], gone: &[bool]) -> Option<Op> {
    let queue = random.below(QUEUES as u64) as usize;
    let able = |may: &dyn Fn(usize) -> bool| (0..tasks.len()).filter(|&t| !gone[t] && may(t)).collect::<Vec<_>>();
    let policy =
        [Policy::Normal, Policy::Normal, Policy::Normal, Policy::Batch, Policy::Idle][random.below(5) as usize];
    let nice = if random.chance(40) { 0 } else { random.below(40) as i8 - 20 };
    let slice = if random.chance(40) { 0 } else { 100_000 + random.below(8_000_000) };
    let runs = |task: usize| queues.iter().any(|queue| queue.curr == Some(task));
    Some(match random.below(100) {
        0..8 if gone.iter().filter(|&&gone| !gone).count() < 9 => Op::Fork { queue, policy, nice, slice },
        0..50 => {
            let task = random.of(able(&|t| !tasks[t].on_rq || tasks[t].delayed))?;
            Op::Wake { task, queue, sync: random.chance(50) }
        }
        50..54 => Op::Tick { queue },
        54..56 => Op::Update { queue },
        56..70 => Op::Schedule { queue, prev: Prev::Runs },
        70..88 => Op::Schedule { queue, prev: Prev::Sleeps },
        88 => Op::Schedule { queue, prev: Prev::Exits },
        89..92 => Op::Yield { queue },
        92..94 => Op::Nice { task: random.of(able(&|_| true))?, nice },
        94..96 => Op::Slice { task: random.of(able(&|_| true))?, slice },
        _ => Op::Migrate { task: random.of(able(&|t| tasks[t].on_rq && !runs(t)))?, queue },
    })
}
