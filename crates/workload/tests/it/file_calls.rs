//! Mutexes, conditions, barriers, timers and nice values in files.

use std::collections::BTreeMap;
use std::fs;
use wakelab_workload::{Call, ChannelCosts, Load, Op, TimerMode, Work, Workload, WorkloadError, build};

/// The lines of its errors are counted in the tests.
const GOOD: &str = r#"[workload]
benchmark = "b"
case = "c"
metric = "throughput"
unit = "u"
better = "higher"

[[mutex]]
name = "m"

[[condition]]
name = "c"

[[barrier]]
name = "all"
per_instance = false

[[barrier]]
name = "own"
participants = 3

[[channel]]
name = "q"
capacity = 8
own_lines = 90
message_lines = 30
waited = "600ns"

[[phase]]
name = "low"
nice = 5
policy = "idle"
ops = [{run = "1us"}]

[[program]]
name = "waits"
ops = [
  "begin", {barrier = "all"}, {lock = "m"}, {cond_wait = "c", mutex = "m"}, {unlock = "m"},
  {barrier = "own"}, {recv = "q", room = 4, all = true}, "done", {phase = "low"}, {nice = -3}, {policy = "normal"},
  "yield", {io = "3ms", jitter = 7}, {spin = "s", hold = "100ns", jitter = 20}, {repeat = {to = 2}},
]

[[program]]
name = "wakes"
ops = [
  {sleep_until = "5ms"}, {barrier = "all"}, {timer = "t", period = "2ms", mode = "absolute"},
  {timer = "u", period = "3ms"}, {timer = "t", period = "1ms", mode = "relative"},
  {signal = "c"}, {broadcast = "c"}, {queue_work = "f", workqueue = "g"}, {send = "q"}, {send = "q"},
  {barrier = "own"}, {repeat = {to = 2}},
]

[[task]]
name = "waits"
program = "waits"
per_instance = 2

[[task]]
name = "wakes"
program = "wakes"

[[spinlock]]
name = "s"

[[semaphore]]
name = "agi"
count = 2
per_instance = false

[[workqueue]]
name = "g"
items = 32

[[program]]
name = "f"
ops = [{down = "agi"}, {run = "10us"}, {up = "agi"}]
"#;

fn read(text: &str, instances: u32) -> Result<Workload, WorkloadError> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), text).unwrap();
    build(file.path().to_str().unwrap(), Load::Instances(instances), 4, &BTreeMap::new())
}

/// What is said where `from` is changed to `to`, from the line on.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let error = read(&GOOD.replacen(from, to, 1), 2).unwrap_err().to_string();
    error.split_once(".toml:").unwrap().1.to_owned()
}

#[test]
fn every_call_is_read() {
    let workload = read(GOOD, 2).unwrap();
    // Numbered by kind: channels, mutexes, conditions, barriers, semaphores, workqueues, spin locks.
    let (q, m, c, all, own, agi, gc, s) = (0, 1, 2, 3, 4, 5, 6, 7);
    let calls = |program: usize| workload.programs[program].ops.iter().filter_map(Op::call).collect::<Vec<_>>();
    assert_eq!(
        calls(0),
        [
            Call::Barrier { barrier: all },
            Call::Lock { mutex: m },
            Call::CondWait { cond: c, mutex: m },
            Call::Unlock { mutex: m },
            Call::Barrier { barrier: own },
            Call::RecvBatch { channel: q, room: 4, all: true },
            Call::IdlePolicy(true),
            Call::Nice(5),
            Call::Nice(-3),
            Call::IdlePolicy(false),
            Call::Yield,
            Call::Io(Work::uniform(3_000_000, 7)),
            Call::Spin { lock: s, hold: Work::uniform(100, 20) },
        ]
    );
    let timer = |timer, period_ms: u64, mode| Call::Timer { timer, period_ns: period_ms * 1_000_000, mode };
    assert_eq!(
        calls(1),
        [
            Call::SleepUntil { at_ns: 5_000_000 },
            Call::Barrier { barrier: all },
            timer(0, 2, TimerMode::Absolute),
            timer(1, 3, TimerMode::Relative),
            timer(0, 1, TimerMode::Relative),
            Call::Signal { cond: c },
            Call::Broadcast { cond: c },
            Call::QueueWork { workqueue: gc, program: 2 },
            Call::Barrier { barrier: own },
        ]
    );
    assert_eq!(calls(2), [Call::Down { semaphore: agi }, Call::Up { semaphore: agi }]);
    let resources: Vec<_> = workload.channels.iter().map(|r| (r.name.as_str(), r.capacity)).collect();
    let expected = [
        ("q 0", 8),
        ("q 1", 8),
        ("m 0", 1),
        ("m 1", 1),
        ("c 0", 1),
        ("c 1", 1),
        ("all", 6),
        ("own 0", 3),
        ("own 1", 3),
        ("agi", 2),
        ("g", 32),
        ("s 0", 1),
        ("s 1", 1),
    ];
    assert_eq!(resources, expected);
    assert_eq!(*workload.tasks.last().unwrap().channels, [1, 3, 5, 6, 8, 9, 10, 12]);
    let costs: Vec<_> = workload.channels.iter().map(|resource| resource.costs).collect();
    assert_eq!(costs[..2], [ChannelCosts { own_lines_pct: 90, message_lines_pct: 30, waited_ns: 600 }; 2]);
    assert!(costs[2..].iter().all(|&costs| costs == ChannelCosts::default()), "{costs:?}");
}

