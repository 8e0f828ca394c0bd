//! Spin locks: who waits is busy, in line, and the lock bounds what all do together.

use crate::support::{Told, back, call, ns, simulate, workload};
use wakelab_workload::{Call, Op};

const LOCK: u32 = 0;
const HOLD: u64 = 1_000;

/// So many tasks that work and take the lock in turn, each on a CPU of its own; their rounds until 1 ms.
fn rounds(tasks: usize, work: u64) -> Told {
    let round = [Op::Begin, Op::Run(ns(work)), call(Call::Spin { lock: LOCK, hold: ns(HOLD) }), Op::Done, back(0, 0)];
    let programs = vec![round.to_vec(); tasks];
    let mut workload = workload(programs, &[("lock", 1)], None);
    for (cpu, task) in (0..).zip(&mut workload.tasks) {
        task.affinity = Some(vec![cpu]);
    }
    let mut told = Told::default();
    simulate(("test-2llc", "v6.1"), &workload, (1, 1_000_000), true, &mut told).expect("a run");
    told
}

#[test]
fn alone_nobody_waits() {
    let told = rounds(1, 3_000);
    assert!(told.done.len() > 200);
    assert!(told.done.iter().filter(|done| done.2 == 3_000 + HOLD).count() > told.done.len() - 5, "but ticks");
}

#[test]
fn all_together_take_it_once_in_the_time_it_is_held() {
    for tasks in [2, 5, 8] {
        let told = rounds(tasks, 500);
        let (first, last) = (told.done[0].1, told.done[told.done.len() - 1].1);
        let most = (last - first) / HOLD;
        let taken = told.done.len() as u64 - 1;
        assert!(taken <= most && taken > most * 95 / 100, "{tasks} tasks: {taken} of {most}");
    }
}

#[test]
fn it_goes_round_in_the_order_of_asking() {
    let told = rounds(4, 500);
    let order: Vec<usize> = told.done.iter().map(|done| done.0).collect();
    // Ticks may put one behind; else it is the same four over and over.
    let in_turn = order.windows(5).filter(|turn| turn[0] == turn[4]).count();
    assert!(in_turn > order.len() * 9 / 10, "{in_turn} of {}", order.len());
}
