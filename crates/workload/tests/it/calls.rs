//! Mutexes, conditions, barriers, timers: what of them is refused.

use wakelab_workload::{Call, Channel, Kind, Op, Program, Task, TimerMode, Work, Workload, synthetic};

const SOME: Op = Op::Run(Work::uniform(1, 0));
const AGAIN: Op = Op::Repeat { to: 0, times: None };

fn lock(mutex: u32) -> Op {
    Op::Call(Call::Lock { mutex })
}

fn unlock(mutex: u32) -> Op {
    Op::Call(Call::Unlock { mutex })
}

fn cond_wait(cond: u32, mutex: u32) -> Op {
    Op::Call(Call::CondWait { cond, mutex })
}

fn signal(cond: u32) -> Op {
    Op::Call(Call::Signal { cond })
}

fn meet(barrier: u32) -> Op {
    Op::Call(Call::Barrier { barrier })
}

/// A task for each program, all with the same four resources, of capacity 2.
fn tasks_of(programs: &[&[Op]]) -> Workload {
    let program = |(i, ops): (usize, &&[Op])| Program { name: format!("p{i}"), ops: ops.to_vec() };
    let first = synthetic::ping_pong(1).tasks[0].clone();
    let task =
        |i: usize| Task { name: format!("t{i}"), program: i as u32, channels: [0, 1, 2, 3].into(), ..first.clone() };
    Workload {
        programs: programs.iter().enumerate().map(program).collect(),
        channels: (0..4).map(|i| Channel::new(format!("r{i}"), 2)).collect(),
        tasks: (0..programs.len()).map(task).collect(),
        ..synthetic::ping_pong(1)
    }
}

fn says(programs: &[&[Op]]) -> Option<String> {
    tasks_of(programs).validate(1).err().map(|error| error.to_string())
}

fn refused(programs: &[&[Op]], expected: &str) {
    assert_eq!(says(programs).as_deref(), Some(expected));
}

#[test]
fn a_mutex_is_unlocked_by_who_holds_it_and_locked_by_who_does_not() {
    assert_eq!(says(&[&[lock(0), lock(1), SOME, unlock(0), unlock(1), AGAIN]]), None);
    let unlocks = "which it does not hold; lock it first";
    refused(&[&[SOME, unlock(0)]], &format!("program p0, step 1: unlocks r0, {unlocks}"));
    refused(&[&[lock(0), unlock(0), unlock(0)]], &format!("program p0, step 2: unlocks r0, {unlocks}"));
    refused(&[&[lock(1), unlock(0)]], &format!("program p0, step 1: unlocks r0, {unlocks}"));
    refused(&[&[lock(0), lock(0)]], "program p0, step 1: locks r0, which it already holds: it would wait for itself");
}

#[test]
fn a_mutex_is_held_neither_at_the_end_nor_more_with_each_round() {
    let ends = "ends the task while it holds r0; unlock it first";
    refused(&[&[lock(0), SOME]], &format!("program p0, step 1: {ends}"));
    refused(&[&[lock(0), Op::Exit]], &format!("program p0, step 1: {ends}"));
    refused(
        &[&[SOME, lock(0), AGAIN]],
        "program p0, step 2: goes back to step 0 holding r0, where it was not held; expected the same each time",
    );
    refused(
        &[&[lock(0), SOME, unlock(0), Op::Repeat { to: 1, times: Some(2) }]],
        "program p0, step 3: goes back to step 1 not holding r0, where it was held; expected the same each time",
    );
    assert_eq!(says(&[&[lock(0), SOME, Op::Repeat { to: 1, times: Some(2) }, unlock(0)]]), None);
}

#[test]
fn who_waits_for_a_condition_holds_its_mutex_and_is_signalled() {
    let waits: &[Op] = &[lock(0), cond_wait(1, 0), unlock(0), SOME, AGAIN];
    let signals: &[Op] = &[SOME, signal(1), AGAIN];
    assert_eq!(says(&[waits, signals]), None);
    assert_eq!(says(&[waits, &[SOME, Op::Call(Call::Broadcast { cond: 1 }), AGAIN]]), None);
    refused(
        &[&[cond_wait(1, 0), SOME], signals],
        "program p0, step 0: waits for r1 with r0, which it does not hold; lock it first",
    );
    refused(&[waits], "channel r1: is waited for, but nothing signals it; add a signal");
    refused(&[signals], "channel r1: is signalled, but nothing waits for it; add a wait, or remove the signal");
    refused(
        &[waits, &[lock(2), cond_wait(1, 2), unlock(2), SOME], signals],
        "channel r1: is waited for with r0 and r2; expected the same mutex for all waits",
    );
}

