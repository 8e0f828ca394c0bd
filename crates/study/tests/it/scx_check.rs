//! Random workloads under schedulers of sched_ext.

use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_scx_bpf::BpfScheduler;
use wakelab_scx_fetch::Schedulers;
use wakelab_study::experiment::named_scheduler;
use wakelab_study::runs::fence::Fence;
use wakelab_study::scx_check::{Check, Checked, Kind, Smallest};

fn scheduler(name: &str) -> BpfScheduler {
    named_scheduler(&Schedulers::default(), &format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn with<T>(scheduler: &str, machines: &[&str], jobs: usize, then: impl FnOnce(&Check<'_>) -> T) -> T {
    seeded(5, scheduler, machines, jobs, then)
}

fn seeded<T>(seed: u64, scheduler: &str, machines: &[&str], jobs: usize, then: impl FnOnce(&Check<'_>) -> T) -> T {
    let scheduler = self::scheduler(scheduler);
    let machines: Vec<Machine> = machines.iter().map(|name| wakelab_machine::get(name).unwrap()).collect();
    let (kernel, stop) = (Preset::get("v7.2").unwrap(), &AtomicBool::new(false));
    let fence = &Fence::default();
    then(&Check { scheduler: &scheduler, machines: &machines, kernel, seed, jobs, stop, fence, done: &|_| {} })
}

fn check(scheduler: &str, machines: &[&str], budget: u32) -> Checked {
    with(scheduler, machines, 0, |check| check.check(budget).unwrap())
}

const SIMPLE: &str = "crates/bpf/tests/data/scx_simple.bpf.o";

/// `crates/study/examples/scx_digests.rs` does the same with more workloads.
#[test]
fn random_runs_are_the_same_each_time_and_for_any_number_of_jobs() {
    let machines = ["test-1c", "test-2c", "test-8c", "test-2llc", "test-2s", "intel-kaby-lake-4c8t"];
    let digests = |jobs| with(SIMPLE, &machines, jobs, |check| check.digests(40).unwrap());
    let one = digests(1);
    assert!(one.len() == 40 && one.iter().all(|&(_, events)| events > 10), "{one:?}");
    assert_eq!(one, digests(2));
}

#[test]
fn faults_and_errors_are_found_with_their_place() {
    for (mode, kind, what) in [
        (2, Kind::Fault, "count[0] = count[1]"),
        (4, Kind::Stall, "it is on no DSQ: the scheduler has it"),
        (5, Kind::Error, "mode 5"),
    ] {
        let found = check(&format!("crates/scx-bpf/tests/data/misbehaves.bpf.o,scx.mode={mode}"), &["test-2c"], 4);
        let smallest = found.smallest.iter().find(|smallest| smallest.finding.kind == kind).expect("it is found");
        assert!(smallest.finding.what.contains(what), "{mode}: {}", smallest.finding.what);
        assert_eq!(smallest.tasks, 1, "{mode}: {}", smallest.toml);
    }
}

#[test]
fn every_call_of_a_scheduler_with_all_operations_is_in_order() {
    let maximal = "crates/scx-bpf/tests/data/selftests/maximal.bpf.o";
    let found = check(maximal, &["test-2c", "test-8c", "intel-kaby-lake-4c8t"], 12);
    assert!(found.smallest.iter().all(|smallest| smallest.finding.kind != Kind::Order), "{found:?}");
}

/// A scheduler that forgets the queues of CPUs that are offline: the smallest workload has one such CPU, and a task.
#[test]
fn a_stall_that_takes_a_cpu_that_goes_offline_is_found() {
    // Other seeds find first that bound tasks, which go to local queues, keep a CPU from its own queue.
    let found = seeded(4, "crates/scx-bpf/tests/data/offline.bpf.o", &["test-2c"], 0, |check| check.check(12).unwrap());
    let stall = |smallest: &&Smallest| smallest.finding.kind == Kind::Stall;
    let smallest = found.smallest.iter().find(stall).unwrap_or_else(|| panic!("{found:?}"));
    let changes = smallest.toml.matches("[[change]]").count();
    assert!(changes == 1 && smallest.toml.contains("offline = \"1\"") && smallest.tasks <= 2, "{}", smallest.toml);
}

#[test]
fn cpu_time_by_weight_is_told_by_its_power() {
    // Of one CPU, so that all groups share it.
    let power = |scheduler: &str| check(scheduler, &["test-1c"], 60).by_weight.expect("two groups share the CPU").0;
    let by_vtime = power(SIMPLE);
    assert!((by_vtime - 1.0).abs() < 0.25, "{by_vtime}");
    let fifo = power(&format!("{SIMPLE},scx.fifo_sched=1"));
    assert!(fifo.abs() < 0.25, "{fifo}");
}
