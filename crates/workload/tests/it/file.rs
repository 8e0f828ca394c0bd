//! Workloads from files: what is read, and what is refused with its line.

use std::collections::BTreeMap;
use std::fs;
use wakelab_workload::{About, Load, Op, Work, Workload, WorkloadError, build, describe};

/// The lines of its errors are counted in the tests.
const GOOD: &str = r#"[workload]
benchmark = "b"
case = "c"
metric = "throughput"
unit = "u"
better = "lower"

[[channel]]
name = "request"
capacity = 4

[[channel]]
name = "log"
capacity = 1
per_instance = false

[[program]]
name = "worker"
ops = [
  "begin", {run = "50us", jitter = 10}, {send = "request", sync = true},
  {recv = "request"}, "done", {repeat = {to = 1, times = 10}},
  {fork = "child"}, "wait", {sleep = "1.5ms"}, {repeat = {to = 0}},
]

[[program]]
name = "child"
ops = [{softirq = "800ns"}, {send = "log"}, "exit"]

[[program]]
name = "logger"
ops = [{recv = "log"}, {run = "1us"}, {repeat = {to = 0}}]

[[task]]
name = "worker"
program = "worker"
per_instance = 2
start = "5ms"
nice = -5
policy = "idle"
cpus = "0-1,3"

[[task]]
name = "logger"
program = "logger"
count = 1
"#;

fn read(text: &str, instances: u32) -> Result<Workload, WorkloadError> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), text).unwrap();
    build(file.path().to_str().unwrap(), Load::Instances(instances), 4, &BTreeMap::new())
}

/// What is said of a text, from the line on.
fn says(text: &str) -> String {
    let error = read(text, 1).unwrap_err();
    let About::File { path, .. } = &error.about else { panic!("{error} names no place") };
    error.to_string().strip_prefix(&*path.to_string_lossy()).unwrap().trim_start_matches(':').trim_start().to_owned()
}

/// What is said where `from` is changed to `to`.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    says(&GOOD.replacen(from, to, 1))
}

#[test]
fn all_of_a_file_is_in_its_workload() {
    let workload = read(GOOD, 2).unwrap();
    assert_eq!([&workload.benchmark, &workload.case, &workload.metric, &workload.unit], ["b", "c", "throughput", "u"]);
    assert_eq!((workload.load.as_str(), workload.higher_is_better), ("2 instances", false));

    let channels: Vec<_> = workload.channels.iter().map(|c| (c.name.as_str(), c.capacity)).collect();
    assert_eq!(channels, [("request 0", 4), ("request 1", 4), ("log", 1)]);

    assert_eq!(
        workload.programs[0].ops,
        [
            Op::Begin,
            Op::Run(Work::uniform(50_000, 10)),
            Op::Send { channel: 0, sync: true },
            Op::Recv { channel: 0 },
            Op::Done,
            Op::Repeat { to: 1, times: Some(10) },
            Op::Fork { program: 1 },
            Op::Wait,
            Op::Sleep(Work::uniform(1_500_000, 0)),
            Op::Repeat { to: 0, times: None },
        ]
    );
    assert_eq!(
        workload.programs[1].ops,
        [Op::Softirq(Work::uniform(800, 0)), Op::Send { channel: 1, sync: false }, Op::Exit]
    );

    let tasks: Vec<_> = workload.tasks.iter().map(|t| (t.name.as_str(), t.program, t.channels.to_vec())).collect();
    assert_eq!(
        tasks,
        [
            ("logger 0", 2, vec![0, 2]),
            ("worker 0", 0, vec![0, 2]),
            ("worker 1", 0, vec![0, 2]),
            ("worker 2", 0, vec![1, 2]),
            ("worker 3", 0, vec![1, 2]),
        ]
    );
    let worker = &workload.tasks[1];
    assert_eq!((worker.start_ns, worker.nice, worker.idle_policy), (5_000_000, -5, true));
    assert_eq!(worker.affinity, Some(vec![0, 1, 3]));
    let logger = &workload.tasks[0];
    assert_eq!((logger.start_ns, logger.nice, logger.idle_policy, &logger.affinity), (0, 0, false, &None));
}

