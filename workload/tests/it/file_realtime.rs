//! `policy = "fifo"` and `"rr"` of tasks.

use std::collections::BTreeMap;
use std::fs;
use wakelab_workload::{Load, Realtime, Workload, WorkloadError, build};

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
    wrong("policy = \"fifo\"", "", 13, &["expected priority = 1", "99"]);
    wrong("policy = \"rr\"\npriority = 100", "", 14, &["1 to 99", "100"]);
    wrong("policy = \"fifo\"\npriority = 0", "", 14, &["1 to 99"]);
    wrong("priority = 5", "", 13, &["only realtime tasks have a priority", "nice"]);
    wrong("policy = \"fifo\"\npriority = 5\nnice = 3", "", 15, &["fair class", "priority alone"]);
    wrong("policy = \"fifo\"\npriority = 5\nslice = \"3ms\"", "", 15, &["fair class"]);
    wrong("policy = \"deadline\"", "", 13, &["fifo", "rr"]);
    wrong("policy = \"fifo\"\npriority = 5", "{nice = 5}, ", 0, &["realtime task", "without nice, policy and slice"]);
}
