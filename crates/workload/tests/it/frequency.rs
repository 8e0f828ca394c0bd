//! The workloads that are run where frequencies change: what they are built of.

use std::collections::BTreeMap;
use wakelab_workload::{About, Call, Load, Op, Program, Workload, build, describe};

fn at(name: &str, load: Load, options: &[(&str, u64)]) -> Workload {
    let options: BTreeMap<String, u64> = options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    build(name, load, 8, &options).unwrap()
}

fn work(program: &Program) -> u64 {
    program.ops.iter().map(|op| if let Op::Run(work) = op { work.ns } else { 0 }).sum()
}

fn param(workload: &Workload, name: &str) -> u64 {
    workload.params.iter().find(|param| param.name == name).unwrap().value
}

#[test]
fn a_round_of_sequential_tasks_is_as_long_as_its_rate_says() {
    for rate in [1, 10, 100, 400, 1500] {
        let workload = at("sequential-tasks:any", Load::PerSecond(rate), &[]);
        let all: u64 = workload.programs.iter().map(work).sum();
        assert_eq!(all, 1_000_000_000 / u64::from(rate), "{rate}/s");
        assert_eq!(workload.load, format!("{rate}/s"));
    }
    // Faster than processes can be started: no work is left.
    let workload = at("sequential-tasks:any", Load::PerSecond(10_000), &[]);
    assert!(workload.programs[1].ops.contains(&Op::Run(wakelab_workload::Work::uniform(0, 5))));
}

#[test]
fn a_command_execs_before_it_works_and_its_shell_waits_for_it() {
    for (name, load) in [("sequential-tasks:any", Load::PerSecond(100)), ("gitsource:suite", Load::Instances(1))] {
        let workload = at(name, load, &[]);
        for command in &workload.programs[1..] {
            assert_eq!(command.ops[0], Op::Call(Call::Exec), "{name} {}", command.name);
        }
        let shell = &workload.programs[0].ops;
        let forks = shell.iter().filter(|op| matches!(op, Op::Fork { .. })).count();
        let waits = shell.iter().filter(|op| **op == Op::Wait).count();
        assert_eq!((forks, waits), if name == "gitsource:suite" { (5, 4) } else { (1, 1) });
    }
}

#[test]
fn the_pinned_reference_is_on_one_cpu_and_its_tasks_are_children() {
    let workload = at("sequential-tasks:pinned", Load::PerSecond(50), &[("cpu", 3)]);
    assert_eq!(workload.tasks.len(), 1);
    assert_eq!(workload.tasks[0].affinity, Some(vec![3]));
    assert_eq!(at("sequential-tasks:any", Load::PerSecond(50), &[]).tasks[0].affinity, None);
}

#[test]
fn gitsource_starts_about_400_commands_a_second() {
    let workload = at("gitsource:suite", Load::Instances(1), &[]);
    let [short, medium, long] = [1, 2, 3].map(|program| work(&workload.programs[program]));
    let shell = 11 * param(&workload, "shell") + 12 * param(&workload, "fork");
    // Of the two in a pipe the longer counts.
    let round = 6 * short + 3 * medium + medium + long + shell;
    let rate = 12 * 1_000_000_000 / round;
    assert!((370..=430).contains(&rate), "{rate}");
}

#[test]
fn a_name_without_a_case_is_the_first_case_of_these() {
    for (name, case) in
        [("sequential-tasks", "any"), ("gitsource", "suite"), ("kernbench", "make"), ("jankbench", "mean")]
    {
        assert_eq!(describe(name).unwrap().workload.case, case);
    }
    assert_eq!(wakelab_workload::shortest_run("jankbench"), wakelab_workload::shortest_run("jankbench:mean"));
    assert!(describe("hackbench").is_err());
}

