//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.

#[path = "../../../fuzz/changes.rs"]
pub mod changes;
#[path = "../../../fuzz/check_experiment.rs"]
mod check;

use changes::{check_changed, check_corpus};

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
