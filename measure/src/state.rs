//! Which of its two self-sustaining states the machine is in, and when that changed.
//!
//! The run is cut into windows of [`WINDOW_NS`] from its start. Of each window's wake-ups of the workload that had a
//! choice, three things are counted: how many there were, how many went past the fast path of `select_idle_sibling()`,
//! and how many failed (found nothing idle and fell back on the target). A window looks
//!
//! - **stacked** where more than half of those past the fast path failed, and more than a quarter of all;
//! - **migrating** otherwise;
//! - like the state before it where there were fewer than [`SPARSE_WAKEUPS`].
//!
//! The state changes when [`WINDOWS_TO_CHANGE`] windows in a row look like the other one; it then changed at the start of
//! the first of them. A run begins in the migrating state: its CPUs are idle. A window that the end of the run cuts off
//! is not judged.

use crate::{RunStats, State, StateChange};

/// The length of a window, ns.
pub const WINDOW_NS: u64 = 10_000_000;

/// A window with fewer wake-ups than this says nothing.
pub const SPARSE_WAKEUPS: u64 = 100;

/// So many windows in a row make a change.
pub const WINDOWS_TO_CHANGE: u32 = 3;

/// What was counted in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    wakeups: u64,
    domain_searches: u64,
    failed: u64,
}

impl Window {
    fn looks(&self, before: State) -> State {
        if self.wakeups < SPARSE_WAKEUPS {
            before
        } else if 2 * self.failed > self.domain_searches && 4 * self.failed > self.wakeups {
            State::Stacked
        } else {
            State::Migrating
        }
    }
}

/// Follows the state through a run.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    window: Window,
    window_end: u64,
    state: State,
    /// How many windows before this one have looked like the other state.
    other: u32,
    changes: Vec<StateChange>,
}

impl Detector {
    pub(crate) fn new() -> Self {
        Detector {
            window: Window::default(),
            window_end: WINDOW_NS,
            state: State::Migrating,
            other: 0,
            changes: Vec::new(),
        }
    }

    /// One wake-up with a choice.
    #[inline]
    pub(crate) fn wakeup(&mut self, time: u64, domain_search: bool, failed: bool) {
        if time >= self.window_end {
            self.close_until(time);
        }
        self.window.wakeups += 1;
        self.window.domain_searches += u64::from(domain_search);
        self.window.failed += u64::from(failed);
    }

    /// Every change, when the run ended at `time`.
    pub(crate) fn finish(mut self, time: u64) -> Vec<StateChange> {
        self.close_until(time);
        self.changes
    }

    #[cold]
    fn close_until(&mut self, time: u64) {
        while time >= self.window_end {
            self.close();
        }
    }

    fn close(&mut self) {
        let window = std::mem::take(&mut self.window);
        self.window_end += WINDOW_NS;
        let looks = window.looks(self.state);
        if looks == self.state {
            self.other = 0;
            return;
        }
        self.other += 1;
        if self.other == WINDOWS_TO_CHANGE {
            self.state = looks;
            self.other = 0;
            let at_ns = self.window_end - u64::from(WINDOWS_TO_CHANGE + 1) * WINDOW_NS;
            self.changes.push(StateChange { at_ns, state: looks });
        }
    }
}

/// The state at `time`, given every change.
pub(crate) fn state_at(changes: &[StateChange], time: u64) -> State {
    let before = changes.iter().rev().find(|change| change.at_ns <= time);
    before.map_or(State::Migrating, |change| change.state)
}

impl RunStats {
    /// The state that the run ended in.
    pub fn state_at_end(&self) -> State {
        state_at(&self.changes, u64::MAX)
    }
}
