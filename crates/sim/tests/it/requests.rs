//! schbench as it is since 2023: requests, the lock of each CPU, and rates.

use crate::support::{MS, Told, call, ns, simulate, workload};
use std::collections::BTreeMap;
use wakelab_workload::{Call, Load, Op, build};

/// When two tasks on one CPU have done 20 ms of work each, ns.
fn two_on_a_cpu(op: Op) -> u64 {
    let mut told = Told::default();
    let tasks = workload(vec![vec![op]; 2], &[], Some(vec![0]));
    simulate(("test-2c", "v6.12"), &tasks, (1, 200 * MS), true, &mut told).expect("a run");
    told.exits.iter().map(|exit| exit.1).max().expect("an exit")
}

/// The holder is preempted by the other, which spins for its slices until the holder is done.
#[test]
fn a_preempted_holder_of_the_cpu_s_lock_keeps_the_next_task_spinning() {
    let work = ns(20 * MS);
    let (free, locked) = (two_on_a_cpu(Op::Run(work)), two_on_a_cpu(call(Call::RunCpuLocked(work))));
    assert!((40 * MS..41 * MS).contains(&free), "{free} ns without a lock");
    assert!((55 * MS..63 * MS).contains(&locked), "{locked} ns with it");
}

#[test]
fn tasks_on_cpus_of_their_own_do_not_wait_for_each_other_s_lock() {
    let mut told = Told::default();
    let mut tasks = workload(vec![vec![call(Call::RunCpuLocked(ns(20 * MS)))]; 2], &[], None);
    (0..).zip(&mut tasks.tasks).for_each(|(cpu, task)| task.affinity = Some(vec![cpu]));
    simulate(("test-2c", "v6.12"), &tasks, (1, 100 * MS), true, &mut told).expect("a run");
    assert!(told.exits.iter().all(|exit| exit.1 < 21 * MS), "{:?}", told.exits);
}

fn told(case: &str, workers: u32, until: u64, options: &[(&str, u64)]) -> Told {
    let options: BTreeMap<String, u64> = options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let workload = build(&format!("schbench:{case}"), Load::Instances(workers), 8, &options).expect("a workload");
    let mut told = Told::default();
    simulate(("test-8c", "v6.12"), &workload, (1, until), false, &mut told).expect("a run");
    told
}

/// A request sleeps for 100 us and its slack, and computes for 5.06 ms.
#[test]
fn workers_with_a_core_each_take_for_a_request_what_it_is_made_of() {
    let requests = told("requests", 3, 200 * MS, &[]);
    assert!((100..=117).contains(&requests.done.len()), "{} requests", requests.done.len());
    let of = |(_, _, latency): &(usize, u64, u64)| *latency;
    assert!(requests.done.iter().map(of).all(|latency| (5_100_000..6_500_000).contains(&latency)));
    let wakeups = told("wakeup-99th", 3, 200 * MS, &[]);
    assert!(wakeups.done.len().abs_diff(requests.done.len()) <= 6, "one wake-up for each request");
    assert!(wakeups.done.iter().map(of).all(|latency| (1_000..200_000).contains(&latency)));
}

#[test]
fn without_work_and_sleep_message_threads_bound_the_rate() {
    let nothing = [("locking", 0), ("operations", 0), ("sleep", 0), ("message_threads", 2), ("cpus", 8)];
    let done = told("rps-50th", 8, 20 * MS, &nothing).done.len();
    // A wake-up takes a message thread some microseconds.
    assert!((4_000..40_000).contains(&done), "{done} requests in 20 ms");
}

#[test]
fn a_rate_is_what_is_done_in_each_second() {
    let told = told("requests", 4, 2_500 * MS, &[("rps", 200)]);
    let in_second = |n: u64| told.done.iter().filter(|done| done.1 / (1_000 * MS) == n).count();
    assert_eq!([in_second(0), in_second(1)], [200, 200]);
}