#[test]
fn a_task_asks_for_a_slice() {
    let slice = |text: &str| GOOD.replacen("start = \"5ms\"", text, 1);
    let workload = read(&slice("slice = \"2.5ms\""), 1).unwrap();
    assert_eq!(workload.tasks.iter().map(|task| task.slice_ns).collect::<Vec<_>>(), [0, 2_500_000, 2_500_000]);
    let said = says(&slice("slice = 3"));
    assert!(said.contains("`task.slice`: expected a time in ns, us, ms or s") && said.contains("found 3"), "{said}");
}

#[test]
fn the_documented_file_makes_the_pairs_of_the_built_in_model() {
    let docs = include_str!("../../../../docs/workloads.md");
    let example = docs.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let own = {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        fs::write(file.path(), example).unwrap();
        build(file.path().to_str().unwrap(), Load::Instances(7), 9, &BTreeMap::new()).unwrap()
    };
    let ramp = BTreeMap::from([("ramp".to_owned(), 100_000_000)]);
    let built_in = build("netperf:TCP_RR", Load::Instances(7), 9, &ramp).unwrap();
    assert_eq!(own.load, "7 pairs");
    // Of its own 0-3 and 8, those of its group.
    assert_eq!(own.tasks[1].affinity, Some(vec![0, 1, 2, 3]));
    // The built-in model has a shell and a netserver, too, which fork the pairs when both sleep, after 100 us. A file
    // has no tasks that fork others.
    assert_eq!((own.tasks.len(), own.programs.len()), (14, 2));
    let forkers: Vec<_> = built_in.tasks[14..].iter().map(|task| (task.name.as_str(), task.program)).collect();
    assert_eq!(forkers, [("shell", 2), ("netserver", 3)]);
    assert_eq!(built_in.programs.len(), 4);
    let starts = |w: &Workload, after_ns: u64| -> Vec<_> {
        w.tasks[..14].iter().map(|task| (task.program, task.start_ns - after_ns)).collect()
    };
    assert_eq!(starts(&own, 0), starts(&built_in, 100_000));
    let talks = |w: &Workload| -> Vec<Vec<String>> {
        let name = |task: &wakelab_workload::Task, n: u32| w.channels[task.channels[n as usize] as usize].name.clone();
        w.tasks[..14].iter().map(|task| (0..2).map(|n| name(task, n)).collect()).collect()
    };
    assert_eq!(talks(&own), talks(&built_in));
    let kinds = |w: &Workload| -> Vec<Vec<_>> {
        w.programs[..2].iter().map(|p| p.ops.iter().map(std::mem::discriminant).collect()).collect()
    };
    assert_eq!(kinds(&own), kinds(&built_in));
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known() {
    assert_eq!(
        changed("metric = ", "metrics = "),
        "4: `workload.metrics`: unknown key; expected benchmark, case, metric, unit, better, load_label, ramp\n  \
         hint: did you mean `metric`?"
    );
    assert_eq!(
        changed("[[channel]]", "[[chanel]]"),
        "8: `chanel`: unknown key; expected change, group, interrupt, workload, channel, mutex, condition, barrier, \
         semaphore, workqueue, spinlock, distribution, phase, program, task\n  hint: did you mean `channel`?"
    );
    assert_eq!(changed("sync = true", "xyz = 1"), "20: `program.ops.xyz`: unknown key; expected send, sync");
    assert_eq!(
        changed("nice = -5", "nicee = -5"),
        "38: `task.nicee`: unknown key; expected name, program, count, per_instance, start, nice, policy, slice, \
         cpus, process, footprint_kib, uclamp_min, uclamp_max, priority, runtime, deadline, \
         period, group\n  hint: did you mean `nice`?"
    );
}

#[test]
fn missing_keys_are_named_with_an_example() {
    assert_eq!(
        changed("unit = \"u\"\n", ""),
        "1: `workload.unit`: the key is missing; expected text such as \"transactions/s\""
    );
    assert_eq!(
        changed("capacity = 4\n", ""),
        "8: `channel.capacity`: the key is missing; expected a whole number from 1 to 4294967295"
    );
    assert_eq!(
        changed("program = \"logger\"\n", ""),
        "42: `task.program`: the key is missing; expected the name of a program in quotes"
    );
    assert_eq!(
        changed("{to = 1, times = 10}", "{times = 10}"),
        "21: `program.ops.repeat.to`: the key is missing; expected a whole number from 0 to 4294967295"
    );
    let (head, _) = GOOD.split_once("[[task]]").unwrap();
    assert_eq!(says(head), "`task`: the key is missing; expected one or more `[[task]]` tables");
    assert_eq!(
        says("[[program]]\nname = \"x\"\n"),
        "`workload`: the key is missing; expected a table with benchmark, case, metric, unit, better, load_label, ramp"
    );
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known() {
    assert_eq!(
        changed("{recv = \"request\"}", "{recv = \"reqest\"}"),
        "21: `program.ops.recv`: there is no channel \"reqest\"; expected request, log\n  hint: did you mean `request`?"
    );
    assert_eq!(
        changed("{fork = \"child\"}", "{fork = \"chold\"}"),
        "22: `program.ops.fork`: there is no program \"chold\"; expected worker, child, logger\n  hint: did you mean \
         `child`?"
    );
    assert_eq!(
        changed("program = \"logger\"", "program = \"x\""),
        "44: `task.program`: there is no program \"x\"; expected worker, child, logger"
    );
    assert_eq!(
        changed("\"wait\"", "\"wiat\""),
        "22: `program.ops`: unknown step \"wiat\"; expected wait, exit, begin, done, yield, exec, run, softirq, \
         sleep, io, sleep_until, timer, send, recv, lock, unlock, spin, cond_wait, signal, broadcast, barrier, down, \
         up, queue_work, fork, nice, policy, slice, repeat, loop, phase\n  hint: did you mean `wait`?"
    );
    assert_eq!(
        changed("{sleep = \"1.5ms\"}", "{slep = \"1.5ms\"}"),
        "22: `program.ops`: unknown step {slep}; expected one of run, softirq, sleep, io, sleep_until, timer, send, \
         recv, lock, unlock, spin, cond_wait, signal, broadcast, barrier, down, up, queue_work, fork, nice, \
         policy, slice, repeat, loop, phase\n  hint: did you mean `sleep`?"
    );
    assert_eq!(
        changed("\"wait\"", "\"sleep\""),
        "22: `program.ops`: the step \"sleep\" needs a value; expected {sleep = …}"
    );
    assert_eq!(
        changed("{sleep = \"1.5ms\"}", "{sleep = \"1.5ms\", run = \"1us\"}"),
        "22: `program.ops`: one step has both run and sleep; expected a separate step for each"
    );
}

#[test]
fn values_out_of_range_say_the_range() {
    for (from, to, expected) in [
        (
            "capacity = 4",
            "capacity = 0",
            "10: `channel.capacity`: expected a whole number from 1 to 4294967295, found 0",
        ),
        (
            "capacity = 4",
            "capacity = 4\nown_lines = 1001",
            "11: `channel.own_lines`: expected a whole number from 0 to 1000, found 1001",
        ),
        ("nice = -5", "nice = 20", "38: `task.nice`: expected a whole number from -20 to 19, found 20"),
        ("nice = -5", "nice = 1.5", "38: `task.nice`: expected a whole number from -20 to 19, found 1.5"),
        ("count = 1", "count = 0", "45: `task.count`: expected a whole number from 1 to 100000, found 0"),
        ("jitter = 10", "jitter = 101", "20: `program.ops.jitter`: expected a whole number from 0 to 100, found 101"),
        (
            "times = 10",
            "times = 0",
            "21: `program.ops.repeat.times`: expected a whole number from 1 to 4294967295, found 0",
        ),
        (
            "metric = \"throughput\"\nunit = \"u\"",
            "metric = \"time\"\nunit = \"u\"",
            "5: `workload.unit`: time is measured in seconds; expected \"s\", found \"u\"",
        ),
        (
            "metric = \"throughput\"\nunit = \"u\"\nbetter = \"lower\"",
            "metric = \"time\"\nunit = \"s\"\nbetter = \"higher\"",
            "6: `workload.better`: less time is better; expected \"lower\", found \"higher\"",
        ),
        ("\"lower\"", "\"less\"", "6: `workload.better`: expected \"higher\" or \"lower\", found \"less\""),
        (
            "\"idle\"",
            "\"batch\"",
            "39: `task.policy`: expected \"normal\" or \"idle\" or \"fifo\" or \"rr\" or \"deadline\", found \
             \"batch\"",
        ),
        ("sync = true", "sync = 1", "20: `program.ops.sync`: expected true or false, found 1"),
        ("case = \"c\"", "case = \"\"", "3: `workload.case`: expected text in quotes that is not empty, found \"\""),
        ("case = \"c\"", "case = 3", "3: `workload.case`: expected text in quotes, found 3"),
        (
            "\"50us\"",
            "\"50\"",
            "20: `program.ops.run`: expected a time in ns, us, ms or s, at most an hour, such as 50us or 1.5ms, found \
             \"50\"",
        ),
        (
            "\"50us\"",
            "50",
            "20: `program.ops.run`: expected a time in ns, us, ms or s, at most an hour, such as 50us or 1.5ms, found \
             50",
        ),
    ] {
        assert_eq!(changed(from, to), expected);
    }
}

#[test]
fn affinities_have_cpus_and_the_machine_has_them() {
    let cpus = |list: &str| changed("\"0-1,3\"", list);
    let expected = "40: `task.cpus`: expected CPUs from 0 to 8191, such as 0-3,8, found";
    assert_eq!(cpus("\"\""), format!("{expected} ``"));
    assert_eq!(cpus("\"3-1\""), "40: `task.cpus`: expected a range with its lower number first, found `3-1`");
    assert_eq!(cpus("\"all\""), format!("{expected} `all`"));
    assert_eq!(cpus("[0]"), "40: `task.cpus`: expected text in quotes, found [0]");
    assert_eq!(
        cpus("\"0-1,4\""),
        "40: `task.cpus`: its affinity has CPU 4; the machine has CPUs 0 to 3\n  hint: without `cpus`, a task may use \
         all CPUs"
    );
}

#[test]
fn repeats_go_back_and_nothing_is_unreachable() {
    let repeat = |to| changed("{to = 1, times = 10}", to);
    assert_eq!(
        repeat("{to = 5, times = 2}"),
        "21: `program.ops`: step 5 goes back to step 5; expected an earlier step, 0 to 4"
    );
    assert_eq!(
        repeat("{to = 99, times = 2}"),
        "21: `program.ops`: step 5 goes back to step 99; expected an earlier step, 0 to 4"
    );
    assert_eq!(repeat("{to = 1}"), "22: `program.ops`: step 6 is never reached: the program does not get past step 5");
    assert_eq!(
        changed("\"wait\"", "\"exit\""),
        "22: `program.ops`: step 8 is never reached: the program does not get past step 7"
    );
    assert_eq!(
        changed("{softirq = \"800ns\"}", "{repeat = {to = 0}}"),
        "27: `program.ops`: step 0 goes back to step 0; expected steps before it"
    );
}

#[test]
fn loops_in_which_no_time_can_pass_are_refused_at_their_step() {
    assert_eq!(
        changed("{run = \"1us\"}, {repeat", "{send = \"log\"}, {repeat"),
        "31: `program.ops`: step 2 loops for ever without time passing; expected work, a sleep, or a wait for a task \
         that takes time, in each round"
    );
}

#[test]
fn what_counts_nothing_or_comes_twice_is_refused() {
    assert_eq!(
        changed("\"done\"", "\"begin\""),
        "17: `program`: no program has the step \"done\", which counts the metric; add it to one"
    );
    assert_eq!(
        changed("\"begin\"", "{run = \"1us\"}"),
        "21: `program.ops`: step 4 is \"done\", but there is no \"begin\"; expected one before it"
    );
    assert_eq!(
        changed("name = \"log\"", "name = \"request\""),
        "13: `channel.name`: the name \"request\" is used twice; expected another name"
    );
    assert_eq!(
        changed("name = \"child\"", "name = \"worker\""),
        "26: `program.name`: the name \"worker\" is used twice; expected another name"
    );
    assert_eq!(
        changed("name = \"logger\"\nprogram", "name = \"worker\"\nprogram"),
        "43: `task.name`: the name \"worker\" is used twice; expected another name"
    );
    assert_eq!(
        changed("per_instance = 2", "per_instance = 2\ncount = 3"),
        "37: `task.count`: give `count` or `per_instance`, not both: `count` for tasks that every load has, \
         `per_instance` for tasks of each instance"
    );
    assert_eq!(
        changed("program = \"logger\"", "program = \"child\""),
        "30: `program.name`: no task runs, forks or queues this program; use it or remove it"
    );
    assert_eq!(
        changed("per_instance = 2", "count = 2"),
        "36: `task.count`: tasks with a `count` belong to no instance, but each instance has its own channel \
         \"request\"; set per_instance = false there, or use `per_instance` here"
    );
}

#[test]
fn what_is_no_toml_or_no_file_is_refused() {
    assert!(changed("case = \"c\"", "case = ").starts_with("3: this is not valid TOML: "));
    let error = describe("no/such.toml").unwrap_err().to_string();
    assert!(error.starts_with("no/such.toml: the file cannot be read: "), "{error}");
    let end = "; expected a workload (.toml)\n  hint: `wakelab workload list` shows the workloads that need no file";
    assert!(error.ends_with(end), "{error}");
}

#[test]
fn a_file_has_no_options_and_bounds_its_tasks() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), GOOD.replacen("per_instance = 2", "per_instance = 1000", 1)).unwrap();
    let name = file.path().to_str().unwrap();
    let error = build(name, Load::Instances(1), 4, &BTreeMap::from([("send".to_owned(), 1)])).unwrap_err();
    assert_eq!(error.about, About::Param("send".to_owned()));
    assert_eq!(error.what, "a workload from a file has no parameters, but send was given");
    let error = build(name, Load::Instances(1_000), 4, &BTreeMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "1000 instances make 1000001 tasks; expected at most 1000000");
}

