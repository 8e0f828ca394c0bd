//! [`NeverRan`]: tasks that could run and got no CPU.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use wakelab_events::sim::Task;

/// How many of them are named.
const NAMED: usize = 8;

/// The tasks of a workload that could run and got no CPU in the measured time.
///
/// A task counts if it waited for a CPU when the measured time ended, and had waited in all of it; one that has never
/// run at all counts from half of the measured time on, so that tasks which are forked while it is measured are not
/// missed. Tasks that sleep do not count, however long they sleep. One whose control group is throttled waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeverRan {
    /// How many.
    pub count: u64,
    /// The number of tasks that had not exited by the end.
    pub of: u64,
    /// The names of the first of them, at most 8, in the order of their creation.
    pub names: Vec<String>,
}

/// Since when a task has run, or has waited.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// When it last got a CPU, lost it or joined a run queue, ns.
    since: u64,
    runs: bool,
    has_run: bool,
}

/// When tasks had a CPU last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Vec<Turn>);

impl Turns {
    #[inline]
    fn of(&mut self, task: Task) -> &mut Turn {
        let task = task as usize;
        if task >= self.0.len() {
            self.0.resize(task + 1, Turn::default());
        }
        &mut self.0[task]
    }

    /// A task joins a run queue. It may run still, if it is woken while it is switched out.
    #[inline]
    pub(crate) fn queued(&mut self, time: u64, task: Task) {
        let turn = self.of(task);
        if !turn.runs {
            turn.since = time;
        }
    }

    /// A task gets a CPU.
    #[inline]
    pub(crate) fn runs(&mut self, time: u64, task: Task) {
        *self.of(task) = Turn { since: time, runs: true, has_run: true };
    }

    /// A task loses its CPU.
    #[inline]
    pub(crate) fn stops(&mut self, time: u64, task: Task) {
        let turn = self.of(task);
        (turn.since, turn.runs) = (time, false);
    }

    /// A task is moved to another CPU. It loses its own if it runs.
    #[inline]
    pub(crate) fn moved(&mut self, time: u64, task: Task) {
        if self.of(task).runs {
            self.stops(time, task);
        }
    }

    pub(crate) fn never_ran<'a>(
        &self,
        measured: Range<u64>,
        of: u64,
        waiting: impl IntoIterator<Item = (Task, &'a str)>,
    ) -> NeverRan {
        let mut never_ran = NeverRan { of, ..NeverRan::default() };
        if measured.is_empty() {
            return never_ran;
        }
        let half = measured.start + (measured.end - measured.start) / 2;
        for (task, name) in waiting {
            let Some(turn) = self.0.get(task as usize).filter(|turn| !turn.runs) else { continue };
            if turn.since <= measured.start || (!turn.has_run && turn.since <= half) {
                never_ran.count += 1;
                if never_ran.names.len() < NAMED {
                    never_ran.names.push(name.to_owned());
                }
            }
        }
        never_ran
    }
}