#[test]
fn as_many_tasks_have_a_barrier_as_meet_there() {
    let meets: &[Op] = &[SOME, meet(0), AGAIN];
    assert_eq!(says(&[meets, meets]), None);
    let says_2 = |tasks| {
        format!(
            "channel r0: 2 tasks meet at this barrier, but {tasks} have it in their programs; expected the same number"
        )
    };
    refused(&[meets], &says_2(1));
    refused(&[meets, meets, meets], &says_2(3));
    // A task counts once, however often it comes.
    assert_eq!(says(&[&[meet(0), SOME, meet(0)], meets]), None);
    let forks: &[Op] = &[Op::Fork { program: 1 }];
    let mut workload = tasks_of(&[forks, meets]);
    workload.tasks.truncate(1);
    let error = workload.validate(1).unwrap_err().to_string();
    assert!(error.starts_with("channel r0: a forked task uses this barrier"), "{error}");
}

#[test]
fn a_resource_is_one_thing() {
    let send = Op::Send { channel: 0, sync: false };
    refused(&[&[send, lock(0), unlock(0)]], "channel r0: is used both as a channel and as a mutex; expected one use");
    refused(
        &[&[signal(1), SOME], &[SOME, meet(1)]],
        "channel r1: is used both as a condition and as a barrier; expected one use",
    );
    let workload = tasks_of(&[&[lock(0), cond_wait(1, 0), unlock(0)], &[signal(1), Op::Recv { channel: 3 }]]);
    assert_eq!(workload.kinds(), Ok(vec![Kind::Mutex, Kind::Condition, Kind::Channel, Kind::Channel]));
}

#[test]
fn numbers_of_calls_are_in_their_ranges() {
    let timer = |period_ns| Op::Call(Call::Timer { timer: 0, period_ns, mode: TimerMode::Relative });
    refused(&[&[timer(0)]], "program p0, step 0: the timer's period is 0; expected more than 0");
    refused(&[&[Op::Call(Call::Nice(20))]], "program p0, step 0: nice is 20; expected -20 to 19");
    let batch = |room| Op::Call(Call::RecvBatch { channel: 0, room, all: false });
    refused(&[&[batch(0)]], "program p0, step 0: waits for room of 0 messages; expected 1 or more");
    refused(
        &[&[batch(3)]],
        "channel r0: holds 2 messages, but a step waits for room for 3; expected at most what it holds",
    );
    assert_eq!(says(&[&[batch(2), timer(1), Op::Call(Call::Nice(-20)), AGAIN]]), None);
}

#[test]
fn timers_signals_and_meetings_take_time_but_locks_and_yields_do_not() {
    let timeless = |programs: &[&[Op]]| says(programs).is_some_and(|error| error.contains("loops for ever"));
    let yields = Op::Call(Call::Yield);
    assert!(timeless(&[&[yields, AGAIN]]));
    assert!(timeless(&[&[lock(0), unlock(0), AGAIN]]));
    assert!(timeless(&[&[Op::Call(Call::SleepUntil { at_ns: 5 }), AGAIN]]));
    assert!(!timeless(&[&[Op::Call(Call::Timer { timer: 0, period_ns: 5, mode: TimerMode::Absolute }), AGAIN]]));
    // All who meet wait for the one that works.
    assert!(timeless(&[&[meet(0), AGAIN], &[meet(0), AGAIN]]));
    assert!(!timeless(&[&[meet(0), AGAIN], &[SOME, meet(0), AGAIN]]));
    let waits: &[Op] = &[lock(0), cond_wait(1, 0), unlock(0), AGAIN];
    assert!(!timeless(&[waits, &[SOME, signal(1), AGAIN]]));
    assert!(timeless(&[waits, &[signal(1), lock(2), unlock(2), AGAIN]]));
}