#[test]
fn a_transaction_is_not_done_before_it_has_begun() {
    assert_eq!(
        changed("\"begin\", {run", "\"done\", \"begin\", {run"),
        "20: `program.ops`: step 0 is \"done\", but the first \"begin\" is step 1; expected one before it"
    );
}

#[test]
fn a_time_until_all_have_exited_needs_tasks_that_exit() {
    let timed = "metric = \"time\"\nunit = \"s\"";
    let error = changed("metric = \"throughput\"\nunit = \"u\"", timed);
    let expected =
        "repeats for ever, but the metric is the time until all tasks have exited; expected a limited number of times";
    assert_eq!(error, format!("22: `program.ops`: step 9 {expected}"));
}

#[test]
fn a_metric_that_no_run_has_is_refused_with_those_that_runs_have() {
    assert_eq!(
        changed("\"throughput\"", "\"power\""),
        "4: `workload.metric`: unknown metric \"power\"; expected throughput, time, latency_50pct, latency_90pct, \
         latency_99pct, latency_99.9pct, latency_max, latency_mean, rate_20pct, rate_50pct, rate_90pct, rate_max, \
         frame_mean, frame_max, missed_16ms, missed_periods, slack_mean\n  hint: \"done\" in a program counts one more \
         transaction, whose unit is `unit`"
    );
    assert!(changed("\"throughput\"", "\"Throughput\"").ends_with("hint: did you mean `throughput`?"));
}

