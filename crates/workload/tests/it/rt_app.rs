//! What events, phases and threads of rt-app become.

use std::path::Path;
use wakelab_workload::{Call, Deadline, Op, Realtime, RtApp, TimerMode, Work, Workload};

fn workload(json: &str) -> Workload {
    let (file, warnings) = RtApp::parse(Path::new("a/b.json"), json, false).unwrap();
    assert_eq!(warnings, []);
    file.copies(1).unwrap()
}

/// The steps of the first thread of these.
fn ops(tasks: &str) -> Vec<Op> {
    workload(&format!("{{\"tasks\": {{{tasks}}}}}")).programs[0].ops.clone()
}

fn run(us: u64) -> Op {
    Op::Run(Work::uniform(us * 1000, 0))
}

fn sleep(us: u64) -> Op {
    Op::Sleep(Work::uniform(us * 1000, 0))
}

fn again(to: u32, times: Option<u32>) -> Op {
    Op::Repeat { to, times }
}

fn timer(timer: u32, us: u64, mode: TimerMode) -> Op {
    Op::Call(Call::Timer { timer, period_ns: us * 1000, mode })
}

const LOCK: Op = Op::Call(Call::Lock { mutex: 1 });
const UNLOCK: Op = Op::Call(Call::Unlock { mutex: 1 });
const WAIT: Op = Op::Call(Call::CondWait { cond: 0, mutex: 1 });
const BROADCAST: Op = Op::Call(Call::Broadcast { cond: 0 });

use Op::{Begin, Done};

