//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.

#[path = "../../../fuzz/changes.rs"]
pub mod changes;
#[path = "../../../fuzz/check_experiment.rs"]
mod check;
#[path = "../../../fuzz/check_capture.rs"]
mod check_capture;

use changes::{Random, change, check_changed, check_corpus, corpus, run, sum_of_changed};

/// Words that mean something in an experiment.
const WORDS: &[&str] = &[
    "machine",
    "kernel",
    "repeats",
    "seed",
    "time",
    "settle",
    "observer_cost",
    "workload",
    "variants",
    "published",
    "name",
    "load",
    "params",
    "base",
    "with",
    "results",
    "search",
    "\"test-2s\"",
    "\"v6.1\"",
    "\"v5.3\"",
    "\"hackbench:process-pipe\"",
    "\"25%..200%/25%\"",
    "\"1..3/1\"",
    "\"1s\"",
    "send",
    "\"NO_SIS_UTIL\"",
    "\"SIS_PROP,SIS_UTIL\"",
];

#[test]
fn experiments_of_the_corpus_are_found_or_refused() {
    check_corpus("experiment", check::experiment);
}

#[test]
fn changed_experiments_are_found_or_refused() {
    let sound = check_changed("experiment", check::experiment, 200, WORDS);
    assert!(sound > 200, "{sound} were sound");
}

/// Words that mean something in a text trace.
const OF_TRACES: &[&str] = &[
    "sched_switch:",
    "sched_waking:",
    "sched_wakeup:",
    "sched_wakeup_new:",
    "prev_state=R+ ==>",
    "prev_state=S ==>",
    "next_pid=0",
    "prev_pid=0",
    "pid=42",
    "target_cpu=001",
    "[000]",
    "[001]",
    "7.000100:",
];

#[test]
fn traces_of_the_corpus_are_captured_as_workloads_that_are_valid_or_refused() {
    for (path, bytes) in corpus("capture") {
        let bad = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bad-"));
        assert_eq!(run(check_capture::capture, &bytes, &|| path.display().to_string()) == 0, bad, "{}", path.display());
    }
}

#[test]
fn changed_traces_are_captured_as_workloads_that_are_valid_or_refused() {
    let changed = |bytes: &mut Vec<u8>, other: &[u8], random: &mut Random| change(bytes, other, OF_TRACES, random);
    let tasks = sum_of_changed(&corpus("capture"), check_capture::capture, 20, &changed);
    assert!(tasks > 200, "{tasks} tasks");
}
