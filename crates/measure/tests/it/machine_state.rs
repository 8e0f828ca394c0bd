//! When a change of state is detected.

use crate::support::{End, MS, wakeup};
use wakelab_events::sim::{Event, Sink};
use wakelab_measure::{Measure, RunStats, SPARSE_WAKEUPS, State, StateChange, WINDOW_NS};

/// The wake-ups of one window: how many searches failed, found a CPU after a domain search, and ended in the fast path.
type Mix = (u64, u64, u64);

const STACKED: Mix = (100, 50, 50);
const MIGRATING: Mix = (1, 100, 99);

fn run(settle: u64, windows: &[Mix], without_choice: bool) -> RunStats {
    let end = windows.len() as u64 * WINDOW_NS;
    let mut measure = Measure::new(0, settle, end, 2);
    for (n, &(failed, found, fast)) in windows.iter().enumerate() {
        let time = n as u64 * WINDOW_NS + MS;
        for (times, ends) in [(failed, End::Failed), (found, End::Found(9)), (fast, End::Fast)] {
            let mut event = wakeup(ends);
            if let (Event::Wakeup { decision, .. }, true) = (&mut event, without_choice) {
                *decision = None;
            }
            (0..times).for_each(|_| measure.event(time, &event));
        }
    }
    measure.finish(end)
}

fn changes(windows: &[Mix]) -> Vec<(u64, State)> {
    run(0, windows, false).changes.iter().map(|&StateChange { at_ns, state }| (at_ns / WINDOW_NS, state)).collect()
}

#[test]
fn three_windows_change_the_state_at_the_first_of_them() {
    let [m, s] = [MIGRATING, STACKED];
    assert_eq!(changes(&[m, m, s, s, s, s]), [(2, State::Stacked)]);
    assert_eq!(changes(&[s, s, s, m, m, m]), [(0, State::Stacked), (3, State::Migrating)]);
}

#[test]
fn two_windows_change_nothing() {
    let [m, s] = [MIGRATING, STACKED];
    assert_eq!(changes(&[m, s, s, m, s, s, m]), []);
    assert_eq!(changes(&[m, s, s]), []);
}

#[test]
fn a_window_with_few_wakeups_indicates_the_state_before() {
    let sparse = (SPARSE_WAKEUPS - 1, 0, 0);
    let enough = (SPARSE_WAKEUPS, 0, 0);
    assert_eq!(changes(&[sparse, sparse, sparse]), []);
    assert_eq!(changes(&[enough, enough, enough]), [(0, State::Stacked)]);
    let [m, s] = [MIGRATING, STACKED];
    assert_eq!(changes(&[s, s, sparse, s, s, sparse]), []);
    assert_eq!(changes(&[s, s, s, m, m, (0, 0, 0), m, m]), [(0, State::Stacked)]);
}

#[test]
fn more_than_half_of_the_domain_searches_fail_when_stacked() {
    assert_eq!(changes(&[(100, 100, 0); 3]), []);
    assert_eq!(changes(&[(101, 100, 0); 3]), [(0, State::Stacked)]);
}

#[test]
fn more_than_a_quarter_of_all_fail_when_stacked() {
    assert_eq!(changes(&[(100, 0, 300); 3]), []);
    assert_eq!(changes(&[(101, 0, 300); 3]), [(0, State::Stacked)]);
}

#[test]
fn a_window_that_the_end_cuts_off_is_not_evaluated() {
    let mut measure = Measure::new(0, 0, 3 * WINDOW_NS - 1, 2);
    for window in 0..3 {
        (0..200).for_each(|_| measure.event(window * WINDOW_NS, &wakeup(End::Failed)));
    }
    assert_eq!(measure.clone().finish(3 * WINDOW_NS - 1).changes, []);
}

#[test]
fn wakeups_without_a_choice_do_not_count() {
    assert_eq!(run(0, &[STACKED; 4], true).changes, []);
}

#[test]
fn the_state_at_the_start_of_the_measured_time_is_reported() {
    let [m, s] = [MIGRATING, STACKED];
    let windows = [m, m, s, s, s, s, s];
    assert_eq!(run(2 * WINDOW_NS - 1, &windows, false).state, State::Migrating);
    assert_eq!(run(2 * WINDOW_NS, &windows, false).state, State::Stacked);
    assert_eq!(run(0, &windows, false).changes, run(5 * WINDOW_NS, &windows, false).changes);
}

#[test]
fn the_state_at_the_end_is_the_last_one() {
    let [m, s] = [MIGRATING, STACKED];
    assert_eq!(run(0, &[m, m], false).state_at_end(), State::Migrating);
    assert_eq!(run(0, &[m, s, s, s], false).state_at_end(), State::Stacked);
    assert_eq!(run(0, &[s, s, s, m, m, m], false).state_at_end(), State::Migrating);
}
