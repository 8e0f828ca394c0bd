//! Compares the two implementations in many states.

use crate::runqueue_reference::drive::{operation, pause};
use crate::runqueue_reference::fast::Fast;
use crate::runqueue_reference::system::{Op, System};
use crate::support::random::Random;
use wakelab_sched::runqueue::{FairRules, Prev};

/// Operations on one system; then a new one.
const LENGTH: u32 = 400;

/// Runs random operations until in `states` states after one everything was equal, and until as many were checks whether a
/// task that joins preempts a running one. `make` gives the rules and the slow implementation; `wrong` says that the
/// kernel's own numbers have left their range, so that there is nothing to compare with.
pub fn equal_in_states<S: System>(
    states: u64,
    mut make: impl FnMut(&mut Random) -> (FairRules, u64, S),
    wrong: impl Fn(&S) -> bool,
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
            if wrong(&slow) {
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
