//! Locks, conditions, barriers and channels: what holds of random programs, and how deadlocks are told.

use crate::support::{Told, back, call, ns, on_one_cpu, simulate, workload};
use proptest::prelude::*;
use wakelab_sim::SimError;
use wakelab_workload::{Call, Op, Work, Workload};

const MUTEXES: u32 = 3;
const COND: u32 = 3;
const BARRIER: u32 = 4;
const CHANNEL: u32 = 5;
const SEMAPHORE: u32 = 6;

/// One thing that a task does in a round.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Works under a mutex.
    Section(u32, u64),
    /// Works with the semaphore, whose count is 1, and sleeps with it.
    Held(u64),
    /// Waits for the condition under a mutex, and works under it before and after.
    Waits(u64),
    /// Signals it.
    Signals,
    Computes(u64),
    Sleeps(u64),
    Yields,
    Renices(i8),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        4 => (0..MUTEXES, 1u64..60_000).prop_map(|(mutex, ns)| Part::Section(mutex, ns)),
        2 => (1u64..60_000).prop_map(Part::Held),
        1 => (1u64..20_000).prop_map(Part::Waits),
        1 => Just(Part::Signals),
        2 => (1u64..100_000).prop_map(Part::Computes),
        2 => (1u64..100_000).prop_map(Part::Sleeps),
        1 => Just(Part::Yields),
        1 => (-20i8..20).prop_map(Part::Renices),
    ]
}

/// The steps of a part; `marks` gets the mutex or semaphore of each `Done` in it.
fn steps(part: Part, marks: &mut Vec<Option<u32>>) -> Vec<Op> {
    let work = |ns| Op::Run(Work::uniform(ns, 20));
    let mut under = |mutex, ns| {
        marks.push(Some(mutex));
        [Op::Begin, work(ns), Op::Done]
    };
    let lock = |mutex| [call(Call::Lock { mutex })];
    let unlock = |mutex| [call(Call::Unlock { mutex })];
    match part {
        Part::Section(mutex, ns) => [&lock(mutex)[..], &under(mutex, ns), &unlock(mutex)].concat(),
        Part::Held(ns) => {
            let [Op::Begin, work, Op::Done] = under(SEMAPHORE, ns) else { unreachable!("as it is above") };
            let (down, up) = (Call::Down { semaphore: SEMAPHORE }, Call::Up { semaphore: SEMAPHORE });
            vec![call(down), Op::Begin, work, Op::Sleep(Work::uniform(ns, 50)), Op::Done, call(up)]
        }
        Part::Waits(ns) => {
            let wait = [call(Call::CondWait { cond: COND, mutex: 0 })];
            [&lock(0)[..], &under(0, ns), &wait, &under(0, ns), &unlock(0)].concat()
        }
        Part::Signals => vec![call(Call::Signal { cond: COND })],
        Part::Computes(ns) => vec![work(ns)],
        Part::Sleeps(ns) => vec![Op::Sleep(Work::uniform(ns, 50))],
        Part::Yields => vec![call(Call::Yield)],
        Part::Renices(nice) => vec![call(Call::Nice(nice))],
    }
}

/// Tasks that do their parts in each round, and meet at its end; after the last, the first wakes who sends too much for
/// the channel, and a ticker broadcasts all the time, so that nobody waits for a signal for ever.
struct Random {
    workload: Workload,
    rounds: usize,
    /// By task: the mutex of each `Done` in a round; `None` before and after the barrier.
    marks: Vec<Vec<Option<u32>>>,
}

fn random(tasks: &[Vec<Part>], rounds: u32, (room, wakes_all): (u32, bool)) -> Random {
    let mut marks = Vec::new();
    let mut programs: Vec<Vec<Op>> = tasks
        .iter()
        .map(|parts| {
            let mut own = Vec::new();
            let mut ops: Vec<Op> = parts.iter().flat_map(|&part| steps(part, &mut own)).collect();
            own.extend([None, None]);
            marks.push(own);
            ops.extend([Op::Run(ns(100)), Op::Done, call(Call::Barrier { barrier: BARRIER }), Op::Done]);
            ops.extend([Op::Send { channel: CHANNEL, sync: true }, back(ops.len() as u32, 3), back(0, rounds)]);
            ops
        })
        .collect();
    let messages = tasks.len() as u32 * rounds * 3;
    programs.push(vec![
        call(Call::RecvBatch { channel: CHANNEL, room, all: wakes_all }),
        Op::Run(ns(2000)),
        back(0, messages),
    ]);
    programs.push(vec![Op::Sleep(ns(30_000)), call(Call::Broadcast { cond: COND }), back(0, 0)]);
    let all = tasks.len() as u32;
    let resources = [("m0", 1), ("m1", 1), ("m2", 1), ("cond", 1), ("all", all), ("messages", 4), ("semaphore", 1)];
    Random { workload: workload(programs, &resources, None), rounds: rounds as usize, marks }
}