#[test]
fn a_rate_is_for_what_has_one() {
    let fails = |name: &str, load| build(name, load, 8, &BTreeMap::new()).unwrap_err();
    let error = fails("netperf:TCP_RR", Load::PerSecond(10));
    assert_eq!(
        (error.about, error.what.as_str()),
        (About::Load, "expected a load that is a number of instances or a percentage, found 10/s")
    );
    let error = fails("sequential-tasks", Load::Instances(10));
    assert_eq!(error.what, "expected a load that is a rate, found 10");
    assert!(error.hint.unwrap().contains("10..400/s"));
    assert_eq!(fails("gitsource", Load::PerSecond(1)).about, About::Load);
}

#[test]
fn kernbench_of_policy_idle_is_the_same_with_that_policy() {
    let (normal, idle) =
        ["make", "make-idle"].map(|case| at(&format!("kernbench:{case}"), Load::Instances(4), &[])).into();
    assert!(idle.tasks.iter().all(|task| task.idle_policy) && normal.tasks.iter().all(|task| !task.idle_policy));
    assert_eq!((idle.programs, idle.metric), (normal.programs, normal.metric));
}

#[test]
fn kernbench_keeps_so_many_jobs_going_and_counts_files_or_time() {
    let workload = at("kernbench:make", Load::Instances(16), &[]);
    assert_eq!((workload.tasks.len(), workload.metric.as_str(), workload.load.as_str()), (16, "throughput", "16 jobs"));
    let timed = at("kernbench:make", Load::Instances(16), &[("loops", 5)]);
    assert_eq!((timed.metric.as_str(), timed.unit.as_str()), ("time", "s"));
    assert!(timed.programs[0].ops.contains(&Op::Repeat { to: 0, times: Some(5) }));
}

/// How often a program that goes round for ever does a step in one round.
fn times(program: &Program, which: impl Fn(&Op) -> bool) -> u64 {
    let ops = &program.ops;
    let of = |at: usize| {
        let around = ops.iter().enumerate().filter_map(|(end, op)| match *op {
            Op::Repeat { to, times: Some(times) } if (to as usize..end).contains(&at) => Some(u64::from(times)),
            _ => None,
        });
        around.product::<u64>()
    };
    ops.iter().enumerate().filter(|(_, op)| which(op)).map(|(at, _)| of(at)).sum()
}

#[test]
fn an_app_and_its_render_thread_go_through_the_same_frames() {
    for (frames, spikes) in [(100, 12), (2, 12), (13, 12), (12, 12), (50, 5), (7, 2)] {
        let workload = at("jankbench:jank", Load::Instances(1), &[("frames", frames), ("spikes", spikes)]);
        let done = times(&workload.programs[0], |op| *op == Op::Done);
        let gaps = times(&workload.programs[0], |op| matches!(op, Op::Sleep(_)));
        let drawn = times(&workload.programs[1], |op| *op == Op::Send { channel: 4, sync: false });
        // Before the first frame of each subtest, and in it.
        assert_eq!((done, gaps, drawn), (7 * frames, 2 * 7, 7 * frames), "{frames} frames, a spike in {spikes}");
    }
}

#[test]
fn a_vsync_comes_at_60_hz_and_a_frame_begins_with_it() {
    let workload = at("jankbench:mean", Load::Instances(2), &[]);
    let Op::Call(Call::Timer { period_ns, .. }) = workload.programs[2].ops[0] else { panic!("a timer") };
    assert_eq!(1_000_000_000 / period_ns, 59);
    assert_eq!(period_ns, 16_666_667);
    assert!(matches!(workload.programs[2].ops[1], Op::Call(Call::Serve { .. })));
    assert!(workload.programs[0].ops.contains(&Op::Call(Call::Ask { list: 0 })));
    // Four threads of each app, the compositor, the composer, and five others.
    assert_eq!(workload.tasks.len(), 2 * 4 + 2 + 5);
    let metrics = ["mean", "jank", "max"].map(|case| {
        let workload = at(&format!("jankbench:{case}"), Load::Instances(1), &[]);
        (workload.metric, workload.unit)
    });
    let expected = [("frame_mean", "ms"), ("missed_16ms", "%"), ("frame_max", "ms")];
    assert_eq!(metrics, expected.map(|(metric, unit)| (metric.to_owned(), unit.to_owned())));
}