#[test]
fn events_keep_their_order_though_keys_come_again_and_a_round_is_a_transaction() {
    let ops = ops(r#""t": {"run": 1, "sleep": 2, "run": 3, "sleep2": 0, "runtime9": 40, "yield": "", "run_last": 4}"#);
    let runtime = Op::Call(Call::RunFor { ns: 40_000 });
    let yields = Op::Call(Call::Yield);
    assert_eq!(ops, [Begin, run(1), sleep(2), run(3), sleep(0), runtime, yields, run(4), Done, again(0, None)]);
}

#[test]
fn comments_trailing_commas_and_single_quotes_are_tolerated() {
    let ops = ops("/* a\n * b */ \"t\": {'run': 1, // c\n \"cpus\": [0, 1,],},");
    assert_eq!(ops, [Begin, run(1), Done, again(0, None)]);
}

#[test]
fn a_loop_of_a_thread_without_phases_is_how_often_it_goes_round() {
    assert_eq!(ops(r#""t": {"loop": 3, "run": 1}"#), [Begin, run(1), Done, again(0, Some(3))]);
    assert_eq!(ops(r#""t": {"loop": 1, "run": 1}"#), [Begin, run(1), Done]);
    assert_eq!(ops(r#""t": {"loop": -1, "run": 1}"#), [Begin, run(1), Done, again(0, None)]);
}

#[test]
fn phases_go_round_in_the_rounds_of_their_thread() {
    let two = r#""phases": {"a": {"loop": 5, "run": 1}, "b": {"run": 2, "timer": {"ref": "unique", "period": 9}}}"#;
    let b = timer(0, 9, TimerMode::Relative);
    let once = [Begin, run(1), Done, again(0, Some(5)), Begin, run(2), b, Done];
    assert_eq!(ops(&format!("\"t\": {{{two}}}")), [&once[..], &[again(0, None)]].concat());
    assert_eq!(ops(&format!("\"t\": {{{two}, \"loop\": 2}}")), [&once[..], &[again(0, Some(2))]].concat());
    assert_eq!(ops(&format!("\"t\": {{\"loop\": 1, {two}}}")), once);
}

#[test]
fn timers_are_numbered_by_name_and_absolute_everywhere_if_anywhere() {
    let timers = r#""t": {"timer": {"ref": "uniqueA", "period": 5}, "timer2": {"ref": "uniqueB", "period": 6},
        "timer3": {"ref": "uniqueA", "period": 7, "mode": "absolute"}}"#;
    let (a, r) = (TimerMode::Absolute, TimerMode::Relative);
    assert_eq!(ops(timers)[1..4], [timer(0, 5, a), timer(1, 6, r), timer(0, 7, a)]);
    // A unique timer is each thread's own, and so is its mode.
    let other = r#", "o": {"timer": {"ref": "uniqueB", "period": 5, "mode": "absolute"}}"#;
    assert_eq!(ops(&format!("{timers}{other}"))[2], timer(1, 6, r));
}

#[test]
fn a_delay_comes_first_and_timers_count_from_its_end() {
    assert_eq!(ops(r#""t": {"delay": 7, "run": 1}"#)[..3], [sleep(7), Begin, run(1)]);
    let delayed = ops(r#""t": {"delay": 7, "run": 1, "timer": {"ref": "tick", "period": 20}}"#);
    let first = timer(0, 7, TimerMode::Relative);
    assert_eq!(delayed, [first, Begin, run(1), timer(0, 20, TimerMode::Relative), Done, again(1, None)]);
}

#[test]
fn suspend_and_resume_meet_at_a_condition_and_a_mutex_of_that_name() {
    let ops = workload(
        r#"{"tasks": {"a": {"suspend", "run": 1}, "b": {"run": 2, "resume": "a", "suspend": ""},
            "c": {"sleep": 1, "resume": "b"}}}"#,
    );
    let [a, b, _] = &ops.programs[..] else { panic!("three programs") };
    assert_eq!(a.ops[..5], [Begin, LOCK, WAIT, UNLOCK, run(1)]);
    assert_eq!(b.ops[2..5], [LOCK, BROADCAST, UNLOCK]);
    assert_eq!(b.ops[6], Op::Call(Call::CondWait { cond: 2, mutex: 3 }));
    let names: Vec<_> = ops.channels.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(names, ["condition a", "mutex a", "condition b", "mutex b"]);
}

#[test]
fn sync_signals_and_waits_and_leaves_the_mutex_to_lock_and_unlock() {
    let two = workload(
        r#"{"tasks": {
            "a": {"run": 1, "lock": "m", "sync": {"ref": "q", "mutex": "m"}, "unlock": "m"},
            "b": {"run": 2, "lock": "m", "wait": {"ref": "q", "mutex": "m"}, "unlock": "m", "signal": "q",
                  "broad": "q"}}}"#,
    );
    // Numbered as they are named: the mutex comes first here.
    let (lock, unlock) = (Op::Call(Call::Lock { mutex: 0 }), Op::Call(Call::Unlock { mutex: 0 }));
    let (signal, wait) = (Op::Call(Call::Signal { cond: 1 }), Op::Call(Call::CondWait { cond: 1, mutex: 0 }));
    let broadcast = Op::Call(Call::Broadcast { cond: 1 });
    assert_eq!(two.programs[0].ops[1..6], [run(1), lock, signal, wait, unlock]);
    assert_eq!(two.programs[1].ops[1..7], [run(2), lock, wait, unlock, signal, broadcast]);
}

#[test]
fn threads_that_name_a_barrier_meet_there() {
    let three = workload(
        r#"{"tasks": {"a": {"run": 1, "barrier": "x"},
            "b": {"instance": 2, "run": 2, "barrier": "x", "barrier2": "y"}}}"#,
    );
    let meet: Vec<_> = three.channels.iter().map(|c| (c.name.as_str(), c.capacity)).collect();
    assert_eq!(meet, [("barrier x", 3), ("barrier y", 2)]);
    assert_eq!(three.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["a", "b 0", "b 1"]);
}

#[test]
fn a_forked_thread_sets_what_a_thread_of_the_start_has() {
    let forks = workload(
        r#"{"tasks": {
            "main": {"priority": 3, "loop": 5, "run": 1, "fork": "child"},
            "child": {"instance": 0, "loop": 1, "policy": "SCHED_IDLE", "priority": 2, "cpus": [2, 1], "run": 5}}}"#,
    );
    assert_eq!(forks.tasks.len(), 1);
    assert_eq!(forks.programs[0].ops[2], Op::Fork { program: 1 });
    let sets = [Call::IdlePolicy(true), Call::Nice(2), Call::Affinity { cpus: Some(0) }].map(Op::Call);
    assert_eq!(forks.programs[1].ops, [&sets[..], &[Begin, run(5), Done]].concat());
    assert_eq!(forks.cpu_sets, [[1, 2]]);
}

#[test]
fn phases_set_cpus_policy_and_nice_as_they_begin() {
    let phases = workload(
        r#"{"tasks": {"t": {"cpus": [3, 2, 3], "priority": -5, "phases": {
            "a": {"cpus": [0], "run": 1},
            "b": {"policy": "SCHED_IDLE", "run": 1},
            "c": {"priority": 4, "run": 1}}}}}"#,
    );
    let cpus = |set| Op::Call(Call::Affinity { cpus: Some(set) });
    let (idle, nice) = (Op::Call(Call::IdlePolicy(true)), |nice| Op::Call(Call::Nice(nice)));
    let ops = &phases.programs[0].ops;
    assert_eq!(ops[..4], [cpus(0), Begin, run(1), Done]);
    assert_eq!(ops[4..10], [idle, nice(0), cpus(1), Begin, run(1), Done]);
    assert_eq!(ops[10..13], [nice(4), cpus(1), Begin]);
    assert_eq!(phases.cpu_sets, [vec![0], vec![2, 3]]);
    let task = &phases.tasks[0];
    assert_eq!((task.nice, task.idle_policy, task.affinity.as_deref()), (-5, false, Some(&[2, 3][..])));
}

