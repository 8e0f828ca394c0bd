//! The models of benchmarks: what holds for all, and what each is built of.

use std::collections::{BTreeMap, BTreeSet};
use wakelab_workload::{About, Call, Load, METRICS, Op, Program, Task, Workload, WorkloadError, benchmarks, build};

fn names() -> Vec<String> {
    let of = |benchmark: &&'static dyn wakelab_workload::Benchmark| {
        let benchmark = *benchmark;
        benchmark.cases().iter().map(move |case| format!("{}:{}", benchmark.name(), case.name))
    };
    benchmarks().iter().flat_map(of).collect()
}

fn make(name: &str, n: u32, options: &[(&str, u64)]) -> Result<Workload, WorkloadError> {
    let options: BTreeMap<String, u64> = options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let by_rate = name.starts_with("sequential-tasks");
    build(name, if by_rate { Load::PerSecond(n) } else { Load::Instances(n) }, 112, &options)
}

fn at(name: &str, n: u32, options: &[(&str, u64)]) -> Workload {
    make(name, n, options).unwrap()
}

fn program<'a>(workload: &'a Workload, task: &Task) -> &'a Program {
    &workload.programs[task.program as usize]
}

/// The channels that a task sends to, in the order of its steps.
fn sends(workload: &Workload, task: &Task) -> Vec<String> {
    let channel = |op: &Op| match *op {
        Op::Send { channel, .. } => Some(workload.channels[task.channels[channel as usize] as usize].name.clone()),
        _ => None,
    };
    program(workload, task).ops.iter().filter_map(channel).collect()
}

#[test]
fn every_model_is_right_at_every_load_and_counts_what_runs_compute() {
    for name in names() {
        for n in [1, 2, 7, 112] {
            let workload = at(&name, n, &[]);
            assert_eq!(workload.validate(112), Ok(()), "{name} {n}");
            assert!(workload.programs.iter().any(|program| program.ops.contains(&Op::Done)), "{name}");
            assert!(METRICS.contains(&workload.metric.as_str()), "{name}");
            let more = workload.metric == "throughput" || workload.metric.starts_with("rate_");
            assert_eq!(workload.higher_is_better, more, "{name}");
            let names: BTreeSet<_> = workload.tasks.iter().map(|task| &task.name).collect();
            assert_eq!(names.len(), workload.tasks.len(), "{name} {n}");
        }
    }
}

#[test]
fn every_number_has_an_origin_and_what_no_source_gives_says_that_it_is_assumed() {
    for name in names() {
        for param in at(&name, 1, &[]).params {
            assert!((param.low..=param.high).contains(&param.value), "{name} {}", param.name);
            // Options of the benchmark have its own defaults, but for two that a posting set and its tables do not
            // tell.
            let told = !["uperf:pingpong", "ycsb:mongodb"].contains(&name.as_str());
            let options = ["fds", "loops", "size", "cpus", "threads"];
            let until_2023 = ["version", "message_threads", "sleeptime", "cputime", "message_cputime"];
            let of_requests = ["message_threads", "sleep", "operations", "footprint", "locking", "rps"];
            let of_the_benchmark: &[&str] = match name.split_once(':') {
                // Of the file system's source, and of mkfs.
                Some(("dbench", _)) => &["ags", "inodegc"],
                Some(("schbench", "normal" | "workers")) => &until_2023,
                Some(("schbench", _)) => &of_requests,
                _ => &[],
            };
            let own =
                (told && options.contains(&param.name.as_str())) || of_the_benchmark.contains(&param.name.as_str());
            assert_eq!(param.origin.starts_with("assumed: "), !own, "{name} {}: {}", param.name, param.origin);
        }
    }
}

#[test]
fn tasks_of_a_model_never_outgrow_memory() {
    let error = make("hackbench:process-pipe", 5_000, &[("fds", 100)]).unwrap_err();
    assert_eq!(error.about, About::Load);
    assert_eq!(error.what, "5000 instances make 1000001 tasks; expected at most 1000000");
}

#[test]
fn every_sender_of_a_group_writes_to_every_receiver_of_its_group_in_turn() {
    let workload = at("hackbench:process-pipe", 3, &[("fds", 2)]);
    assert_eq!(workload.load, "3 groups");
    assert_eq!(at("hackbench:process-pipe", 1, &[]).load, "1 group");
    let tasks: Vec<&str> = workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(tasks[..5], ["main", "receiver 0.0", "receiver 0.1", "sender 0.0", "sender 0.1"]);
    assert_eq!(tasks.len(), 13);
    for (group, tasks) in workload.tasks[1..].chunks(4).enumerate() {
        for (i, receiver) in tasks[..2].iter().enumerate() {
            assert_eq!(sends(&workload, receiver), ["ready"]);
            let own = &workload.channels[receiver.channels[3] as usize];
            assert_eq!(own.name, format!("messages {group}.{i}"));
        }
        let all = ["ready".to_owned(), format!("messages {group}.0"), format!("messages {group}.1")];
        assert!(tasks[2..].iter().all(|sender| sends(&workload, sender) == all));
    }
}

#[test]
fn a_group_has_forty_tasks_that_start_one_after_another_and_go_when_all_are_ready() {
    let workload = at("hackbench:process-sockets", 2, &[("start", 1_000)]);
    assert_eq!(workload.tasks.len(), 81);
    assert!((0..).zip(&workload.tasks).all(|(i, task)| task.start_ns == 1_000 * i));
    assert_eq!(program(&workload, &workload.tasks[0]).ops.len(), 4);
    let (all, back) = (Some(80), |to, times| Op::Repeat { to, times });
    let go = Op::Send { channel: 1, sync: true };
    assert_eq!(workload.programs[0].ops, [Op::Recv { channel: 0 }, back(0, all), go, back(2, all)]);
    for program in &workload.programs[1..] {
        assert_eq!(program.ops[..2], [Op::Send { channel: 0, sync: true }, Op::Recv { channel: 1 }]);
    }
}

