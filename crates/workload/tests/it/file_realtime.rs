//! `policy = "fifo"`, `"rr"` and `"deadline"` of tasks, steps and phases, and `[[interrupt]]`.

use std::collections::BTreeMap;
use std::fs;
use wakelab_workload::{Call, Deadline, Load, Op, Realtime, Work, Workload, WorkloadError, build};

/// A workload of one task with these keys, whose program has these steps.
fn read(keys: &str, steps: &str) -> Result<Workload, WorkloadError> {
    let text = format!(
        "[workload]\nbenchmark = \"b\"\ncase = \"rt\"\nmetric = \"throughput\"\nunit = \"rounds/s\"\n\
         better = \"higher\"\n[[program]]\nname = \"p\"\n\
         ops = [\"begin\", {steps}{{run = \"1us\"}}, \"done\", {{repeat = {{to = 0}}}}]\n\
         [[task]]\nname = \"t\"\nprogram = \"p\"\n{keys}\n"
    );
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), text).unwrap();
    build(file.path().to_str().unwrap(), Load::Instances(1), 4, &BTreeMap::new())
}

#[test]
fn a_policy_and_a_priority_make_a_realtime_task() {
    let realtime = |keys| read(keys, "").map(|workload| workload.tasks[0].realtime);
    assert_eq!(realtime("policy = \"fifo\"\npriority = 99").unwrap(), Some(Realtime::Fifo(99)));
    assert_eq!(realtime("policy = \"rr\"\npriority = 1").unwrap(), Some(Realtime::Rr(1)));
    assert_eq!(realtime("policy = \"idle\"").unwrap(), None);
}

#[test]
fn what_does_not_fit_is_told_with_its_line_and_what_was_expected() {
    let wrong = |keys, steps, line: u32, what: &[&str]| {
        let error = read(keys, steps).unwrap_err().to_string();
        let place = format!(":{line}");
        assert!(line == 0 || error.contains(&place), "{error}");
        assert!(what.iter().all(|part| error.contains(part)), "{error}");
    };
    wrong("policy = \"fifo\"", "", 13, &["set priority = 1", "99"]);
    wrong("policy = \"rr\"\npriority = 100", "", 14, &["1 to 99", "100"]);
    wrong("policy = \"fifo\"\npriority = 0", "", 14, &["1 to 99"]);
    wrong("priority = 5", "", 13, &["only realtime tasks have a priority", "nice"]);
    wrong("policy = \"fifo\"\npriority = 5\nnice = 3", "", 15, &["fair class", "only `priority`"]);
    wrong("policy = \"fifo\"\npriority = 5\nslice = \"3ms\"", "", 15, &["fair class"]);
    wrong("policy = \"deadlines\"", "", 13, &["fifo", "rr", "deadline"]);
    wrong("policy = \"fifo\"\npriority = 5", "{nice = 5}, ", 0, &["realtime task", "expected a program without them"]);
}

const MS: u64 = 1_000_000;

fn deadline(runtime_ns: u64, deadline_ns: u64, period_ns: u64) -> Realtime {
    Realtime::Deadline(Deadline { runtime_ns, deadline_ns, period_ns })
}

#[test]
fn a_reservation_makes_a_deadline_task() {
    let realtime = |keys: &str| read(&format!("policy = \"deadline\"\n{keys}"), "").map(|all| all.tasks[0].realtime);
    let whole = realtime("runtime = \"5ms\"\ndeadline = \"10ms\"\nperiod = \"20ms\"").unwrap();
    assert_eq!(whole, Some(deadline(5 * MS, 10 * MS, 20 * MS)));
    for keys in ["runtime = \"5ms\"\nperiod = \"20ms\"", "runtime = \"5ms\"\ndeadline = \"20ms\""] {
        assert_eq!(realtime(keys).unwrap(), Some(deadline(5 * MS, 20 * MS, 20 * MS)));
    }
}