#[test]
fn a_latency_is_in_microseconds_and_less_is_better() {
    let header = |unit: &str, better: &str| {
        let more = "metric = \"throughput\"\nunit = \"u\"\nbetter = \"lower\"";
        changed(more, &format!("metric = \"latency_99pct\"\nunit = \"{unit}\"\nbetter = \"{better}\""))
    };
    assert!(
        header("ns", "lower").contains("unit`: latency is measured in microseconds; expected \"us\", found \"ns\"")
    );
    assert!(header("us", "higher").contains("less latency is better; expected \"lower\", found \"higher\""));
    let slack = |unit: &str, better: &str| {
        let more = "metric = \"throughput\"\nunit = \"u\"\nbetter = \"lower\"";
        changed(more, &format!("metric = \"slack_mean\"\nunit = \"{unit}\"\nbetter = \"{better}\""))
    };
    for (unit, better) in [("ms", "higher"), ("us", "lower")] {
        assert!(
            slack(unit, better).contains("slack is measured in microseconds, and more is better"),
            "{unit} {better}"
        );
    }
}

#[test]
fn forks_without_end_are_refused_although_time_passes() {
    assert_eq!(
        changed("\"wait\"", "{run = \"1us\"}"),
        "22: `program.ops`: step 6 forks child in an endless loop that does not wait for all of its tasks to exit: \
         tasks without end\n  hint: add the step \"wait\" to the loop, and to forked programs that fork themselves"
    );
    assert_eq!(
        changed("{send = \"log\"}, \"exit\"", "{fork = \"worker\"}, \"exit\""),
        "22: `program.ops`: step 6 forks child, which leads back to this program: tasks without end\n  hint: use \
         `repeat` for what goes on for ever, and fork only programs that do not lead back here"
    );
}

