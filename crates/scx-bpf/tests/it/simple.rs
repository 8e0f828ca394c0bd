//! The kernel's `scx_simple`, as its object has it.

use crate::support::{MS, simulate, spinners};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_workload::synthetic::ping_pong;

const SIMPLE: &[u8] = include_bytes!("../../../bpf/tests/data/scx_simple.bpf.o");

fn simple() -> BpfScheduler {
    BpfScheduler::new("scx_simple", SIMPLE, "simple").unwrap()
}

#[test]
fn pairs_answer_each_other() {
    let (outcome, done) = simulate(&simple(), "intel-kaby-lake-4c8t", &ping_pong(3), 50 * MS);
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(done.0.len() >= 3 && done.0.values().all(|&done| done > 500), "{done:?}");
}

#[test]
fn its_vtime_gives_shares_by_weight() {
    let (outcome, done) = simulate(&simple(), "test-1c", &spinners(&[0, 0, 0, 5, 5, 5]), 6_000 * MS);
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let done: Vec<u32> = done.0.into_values().collect();
    let [heavy, light] = [&done[..3], &done[3..]].map(|done| f64::from(done.iter().sum::<u32>()));
    assert!((heavy / light / (100.0 / 33.0) - 1.0).abs() < 0.05, "{done:?}");
}

#[test]
fn a_variable_of_its_object_makes_it_a_fifo() {
    let mut scheduler = simple();
    scheduler.set("fifo_sched", 1);
    let (outcome, done) = simulate(&scheduler, "test-1c", &spinners(&[0, 0, 0, 5, 5, 5]), 3_000 * MS);
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let done: Vec<u32> = done.0.into_values().collect();
    let [heavy, light] = [&done[..3], &done[3..]].map(|done| f64::from(done.iter().sum::<u32>()));
    assert!((heavy / light - 1.0).abs() < 0.05, "{done:?}");
}

#[test]
fn the_same_run_is_the_same_each_time() {
    let runs = [(); 2].map(|()| simulate(&simple(), "test-2s", &ping_pong(20), 30 * MS));
    assert!(runs[0].0.is_ok());
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn a_variable_that_is_not_there_is_refused_by_name() {
    let mut scheduler = simple();
    scheduler.set("no_such_variable", 1);
    let error = simulate(&scheduler, "test-1c", &ping_pong(1), MS).0.unwrap_err().to_string();
    assert!(error.contains("scx_simple: the object has no variable no_such_variable"), "{error}");
}