#[test]
fn reservations_that_the_kernel_refuses_are_refused() {
    let wrong = |keys: &str, what: &[&str]| {
        let error = read(&format!("policy = \"deadline\"\n{keys}"), "").unwrap_err().to_string();
        assert!(what.iter().all(|part| error.contains(part)), "{error}");
    };
    wrong("", &[":13", "`task.policy`", "such as runtime ="]);
    wrong("runtime = \"5ms\"", &[":13", "such as period ="]);
    wrong("runtime = \"5ms\"\nperiod = \"0ms\"", &[":15", "expected"]);
    wrong("runtime = \"1us\"\nperiod = \"20ms\"", &[":15", "a runtime of 1000 ns; expected 1024 ns or more"]);
    wrong(
        "runtime = \"5ms\"\ndeadline = \"4ms\"\nperiod = \"20ms\"",
        &[":16", "is shorter than the runtime of 5000000 ns"],
    );
    wrong("runtime = \"5ms\"\ndeadline = \"30ms\"\nperiod = \"20ms\"", &["shorter than the deadline of 30000000 ns"]);
    wrong("runtime = \"20us\"\nperiod = \"50us\"", &["expected 100 us to 4194304 us"]);
    wrong("runtime = \"20us\"\nperiod = \"5s\"", &["expected 100 us to 4194304 us"]);
    wrong("runtime = \"5ms\"\nperiod = \"20ms\"\npriority = 3", &["only realtime tasks have a priority"]);
    wrong("runtime = \"5ms\"\nperiod = \"20ms\"\nnice = 3", &["fair class"]);
    wrong("runtime = \"5ms\"\nperiod = \"20ms\"\ncpus = \"0\"", &["EPERM", "remove `cpus`"]);
    let error = read("runtime = \"5ms\"", "").unwrap_err().to_string();
    assert!(error.contains("set policy = \"deadline\" too"), "{error}");
}

#[test]
fn steps_and_phases_change_the_policy() {
    let steps = "{policy = \"fifo\", priority = 7}, {policy = \"deadline\", runtime = \"1ms\", period = \"4ms\"}, \
                 {policy = \"normal\"}, ";
    let program = &read("", steps).unwrap().programs[0];
    let calls: Vec<Call> = program.ops.iter().filter_map(Op::call).collect();
    let fifo = Call::Realtime(Realtime::Fifo(7));
    assert_eq!(calls, [fifo, Call::Realtime(deadline(MS, 4 * MS, 4 * MS)), Call::IdlePolicy(false)]);
    let error = read("", "{policy = \"fifo\"}, ").unwrap_err().to_string();
    assert!(error.contains("set priority = 1"), "{error}");
    // A realtime task that becomes a fair one can have a nice value.
    assert!(read("policy = \"fifo\"\npriority = 5", "{policy = \"normal\"}, {nice = 5}, ").is_ok());
}

#[test]
fn interrupts_have_a_rate_and_a_duration() {
    let read = |keys: &str| {
        let text =
            format!("program = \"p\"\n[[interrupt]]\nname = \"nic\"\n{keys}\n[[task]]\nname = \"u\"\nprogram = \"p\"");
        read(text.strip_prefix("program = \"p\"\n").expect("as above"), "")
    };
    let all = read("cpus = \"0-1\"\nper_second = 5000\ntime = \"2us\"\nsoftirq = \"10us\"").unwrap();
    let nic = &all.interrupts[0];
    assert_eq!((nic.cpus.as_deref(), nic.period), (Some(&[0, 1][..]), Work::uniform(200_000, 50)));
    assert_eq!((nic.time_ns, nic.softirq_ns), (2_000, 10_000));
    let wrong = |keys: &str, what: &str| {
        let error = read(keys).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    wrong("time = \"2us\"", "how often a CPU is interrupted");
    wrong("per_second = 5", "how long the handler takes");
    wrong("per_second = 5\nperiod = \"1ms\"\ntime = \"1us\"", "give `per_second` or `period`, not both");
    wrong("per_second = 0\ntime = \"1us\"", "per_second");
    wrong("period = \"100us\"\ntime = \"0us\"", "more than 0");
    wrong("period = \"100us\"\ntime = \"100us\"", "the next one comes after 100000 ns; expected a shorter time");
    wrong("period = \"100us\"\ntime = \"60us\"\nsoftirq = \"50us\"", "an interrupt and its softirq take 110000 ns");
    wrong("period = \"100us\"\ntime = \"60us\"\ncpus = \"9\"", "has CPU 9");
    let two =
        "period = \"100us\"\ntime = \"60us\"\n[[interrupt]]\nname = \"disk\"\nperiod = \"100us\"\ntime = \"60us\"";
    wrong(two, "interrupts take all the time of a CPU");
}