const COUNTED: &str = r#"[workload]
benchmark = "b"
case = "c"
metric = "throughput"
unit = "u"
better = "higher"

[[program]]
name = "p"
ops = ["begin", {run = "1us"}, "done", {repeat = {to = 0}}]

[[task]]
name = "t"
program = "p"
count = 3
"#;

#[test]
fn where_no_task_is_by_instance_the_load_is_1_and_shown_as_tasks() {
    assert_eq!(read(COUNTED, 1).unwrap().load, "3 tasks");
    assert_eq!(read(&COUNTED.replace("count = 3", "count = 1"), 1).unwrap().load, "1 task");
    let error = read(COUNTED, 2).unwrap_err();
    assert_eq!(error.about, About::Load);
    assert!(error.what.starts_with("the load is 2 instances, but all tasks of "), "{error}");
    assert!(error.what.ends_with(".toml have a fixed `count`; expected a load of 1"), "{error}");
    for key in ["load_label = \"pairs\"", "ramp = \"1ms\""] {
        let error = says(&COUNTED.replace("better = \"higher\"", &format!("better = \"higher\"\n{key}")));
        let name = key.split(' ').next().unwrap();
        assert!(
            error.starts_with(&format!(
                "7: `workload.{name}`: this key describes instances, but all tasks have a fixed `count`"
            )),
            "{error}"
        );
    }
}