#[test]
fn a_step_and_a_phase_ask_for_slices() {
    let text =
        GOOD.replacen("nice = 5\n", "nice = 5\nslice = \"0ns\"\n", 1).replacen("\"yield\"", "{slice = \"2.5ms\"}", 1);
    let ops = &read(&text, 1).unwrap().programs[0].ops;
    let calls: Vec<_> = ops.iter().filter_map(Op::call).filter(|call| matches!(call, Call::Slice { .. })).collect();
    assert_eq!(calls, [Call::Slice { ns: 0 }, Call::Slice { ns: 2_500_000 }]);
}

#[test]
fn tasks_and_phases_ask_for_utilisation_clamps() {
    let text = GOOD.replacen("nice = 5\n", "nice = 5\nuclamp_max = 300\n", 1);
    let text = text.replacen("[[task]]\n", "[[task]]\nuclamp_min = 20\nuclamp_max = 1024\n", 1);
    let workload = read(&text, 1).unwrap();
    assert_eq!((workload.tasks[0].uclamp_min, workload.tasks[0].uclamp_max), (Some(20), Some(1024)));
    let calls: Vec<_> = workload.programs[0].ops.iter().filter_map(Op::call).collect();
    assert!(calls.contains(&Call::Uclamp { min: None, max: Some(300) }), "{calls:?}");
    let wrong = |min, max| {
        let keys = format!("[[task]]\nuclamp_min = {min}\nuclamp_max = {max}\n");
        read(&GOOD.replacen("[[task]]\n", &keys, 1), 1).unwrap_err().to_string()
    };
    let error = wrong(21, 20);
    assert!(error.contains("the minimum clamp 21 is above the maximum 20; expected at most the maximum"), "{error}");
    let error = wrong(0, 1025);
    assert!(error.contains("`task.uclamp_max`") && error.contains("1024"), "{error}");
}

#[test]
fn resources_that_are_not_there_or_something_else_are_refused_at_their_step() {
    assert_eq!(
        changed("{lock = \"m\"}", "{lock = \"n\"}"),
        "38: `program.ops.lock`: there is no mutex \"n\"; expected m"
    );
    assert_eq!(
        changed("{lock = \"m\"}", "{lock = \"c\"}"),
        "38: `program.ops.lock`: \"c\" is a condition; expected a mutex"
    );
    assert_eq!(
        changed(", mutex = \"m\"}", "}"),
        "38: `program.ops.mutex`: the key is missing; expected the name of a mutex in quotes"
    );
    assert_eq!(
        changed("name = \"m\"", "name = \"c\""),
        "12: `condition.name`: the name \"c\" is used twice; expected another name"
    );
    assert_eq!(
        changed("room = 4, ", ""),
        "39: `program.ops.room`: the key is missing; expected a whole number from 1 to 4294967295"
    );
    assert_eq!(changed("\"2ms\"", "\"0ms\""), "46: `program.ops.period`: expected more than 0, found \"0ms\"");
    assert_eq!(
        changed("\"absolute\"", "\"abs\""),
        "46: `program.ops.mode`: expected \"relative\" or \"absolute\", found \"abs\""
    );
}

#[test]
fn what_validation_refuses_has_its_line() {
    assert_eq!(
        changed("{lock = \"m\"}, ", ""),
        "38: `program.ops`: step 2 waits for c with m, which it does not hold; lock it first"
    );
    assert_eq!(
        changed("participants = 3", "participants = 4"),
        "20: `barrier.participants`: 4 tasks meet at this barrier, but 3 have it in their programs; expected the same \
         number"
    );
    assert_eq!(
        changed("{signal = \"c\"}, {broadcast = \"c\"}, ", ""),
        "12: `condition.name`: is waited for, but nothing signals it; add a signal"
    );
    assert_eq!(
        changed("per_instance = false", "per_instance = false\nparticipants = 6"),
        "17: `barrier.participants`: how many tasks meet at this barrier depends on the load; remove `participants`, \
         and all tasks that use it meet"
    );
}