/// No two tasks are under one mutex, or have the semaphore, at one time.
fn exclusive(random: &Random, told: &Told) -> Result<(), TestCaseError> {
    let mut under = vec![Vec::new(); SEMAPHORE as usize + 1];
    for (task, marks) in random.marks.iter().enumerate() {
        let done = told.done.iter().filter(|done| done.0 == task);
        for (&(_, end, latency), mutex) in done.zip(marks.iter().cycle()) {
            if let &Some(mutex) = mutex {
                under[mutex as usize].push((end - latency, end));
            }
        }
    }
    for spans in &mut under {
        spans.sort_unstable();
        prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two hold a mutex: {:?}", spans);
    }
    Ok(())
}

/// Nobody passes the barrier in a round before all have come to it in that round.
fn meets(random: &Random, told: &Told) -> Result<(), TestCaseError> {
    for round in 0..random.rounds {
        let (mut last_comes, mut first_goes) = (0, u64::MAX);
        for (task, marks) in random.marks.iter().enumerate() {
            let times = told.times(task);
            let end = (round + 1) * marks.len();
            last_comes = last_comes.max(times[end - 2]);
            first_goes = first_goes.min(times[end - 1]);
        }
        prop_assert!(last_comes <= first_goes, "round {}: {} and {}", round, last_comes, first_goes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn nobody_is_lost_two_never_hold_a_mutex_and_all_meet_in_each_round(
        machine in prop::sample::select(vec!["test-1c", "test-2c", "test-8c", "test-2llc", "test-2s"]),
        kernel in prop::sample::select(wakelab_kernel::Preset::names()),
        tasks in prop::collection::vec(prop::collection::vec(part(), 0..8), 1..12),
        rounds in 1u32..6,
        room in 1u32..5,
        all: bool,
        seed: u64,
    ) {
        let random = random(&tasks, rounds, (room, all));
        let until = 2_000_000_000;
        let go = || {
            let mut told = Told::default();
            simulate((machine, kernel), &random.workload, (seed, until), false, &mut told).map(|out| (out, told))
        };
        let (out, told) = go().expect("a run");
        // All but the ticker: the tasks and the receiver.
        prop_assert_eq!(told.exits.len(), tasks.len() + 1);
        for (task, marks) in random.marks.iter().enumerate() {
            prop_assert_eq!(told.times(task).len(), marks.len() * random.rounds);
        }
        exclusive(&random, &told)?;
        meets(&random, &told)?;
        for time in &out.cpus {
            prop_assert_eq!(time.work + time.overhead + time.idle, until);
        }
        prop_assert_eq!(go().expect("a run"), (out, told));
    }
}

fn deadlock(programs: Vec<Vec<Op>>, resources: &[(&str, u32)]) -> Vec<String> {
    let error = simulate(("test-2c", "v6.1"), &workload(programs, resources, None), (1, 1 << 34), true, &mut ());
    let SimError::Deadlock { waiting, .. } = error.expect_err("a deadlock") else { panic!("another error") };
    waiting.iter().map(|w| format!("{} waits for {} (step {})", w.task, w.what, w.step)).collect()
}

#[test]
fn a_deadlock_names_the_locks_and_who_holds_them() {
    let lock = |mutex| call(Call::Lock { mutex });
    let program = |first, second| vec![lock(first), Op::Sleep(ns(50_000)), lock(second)];
    let texts = deadlock(vec![program(0, 1), program(1, 0)], &[("a", 1), ("b", 1)]);
    assert_eq!(
        texts,
        [
            "task 0 waits for mutex b, which task 1 holds (step 2)",
            "task 1 waits for mutex a, which task 0 holds (step 2)",
        ]
    );
}

#[test]
fn a_deadlock_names_the_condition_and_how_many_have_come_to_the_barrier() {
    let waits = vec![call(Call::Lock { mutex: 0 }), call(Call::CondWait { cond: 1, mutex: 0 })];
    let meets = vec![call(Call::Barrier { barrier: 2 })];
    let texts = deadlock(vec![waits, meets.clone(), meets], &[("m", 1), ("c", 1), ("b", 3)]);
    assert_eq!(
        texts,
        [
            "task 0 waits for a signal of condition c (step 1)",
            "task 1 waits for barrier b, where 2 of 3 have come (step 0)",
            "task 2 waits for barrier b, where 2 of 3 have come (step 0)",
        ]
    );
}

#[test]
fn who_exits_with_a_mutex_or_unlocks_that_of_another_is_named() {
    let error = |program: Vec<Op>| {
        let workload = workload(vec![program], &[("m", 1)], None);
        simulate(("test-1c", "v6.1"), &workload, (1, 1_000_000), true, &mut ()).expect_err("an error").to_string()
    };
    let exits = error(vec![call(Call::Lock { mutex: 0 }), Op::Run(ns(100))]);
    assert_eq!(exits, "task task 0 exits while it holds mutex m; unlock it before the end");
    let unlocks = error(vec![call(Call::Unlock { mutex: 0 })]);
    assert_eq!(unlocks, "task task 0 unlocks mutex m, which it does not hold");
}

#[test]
fn a_mutex_is_not_handed_over() {
    // Both on one CPU: who unlocks goes on, and has it again before the woken one runs.
    let greedy = vec![
        call(Call::Lock { mutex: 0 }),
        Op::Run(ns(200_000)),
        Op::Sleep(ns(1_000)),
        call(Call::Unlock { mutex: 0 }),
        call(Call::Lock { mutex: 0 }),
        Op::Done,
        call(Call::Unlock { mutex: 0 }),
    ];
    let waits = vec![Op::Run(ns(1_000)), call(Call::Lock { mutex: 0 }), Op::Done, call(Call::Unlock { mutex: 0 })];
    let resources = [("m", 1)];
    let told = on_one_cpu(vec![greedy, waits], &resources, 100_000_000);
    let order: Vec<usize> = told.done.iter().map(|done| done.0).collect();
    assert_eq!(order.len(), 2);
    assert_eq!(told.exits.len(), 2);
    assert_eq!(order[0], 0, "{told:?}");
}

/// Who waits for a semaphore has it as soon as it is up: who asks for it again waits behind (`__up()`).
#[test]
fn a_semaphore_is_handed_over_to_who_waits_first() {
    let (down, up) = (call(Call::Down { semaphore: 0 }), call(Call::Up { semaphore: 0 }));
    let takes = |start| vec![Op::Run(ns(start)), down, Op::Sleep(ns(50_000)), Op::Done, up, back(1, 4)];
    let order = |count| {
        let told = on_one_cpu(vec![takes(1_000), takes(2_000)], &[("s", count)], 100_000_000);
        told.done.iter().map(|done| done.0).collect::<Vec<_>>()
    };
    assert_eq!(order(1), [0, 1, 0, 1, 0, 1, 0, 1]);
    // Two have it at a time, and who is up first is no question of the semaphore.
    assert_eq!(order(2).len(), 8);
    let texts = deadlock(vec![vec![down, down]], &[("s", 1)]);
    assert_eq!(texts, ["task 0 waits for semaphore s (step 1)"]);
}

#[test]
fn a_signal_that_nobody_waits_for_is_lost() {
    let waits = vec![
        Op::Sleep(ns(500_000)),
        call(Call::Lock { mutex: 0 }),
        call(Call::CondWait { cond: 1, mutex: 0 }),
        call(Call::Unlock { mutex: 0 }),
    ];
    let signals = vec![call(Call::Signal { cond: 1 }), Op::Run(ns(1_000))];
    let texts = deadlock(vec![waits, signals], &[("m", 1), ("c", 1)]);
    assert_eq!(texts, ["task 0 waits for a signal of condition c (step 2)"]);
}
