//! What a scheduler does wrong ends its run, with the place in its source.

use crate::support::{MS, simulate, spinners};
use wakelab_scx_bpf::BpfScheduler;

const OBJECT: &[u8] = include_bytes!("../data/misbehaves.bpf.o");

fn ends(mode: i128) -> String {
    let mut scheduler = BpfScheduler::new("misbehaves", OBJECT, "misbehaves").unwrap();
    scheduler.set("mode", mode);
    match simulate(&scheduler, "test-2c", &spinners(&[0; 4]), 3_000 * MS).0 {
        Ok(outcome) => format!("{outcome:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn one_that_behaves_goes_on() {
    assert!(ends(0).contains("stopped: false"), "{}", ends(0));
}

#[test]
fn a_loop_without_an_end_is_an_error_with_its_line() {
    let error = ends(1);
    assert!(error.starts_with("scheduler misbehaves has ended: fault of its program at "), "{error}");
    assert!(error.contains("misbehaves.bpf.c:3") && error.contains("misbehaves_enqueue()"), "{error}");
    assert!(error.contains("instructions, the limit for one call"), "{error}");
}

#[test]
fn a_read_beyond_a_value_is_an_error_with_its_line_and_the_map() {
    let error = ends(2);
    assert!(
        error.contains("misbehaves.bpf.c:38: read of 8 bytes at ") && error.contains("counts has 8 bytes"),
        "{error}"
    );
    assert!(error.contains("count[0] = count[1];"), "{error}");
}

#[test]
fn memory_that_is_never_freed_is_an_error() {
    let error = ends(3);
    assert!(error.contains("misbehaves.bpf.c:41: ") && error.contains("objects"), "{error}");
}

#[test]
fn a_task_that_nobody_dispatches_is_a_stall() {
    let error = ends(4);
    assert!(error.contains("runnable task stall at ") && error.contains("failed to run for 1."), "{error}");
}

#[test]
fn an_error_of_its_own_has_its_words() {
    let error = ends(5);
    assert!(error.contains("scx_bpf_error at ") && error.contains("mode 5, flags "), "{error}");
}
