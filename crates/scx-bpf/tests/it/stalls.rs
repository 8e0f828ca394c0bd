//! Three published stalls, made again: the watchdog finds each, and tells how it came to it.

use crate::support::{MS, simulate, spinners};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::SimError;
use wakelab_workload::Workload;

const OBJECT: &[u8] = include_bytes!("../data/stalls.bpf.o");

/// How a run under a scheduler ends: its message, and the chain of events.
fn ends(mode: i128, machine: &str, load: &Workload) -> (String, Vec<String>) {
    let mut scheduler = BpfScheduler::new("stalls", OBJECT, "stalls").unwrap();
    scheduler.set("mode", mode);
    match simulate(&scheduler, machine, load, 3_000 * MS).0 {
        Err(SimError::SchedulerEnded { exit, .. }) => (exit.message, exit.chain),
        other => panic!("{other:?}"),
    }
}

/// That the chain has lines with these words, in this order.
fn has(chain: &[String], words: &[&str]) {
    let text = chain.join("\n");
    let mut from = 0;
    for word in words {
        let at = text[from..].find(word).unwrap_or_else(|| panic!("{word:?} is not after byte {from} of\n{text}"));
        from += at + word.len();
    }
}

#[test]
fn one_without_the_fault_goes_on() {
    let scheduler = BpfScheduler::new("stalls", OBJECT, "stalls").unwrap();
    let (outcome, done) = simulate(&scheduler, "test-2c", &spinners(&[0, 5, 0]), 200 * MS);
    outcome.unwrap();
    assert_eq!(done.0.len(), 3);
}

#[test]
fn a_cpu_that_is_never_kicked() {
    let (message, chain) = ends(1, "test-2c", &spinners(&[0]));
    assert!(message.ends_with("failed to run for 1.500s"), "{message}");
    has(
        &chain,
        &[
            "it has been waiting since 0.000000000 s:",
            "forks it on CPU 0; ops.select_cpu() chooses CPU 0",
            "it joins the run queue of CPU 0",
            "ops.enqueue() on CPU 0 puts it on DSQ 0x101",
            "now it may use CPUs 0-1, 2 of which are idle",
            "now DSQ 0x101 has 1 task, of which it is the first",
            "now no CPU has ever taken a task from DSQ 0x101",
            "now CPU 1 has never looked into DSQ 0x101",
            "now CPU 1 has never been kicked",
        ],
    );
}

#[test]
fn a_queue_that_nobody_consumes() {
    let (message, chain) = ends(2, "test-2c", &spinners(&[0, 5]));
    assert!(message.contains("failed to run for 1."), "{message}");
    has(
        &chain,
        &[
            "ops.enqueue() on CPU 0 puts it on DSQ 0x201",
            "calls ops.dispatch() for the last time",
            "now DSQ 0x201 has 1 task, of which it is the first",
            "now no CPU has ever taken a task from DSQ 0x201",
            "now CPU 0 has never looked into DSQ 0x201",
        ],
    );
}

#[test]
fn a_bound_task_in_a_queue_that_only_other_cpus_consume() {
    let mut load = spinners(&[0, 0, 0]);
    load.tasks[2].affinity = Some(vec![0]);
    let (message, chain) = ends(3, "test-2c", &load);
    assert!(message.contains("failed to run for 1."), "{message}");
    has(
        &chain,
        &[
            "it joins the run queue of CPU 0",
            "ops.enqueue() on CPU 0 puts it on DSQ 0x301",
            "CPU 1, which it may not use, passes over it in its queue",
            "now it may use CPU 0 only",
            "now CPU 0 has never looked into DSQ 0x301",
        ],
    );
}