/// `COUNTED` with other steps, and phases before them.
fn steps(phases: &str, ops: &str) -> String {
    COUNTED
        .replace("[\"begin\", {run = \"1us\"}, \"done\", {repeat = {to = 0}}]", ops)
        .replace("[[task]]", &format!("{phases}[[task]]"))
}

#[test]
fn loops_and_phases_are_written_out_where_they_stand() {
    let run = |us: u64| Op::Run(Work::uniform(1_000 * us, 0));
    let phases = "[[phase]]\nname = \"light\"\nops = [{run = \"1us\"}, {phase = \"tail\"}]\n\
                  [[phase]]\nname = \"tail\"\nops = [{run = \"2us\"}, {run = \"3us\"}, {repeat = {to = 1, times = \
                  5}}]\n";
    let ops = "[\"begin\", {loop = [{run = \"4us\"}, {loop = [{run = \"5us\"}], times = 3}], times = 2},\n\
               {phase = \"light\", times = 4}, \"done\", {repeat = {to = 2}}]";
    let workload = read(&steps(phases, ops), 1).unwrap();
    let back = |to, times| Op::Repeat { to, times: Some(times) };
    assert_eq!(
        workload.programs[0].ops,
        [
            Op::Begin,
            run(4),
            run(5),
            back(2, 3),
            back(1, 2),
            run(1),
            run(2),
            run(3),
            back(7, 5),
            back(5, 4),
            Op::Done,
            Op::Repeat { to: 5, times: None },
        ]
    );
}

