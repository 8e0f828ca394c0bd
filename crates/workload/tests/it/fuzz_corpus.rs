//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.

use wakelab_testing::changes::{check_changed, check_corpus};
use wakelab_testing::check_workload;

/// Words that mean something in a workload, so that changes come past the first check.
const WORDS: &[&str] = &[
    "run",
    "sleep",
    "send",
    "recv",
    "fork",
    "\"wait\"",
    "\"exit\"",
    "repeat",
    "loop",
    "phase",
    "times",
    "to",
    "lock",
    "unlock",
    "signal",
    "cond_wait",
    "barrier",
    "timer",
    "period",
    "count",
    "per_instance",
    "participants",
    "capacity",
    "\"begin\"",
    "\"done\"",
    "\"yield\"",
    "nice",
    "policy",
    "\"idle\"",
    "cpus",
    "start",
    "ramp",
    "\"p\"",
    "\"m\"",
    "\"c\"",
    "\"1us\"",
    "channel",
    "mutex",
    "condition",
];

#[test]
fn workloads_of_the_corpus_are_read_or_refused() {
    check_corpus("workload", check_workload::workload);
}

#[test]
fn changed_workloads_are_read_or_refused() {
    let sound = check_changed("workload", check_workload::workload, 1500, WORDS);
    assert!(sound > 300, "{sound} were sound");
}