#[test]
fn what_is_between_tasks_holds_what_the_kernel_lets_it() {
    let of = |workload: &Workload| {
        let messages = workload.channels.iter().find(|channel| channel.name.starts_with("messages"));
        messages.expect("a pipe or a socket").capacity
    };
    let held = |name: &str, size| of(&at(name, 1, &[("size", size)]));
    assert_eq!([held("hackbench:process-pipe", 100), held("hackbench:thread-pipe", 4096)], [640, 16]);
    assert_eq!([held("hackbench:process-sockets", 100), held("hackbench:thread-sockets", 4096)], [278, 26]);
    assert_eq!(of(&at("perf-bench:sched-messaging", 1, &[])), 278);
}

#[test]
fn with_loops_all_tasks_exit_and_the_time_until_then_is_the_metric() {
    for name in ["hackbench:process-pipe", "perf-bench:sched-messaging", "perf-bench:sched-pipe"] {
        let workload = at(name, 2, &[("loops", 100)]);
        assert_eq!((workload.metric.as_str(), workload.unit.as_str()), ("time", "s"), "{name}");
        assert!(!workload.higher_is_better, "{name}");
        assert_eq!(workload.validate(112), Ok(()), "{name}");
        let endless = |op: &Op| matches!(op, Op::Repeat { times: None, .. });
        assert!(!workload.programs.iter().any(|program| program.ops.iter().any(endless)), "{name}");
    }
}

#[test]
fn who_waits_for_room_waits_for_a_page_of_a_pipe_or_three_quarters_of_a_socket() {
    let rooms = |name: &str, size| {
        let receive = |op: &Op| match op.call() {
            Some(Call::RecvBatch { room, all, .. }) => Some((room, all)),
            _ => None,
        };
        at(name, 1, &[("size", size)]).programs[1].ops.iter().find_map(receive)
    };
    assert_eq!(rooms("hackbench:process-pipe", 100), Some((40, false)));
    assert_eq!(rooms("hackbench:process-pipe", 4096), Some((1, false)));
    assert_eq!(rooms("hackbench:thread-sockets", 100), Some((209, true)));
}

#[test]
fn pairs_write_to_each_other_and_a_child_has_what_its_parent_has() {
    for (name, tasks) in [("will-it-scale:context_switch1", 4), ("perf-bench:sched-pipe", 3)] {
        let workload = at(name, 3, &[]);
        assert_eq!(workload.tasks.len(), tasks, "{name}");
        let (child, parent) = (&workload.programs[0].ops, &workload.programs[1].ops);
        assert!(parent.contains(&Op::Fork { program: 0 }), "{name}");
        for (ops, to, from) in [(child, 1, 0), (parent, 0, 1)] {
            assert!(ops.contains(&Op::Send { channel: to, sync: true }), "{name}");
            assert!(ops.contains(&Op::Recv { channel: from }), "{name}");
        }
        assert_eq!(workload.tasks[2].channels[..2], [4, 5], "{name}");
        assert!(workload.tasks.iter().all(|task| task.affinity.is_none()), "{name}");
    }
}

#[test]
fn instances_begin_when_the_last_has_been_forked() {
    let workload = at("will-it-scale:context_switch1", 5, &[("start", 2_000)]);
    assert_eq!(workload.load, "5 instances");
    let starts: Vec<u64> = workload.tasks.iter().map(|task| task.start_ns).collect();
    assert_eq!(starts, [0, 2_000, 4_000, 6_000, 8_000, 10_000]);
    assert_eq!(program(&workload, &workload.tasks[0]).ops[0], Op::Recv { channel: 2 });
    assert_eq!(sends(&workload, &workload.tasks[5]), ["go"]);
}

#[test]
fn pinned_pairs_have_a_cpu_each_or_as_many_as_are_given() {
    let cpus = |n, options: &[_]| -> Vec<_> {
        let workload = at("will-it-scale:context_switch1-pinned", n, options);
        workload.tasks[..n as usize].iter().map(|task| task.affinity.clone().unwrap()[0]).collect()
    };
    assert_eq!(cpus(4, &[]), [0, 1, 2, 3]);
    assert_eq!(cpus(5, &[("cpus", 3)]), [0, 1, 2, 0, 1]);
    let error = make("will-it-scale:context_switch1-pinned", 113, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task parent 112: its affinity has CPU 112; the machine has CPUs 0 to 111\n  hint: the parameter `cpus` is the \
         number of CPUs to which tasks are pinned"
    );
    assert_eq!(cpus(113, &[("cpus", 112)])[112], 0);
}

/// One thread, not one threads.
#[test]
fn the_label_of_one_instance_is_singular() {
    for (name, one, two) in [
        ("uperf:pingpong", "1 thread", "2 threads"),
        ("sysbench:oltp_read_write", "1 thread", "2 threads"),
        ("oracle:oltp", "1 user", "2 users"),
        ("dbench:fileio", "1 client", "2 clients"),
        ("hackbench:process-pipe", "1 group", "2 groups"),
    ] {
        assert_eq!((at(name, 1, &[]).load.as_str(), at(name, 2, &[]).load.as_str()), (one, two), "{name}");
    }
}