#[test]
fn phases_that_lead_back_and_loops_without_steps_are_refused() {
    let phases = "[[phase]]\nname = \"a\"\nops = [{run = \"1us\"}, {phase = \"b\"}]\n\
                  [[phase]]\nname = \"b\"\nops = [{phase = \"a\"}]\n";
    let ops = "[\"begin\", {phase = \"a\"}, \"done\"]";
    assert_eq!(
        says(&steps(phases, ops)),
        "17: `phase.ops.phase`: the phase a contains itself: a, then b, then a; break the cycle\n  hint: a loop \
         repeats steps: {loop = [...], times = 10}"
    );
    assert_eq!(
        says(&steps("", "[\"begin\", {phase = \"lihgt\"}, \"done\"]")),
        "10: `program.ops.phase`: there is no phase \"lihgt\"; expected a `[[phase]]` of that name"
    );
    assert_eq!(
        says(&steps("[[phase]]\nname = \"a\"\nops = [\"yield\"]\n", "[\"begin\", \"done\"]")),
        "13: `phase.name`: no program uses this phase; use it or remove it"
    );
    assert!(
        says(&steps("", "[\"begin\", {loop = []}, \"done\"]"))
            .starts_with("10: `program.ops.loop`: expected steps such as")
    );
    // 2^20 steps, were they written out.
    let doubling: String = (0..20)
        .map(|i| format!("[[phase]]\nname = \"p{i}\"\nops = [{{phase = \"p{0}\"}}, {{phase = \"p{0}\"}}]\n", i + 1))
        .collect();
    let phases = format!("{doubling}[[phase]]\nname = \"p20\"\nops = [{{run = \"1us\"}}]\n");
    let error = says(&steps(&phases, "[\"begin\", {phase = \"p0\"}, \"done\"]"));
    assert!(error.contains("`phase.ops`: with its phases expanded, the program has more than 10000 steps"), "{error}");
}

#[test]
fn tasks_that_name_a_process_are_its_threads() {
    let text = GOOD.replacen("cpus = \"0-1,3\"", "process = \"clients\"\nfootprint_kib = 4", 1);
    let of =
        |text: &str| read(text, 2).unwrap().tasks.iter().map(|task| (task.process, task.footprint)).collect::<Vec<_>>();
    // The logger, which has a count, comes first.
    let threads = [0, 0, 1, 1].map(|process| (Some(process), 4096));
    assert_eq!(of(&text), [&[(None, 0)], &threads[..]].concat());
    // With a task that has a count the process is one for all instances.
    let one = of(&text.replacen("count = 1", "count = 1\nprocess = \"clients\"", 1));
    assert_eq!(one.iter().map(|task| task.0).collect::<Vec<_>>(), [Some(0); 5]);
    let error = changed("cpus = \"0-1,3\"", "footprint_kib = 4");
    assert!(
        error.starts_with("40: `task.footprint_kib`: only processes of several threads have their size read"),
        "{error}"
    );
    let error = changed("cpus = \"0-1,3\"", "process = \"x\"\nfootprint_kib = -1");
    assert!(error.starts_with("41: `task.footprint_kib`: "), "{error}");
}
