//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.

use std::sync::atomic::AtomicBool;
use wakelab_study::compare::compare;
use wakelab_study::runs::Program;
use wakelab_study::runs::cache::{Cached, Store};
use wakelab_testing::changes::{self, Random, change, check_changed, check_corpus, corpus, run, sum_of_changed};
use wakelab_testing::fake_runner::{Fake, experiment};
use wakelab_testing::{check_capture, check_experiment, check_study};

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
    check_corpus("experiment", check_experiment::experiment);
}

#[test]
fn changed_experiments_are_found_or_refused() {
    let sound = check_changed("experiment", check_experiment::experiment, 200, WORDS);
    assert!(sound > 200, "{sound} were sound");
}

/// Words that mean something in a panel, a sweep or a published table.
const OF_STUDIES: &[&str] = &[
    "machine",
    "kernels",
    "sides",
    "tunables",
    "samples",
    "runs_per_part",
    "held_out",
    "weight",
    "pinned",
    "migration_cost",
    "{ from = 0, to = 9, step = 3 }",
    "\"test-2c\"",
    "\"v6.12\"",
    "[\"\", \"NO_SIS_UTIL\"]",
    "better",
    "[workloads]",
    "compare_pct",
];

#[test]
fn panels_sweeps_tables_and_results_of_the_corpus_are_read_or_refused() {
    check_corpus("panel", check_study::panel);
    check_corpus("sweep", check_study::sweep);
    check_corpus("published_table", check_study::published_table);
    check_corpus("result", check_study::result);
}

#[test]
fn changed_panels_sweeps_tables_and_results_are_read_or_refused() {
    let sound = [
        check_changed("panel", check_study::panel, 60, OF_STUDIES),
        check_changed("sweep", check_study::sweep, 60, OF_STUDIES),
        check_changed("published_table", check_study::published_table, 150, OF_STUDIES),
        check_changed("result", check_study::result, 40, &["null", "rows", "base", "1e400", "\"\""]),
    ];
    assert!(sound.iter().all(|&sound| sound > 10), "{sound:?} were sound");
}

/// Below a checksum that fits: what a damaged disk cannot give, but who writes the file can.
#[test]
fn changed_numbers_of_kept_runs_are_a_run_or_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path(), Program::named("one build"), false).expect("a cache");
    let (runs, stop) = (Cached { store: &store, runner: &Fake::default() }, AtomicBool::new(false));
    compare(&runs, &experiment(&["1 thread"], 2), 1, &(), &stop).expect("runs");
    let entries = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path());
    let mut numbers = Vec::new();
    for inner in entries.filter(|path| path.is_dir()) {
        for (path, entry) in changes::files(&inner) {
            // A line that names the format, and a checksum of 32 bytes.
            let line = entry.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
            numbers.push((path, entry[line + 32..].to_vec()));
        }
    }
    assert_eq!(numbers.len(), 4);
    assert!(numbers.iter().all(|(_, numbers)| check_study::cache_entry(numbers)), "they are runs unchanged");
    let changed = |bytes: &mut Vec<u8>, other: &[u8], random: &mut changes::Random| {
        changes::change_binary(bytes, other, random);
    };
    changes::sum_of_changed(&numbers, |bytes| usize::from(check_study::cache_entry(bytes)), 500, &changed);
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
