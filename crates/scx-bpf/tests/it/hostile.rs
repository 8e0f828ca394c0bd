//! A scheduler that asks for all there is, or takes what is not its own, ends with an error; it harms nobody else.

use crate::support::{MS, simulate, spinners};
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::SimError;

const OBJECT: &[u8] = include_bytes!("../data/hostile.bpf.o");

fn hostile(mode: i128) -> BpfScheduler {
    let mut scheduler = BpfScheduler::new("hostile", OBJECT, "hostile").unwrap();
    scheduler.set("mode", mode);
    scheduler
}

#[test]
fn what_a_scheduler_makes_the_host_do_or_keep_has_an_end() {
    let ends = [
        (1, "bytes of memory would be used, which is the limit"),
        (2, "the programs have 1024 iterators over queues, which is the limit"),
        (3, "of this call have done as much work as one call may"),
        (4, "of all calls so far have done as much work as this number of instructions allows"),
        (5, "bpf_iter_bits_destroy() expected an iterator that bpf_iter_bits_new() has made"),
        (6, "of this call have done as much work as one call may"),
        (7, "of this call have done as much work as one call may"),
    ];
    for (mode, expected) in ends {
        let error = simulate(&hostile(mode), "test-2c", &spinners(&[0; 4]), 3_000 * MS).0;
        let error = error.map(|outcome| outcome.wakeups).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("hostile_enqueue()"), "mode {mode}: {error}");
    }
}

#[test]
fn what_it_may_do_it_does() {
    let outcome = simulate(&hostile(0), "test-2c", &spinners(&[0; 4]), 20 * MS).0.unwrap();
    let stats = outcome.scheduler.iter().filter(|(name, _)| name.starts_with("stats[")).count();
    assert_eq!(stats, 0, "a million entries are no counters that anybody prints");
}

#[test]
fn a_run_that_is_stopped_within_a_program_is_no_failure() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let mut scheduler = hostile(3);
    scheduler.stop_with(&STOP);
    let error = simulate(&scheduler, "test-2c", &spinners(&[0; 4]), 20 * MS).0.map(|_| ()).unwrap_err();
    assert!(matches!(&error, SimError::SchedulerEnded { .. }), "{error}");
    assert!(error.to_string().contains("the program was stopped"), "{error}");
    // The run has the same flag, which it looks at once its scheduler has ended.
    let outcome = crate::support::simulate_until(&scheduler, &spinners(&[0; 4]), 20 * MS, &STOP).unwrap();
    assert!(outcome.stopped);
    STOP.store(false, Ordering::Relaxed);
}