#[test]
fn dl_runtime_of_a_thread_of_sched_other_is_its_slice() {
    let slices = workload(
        r#"{"tasks": {"t": {"policy": "SCHED_OTHER", "priority": -19, "dl-runtime": 1500, "phases": {
            "a": {"run": 1},
            "b": {"dl-runtime": 0, "run": 1}}},
            "u": {"loop": 1, "run": 1, "fork": "v"},
            "v": {"instance": 0, "loop": 1, "dl-runtime": 200, "run": 1}}}"#,
    );
    let slice = |ns| Op::Call(Call::Slice { ns });
    assert_eq!(slices.tasks.iter().map(|task| task.slice_ns).collect::<Vec<_>>(), [1_500_000, 0]);
    assert_eq!(slices.programs[0].ops[3], slice(0), "kept in the first phase, none from the second on");
    let forked = &slices.programs[2].ops;
    assert!(forked.contains(&slice(200_000)), "{forked:?}");
}

#[test]
fn threads_and_phases_set_utilisation_clamps() {
    let clamped = workload(
        r#"{"tasks": {"t": {"util_min": 100, "util_max": -1, "phases": {
            "a": {"run": 1},
            "b": {"util_min": 0, "util_max": 300, "run": 1}}},
            "u": {"loop": 1, "run": 1, "fork": "v"},
            "v": {"instance": 0, "loop": 1, "util_max": 200, "run": 1}}}"#,
    );
    let clamps: Vec<_> = clamped.tasks.iter().map(|task| (task.uclamp_min, task.uclamp_max)).collect();
    assert_eq!(clamps, [(Some(100), None), (None, None)]);
    let calls = |program: usize| {
        let calls = clamped.programs[program].ops.iter().filter_map(Op::call);
        calls.filter(|call| matches!(call, Call::Uclamp { .. })).collect::<Vec<_>>()
    };
    assert_eq!(calls(0), [Call::Uclamp { min: Some(0), max: Some(300) }]);
    assert_eq!(calls(2), [Call::Uclamp { min: None, max: Some(200) }]);
}

