//! [`State`]: which of its two self-sustaining states the machine is in, and when that changed.
//!
//! The run is cut into windows of [`WINDOW_NS`] from its start. Three numbers are counted of the workload's wake-ups in
//! a window that had a choice: how many there were (w), how many went past the fast path of `select_idle_sibling()`
//! (d), and how many of the searches failed, so that they found nothing idle and fell back on the target (f):
//!
//! ```text
//! w < SPARSE_WAKEUPS         the window indicates the state before it
//! f > d / 2  and  f > w / 4  stacked
//! else                       migrating
//! ```
//!
//! The state changes if [`WINDOWS_TO_CHANGE`] windows in a row indicate the other one; the change is dated to the start
//! of the first of them. A run begins in the migrating state, because its CPUs are idle. A window that is cut off by
//! the end of the run is not evaluated.

use serde::{Deserialize, Serialize};

/// The length of a window, ns.
pub const WINDOW_NS: u64 = 10_000_000;

/// A window with fewer wake-ups than this indicates no change.
pub const SPARSE_WAKEUPS: u64 = 100;

/// The number of consecutive windows that make a change.
pub const WINDOWS_TO_CHANGE: u32 = 3;

/// One of the machine's two self-sustaining states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Wakees are put on CPUs that look idle.
    Migrating,
    /// Wakees are put on the busy CPU at which their search started.
    Stacked,
}

/// A change of the machine's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// When the state changed, ns from the start of the run.
    pub at_ns: u64,
    /// The new state.
    pub state: State,
}

/// The counts of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    wakeups: u64,
    domain_searches: u64,
    failed: u64,
}

impl Window {
    /// The state that the window indicates, if the state before it is `before`.
    fn indicates(&self, before: State) -> State {
        if self.wakeups < SPARSE_WAKEUPS {
            before
        } else if 2 * self.failed > self.domain_searches && 4 * self.failed > self.wakeups {
            State::Stacked
        } else {
            State::Migrating
        }
    }
}

/// Detects the changes of state in a run.
#[derive(Clone, Debug)]
pub(crate) struct StateDetector {
    window: Window,
    window_end: u64,
    state: State,
    /// The number of windows before this one, in a row, that indicated the other state.
    windows_of_other: u32,
    changes: Vec<StateChange>,
}

impl StateDetector {
    pub(crate) fn new() -> Self {
        StateDetector {
            window: Window::default(),
            window_end: WINDOW_NS,
            state: State::Migrating,
            windows_of_other: 0,
            changes: Vec::new(),
        }
    }

    /// Counts a wake-up that had a choice.
    #[inline]
    pub(crate) fn wakeup(&mut self, time: u64, domain_search: bool, failed: bool) {
        if time >= self.window_end {
            self.close_windows(time);
        }
        self.window.wakeups += 1;
        self.window.domain_searches += u64::from(domain_search);
        self.window.failed += u64::from(failed);
    }

    /// All changes of a run that ended at `time`.
    pub(crate) fn finish(mut self, time: u64) -> Vec<StateChange> {
        self.close_windows(time);
        self.changes
    }

    /// Evaluates the windows that end by `time`.
    #[cold]
    fn close_windows(&mut self, time: u64) {
        while time >= self.window_end {
            self.close_window();
        }
    }

    fn close_window(&mut self) {
        let window = std::mem::take(&mut self.window);
        self.window_end += WINDOW_NS;
        let indicated = window.indicates(self.state);
        if indicated == self.state {
            self.windows_of_other = 0;
            return;
        }
        self.windows_of_other += 1;
        if self.windows_of_other == WINDOWS_TO_CHANGE {
            self.state = indicated;
            self.windows_of_other = 0;
            let at_ns = self.window_end - u64::from(WINDOWS_TO_CHANGE + 1) * WINDOW_NS;
            self.changes.push(StateChange { at_ns, state: indicated });
        }
    }
}

/// The state at `time`, from all changes of the run.
pub(crate) fn state_at(changes: &[StateChange], time: u64) -> State {
    let before = changes.iter().rev().find(|change| change.at_ns <= time);
    before.map_or(State::Migrating, |change| change.state)
}