#[test]
fn the_default_policy_is_of_threads_that_have_none() {
    let both = workload(
        r#"{"global": {"default_policy": "SCHED_IDLE"},
            "tasks": {"a": {"run": 1}, "b": {"policy": "SCHED_OTHER", "run": 1}}}"#,
    );
    assert_eq!(both.tasks.iter().map(|task| task.idle_policy).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_load_is_so_many_rt_apps_each_with_resources_of_its_own() {
    let text = r#"{"tasks": {"t": {"instance": 2, "run": 1, "barrier": "x"}}}"#;
    let (file, _) = RtApp::parse(Path::new("a/b.json"), text, false).unwrap();
    let (one, three) = (file.copies(1).unwrap(), file.copies(3).unwrap());
    assert_eq!((one.case.as_str(), one.load.as_str(), one.unit.as_str()), ("b", "2 threads", "loops/s"));
    assert_eq!(three.load, "3 x 2 threads");
    assert_eq!(three.validate(1), Ok(()));
    let channels: Vec<_> = three.tasks.iter().map(|task| (task.name.as_str(), task.channels[0])).collect();
    assert_eq!(channels, [("t 0", 0), ("t 1", 0), ("t 2", 1), ("t 3", 1), ("t 4", 2), ("t 5", 2)]);
    assert_eq!(
        file.copies(600_000).unwrap_err().what,
        "600000 copies of a/b.json make 1200000 threads; expected at most 1000000"
    );
}

#[test]
fn a_thread_that_comes_twice_gets_a_number_as_workgen_gives_it() {
    let two = workload(r#"{"tasks": {"t": {"run": 1}, "t": {"run": 2}}}"#);
    assert_eq!(two.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["t", "t1"]);
}

#[test]
fn phases_and_forks_change_the_policy_as_they_begin() {
    let calls = |json: &str, program: usize| {
        let programs = workload(json).programs;
        programs[program].ops.iter().filter_map(Op::call).collect::<Vec<_>>()
    };
    let deadline = |runtime: u64, deadline: u64, period: u64| {
        let us = |us: u64| us * 1_000;
        let all = Deadline { runtime_ns: us(runtime), deadline_ns: us(deadline), period_ns: us(period) };
        Call::Realtime(Realtime::Deadline(all))
    };
    let text = "{\"tasks\": {\"a\": {\"policy\": \"SCHED_FIFO\", \"priority\": 5, \"phases\": {\
                \"p\": {\"run\": 1}, \
                \"q\": {\"policy\": \"SCHED_DEADLINE\", \"dl-runtime\": 500, \"dl-period\": 9000, \
                \"dl-deadline\": 7000, \"run\": 1}, \
                \"r\": {\"policy\": \"SCHED_OTHER\", \"run\": 1}, \
                \"s\": {\"policy\": \"SCHED_FIFO\", \"priority\": 5, \"run\": 1}}}}}";
    let expected =
        [deadline(500, 7000, 9000), Call::IdlePolicy(false), Call::Nice(0), Call::Realtime(Realtime::Fifo(5))];
    assert_eq!(calls(text, 0), expected);
    let text = "{\"tasks\": {\"a\": {\"loop\": 1, \"run\": 1, \"fork\": \"b\"}, \"b\": {\"instance\": 0, \"loop\": 1, \
                \"policy\": \"SCHED_DEADLINE\", \"dl-runtime\": 1000, \"dl-period\": 2000, \"run\": 1}}}";
    assert_eq!(calls(text, 1), [deadline(1000, 2000, 2000)]);
}

#[test]
fn realtime_threads_have_the_policy_and_priority_of_rt_app() {
    let realtime = |json: &str| {
        let (file, warnings) = RtApp::parse(Path::new("w.json"), json, false).unwrap();
        assert!(warnings.is_empty());
        let workload = file.copies(1).unwrap();
        workload.tasks.iter().map(|task| task.realtime).collect::<Vec<_>>()
    };
    let text = "{\"global\": {\"default_policy\": \"SCHED_RR\"}, \"tasks\": {\
                \"a\": {\"run\": 1}, \"b\": {\"run\": 1, \"priority\": 99}, \
                \"c\": {\"run\": 1, \"policy\": \"SCHED_FIFO\", \"priority\": 1}, \
                \"d\": {\"run\": 1, \"policy\": \"SCHED_OTHER\", \"priority\": 19}}}";
    let expected = [Some(Realtime::Rr(10)), Some(Realtime::Rr(99)), Some(Realtime::Fifo(1)), None];
    assert_eq!(realtime(text), expected);
    // A phase may repeat what the thread has, and a thread may fork one with the same.
    let text = "{\"tasks\": {\"a\": {\"policy\": \"SCHED_FIFO\", \"phases\": {\
                \"p\": {\"policy\": \"SCHED_FIFO\", \"run\": 1, \"fork\": \"b\"}, \
                \"q\": {\"priority\": 10, \"run\": 1}}, \
                \"loop\": 1}, \"b\": {\"instance\": 0, \"loop\": 1, \"policy\": \"SCHED_FIFO\", \"run\": 1}}}";
    assert_eq!(realtime(text), [Some(Realtime::Fifo(10))]);
}

#[test]
fn semaphores_begin_at_zero_and_taskgroups_are_groups() {
    let workload = workload(
        "{\"tasks\": {\"up\": {\"taskgroup\": \"/g1\", \"run\": 1000, \"sem_post\": \"work\", \"sleep\": 4000},
         \"down\": {\"taskgroup\": \"/g2/inner/\", \"sem_wait\": \"work\", \"run\": 2000},
         \"other\": {\"taskgroup\": \"/g1\", \"run\": 1000}, \"root\": {\"taskgroup\": \"/\", \"run\": 1}}}",
    );
    let down = &workload.programs[1].ops;
    assert!(matches!(down[1], Op::Call(Call::Down { semaphore: 0 })), "{down:?}");
    assert!(matches!(workload.programs[0].ops[2], Op::Call(Call::Up { semaphore: 0 })));
    assert_eq!(workload.channels[0].capacity, 0, "posts are counted from nothing");
    let groups: Vec<_> = workload.groups.iter().map(|group| (&*group.name, group.parent, group.weight)).collect();
    assert_eq!(groups, [("g1", 0, 100), ("g2", 0, 100), ("g2/inner", 2, 100)]);
    assert_eq!(workload.tasks.iter().map(|task| task.group).collect::<Vec<_>>(), [1, 3, 1, 0]);
}
