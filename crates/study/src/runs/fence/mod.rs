//! A fence around the runs of foreign schedulers: whatever the object of a scheduler makes of its run, the others go
//! on.
//!
//! ```text
//! matrix, sweep, scx-check ─▶ Fence ─ a question ─▶ worker: the same program with the same arguments, which makes
//!                               ▲                     │ no runs but those that it is asked for
//!                               └─ an answer, or ─────┘
//!                                  how the process ended
//! ```
//!
//! A run that panics is caught where it is made, and is a run that failed. A stack that overflows and memory that is
//! not there end a process, so that such runs are made in another one. That is this program once more, with the same
//! arguments: it reads the same files and so has the same experiments, and is told by name which run to make
//! ([`serve`](worker::serve)). The key of the run tells whether its inputs are the same, too. A worker makes one run
//! after the other and is replaced when it dies. It ends with the program, whatever ended that, because it watches the
//! pipe that its questions come from.
//!
//! Where the program cannot be started again, in the interpreter of the package for Python and in tests, runs are made
//! in the process itself, and panics alone are caught. The numbers are the same.

mod process;
pub mod worker;

pub use process::Start;

use process::{Exchanged, Process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Makes the runs of foreign schedulers in processes of their own.
#[derive(Debug, Default)]
pub struct Fence {
    /// How workers are started; `None` if they are not.
    start: Option<Start>,
    /// Workers that wait for a question.
    idle: Mutex<Vec<Process>>,
    /// No worker could be started.
    gave_up: AtomicBool,
}

/// What came of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked<A> {
    /// The answer.
    Answer(A),
    /// The worker has died of it: how.
    Died(String),
    /// The run was stopped.
    Stopped,
    /// There is no worker.
    Nobody,
}

impl Fence {
    /// A fence whose workers are started so; without, runs are made in this process.
    pub fn new(start: Option<Start>) -> Self {
        Fence { start, ..Fence::default() }
    }

    /// Whether runs are made in other processes.
    pub(crate) fn has_workers(&self) -> bool {
        self.start.is_some()
    }

    /// Asks a worker, and starts one if all are busy. Once `stop` is set, the worker is killed.
    pub(crate) fn ask<Q: Serialize, A: DeserializeOwned>(&self, question: &Q, stop: &AtomicBool) -> Asked<A> {
        let Some(start) = self.start.as_ref().filter(|_| !self.gave_up.load(Ordering::Relaxed)) else {
            return Asked::Nobody;
        };
        let question = postcard::to_stdvec(question).expect("plain data can be written to memory");
        loop {
            let waiting = self.idle().pop();
            let was_idle = waiting.is_some();
            let mut process = match waiting.map_or_else(|| Process::start(start, stop), |process| Ok(Some(process))) {
                Ok(Some(process)) => process,
                Ok(None) => return Asked::Stopped,
                Err(_) => {
                    self.gave_up.store(true, Ordering::Relaxed);
                    return Asked::Nobody;
                }
            };
            match process.exchange(&question, stop) {
                Exchanged::Answer(bytes) => {
                    let Ok(answer) = postcard::from_bytes(&bytes) else { return Asked::Nobody };
                    self.idle().push(process);
                    return Asked::Answer(answer);
                }
                Exchanged::Stopped => return Asked::Stopped,
                // It died while it waited, not of this question.
                Exchanged::Unsent if was_idle => {}
                Exchanged::Unsent | Exchanged::Died => return Asked::Died(process.how_it_ended()),
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a run, and returns the message of its panic if it panics.
///
/// # Errors
/// Fails with the message.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        match text.or_else(|| payload.downcast_ref::<String>().cloned()) {
            Some(text) => text,
            // Not a panic of the simulator: whoever threw it waits for it.
            None => resume_unwind(payload),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_its_message() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| -> u32 { panic!("a queue is {}", "empty") }), Err("a queue is empty".to_owned()));
        let other = catch_unwind(|| caught(|| resume_unwind(Box::new(5_u8))));
        assert_eq!(other.unwrap_err().downcast_ref(), Some(&5_u8), "what is no message goes on");
    }

    #[test]
    fn a_program_that_is_no_worker_leaves_the_runs_to_this_process() {
        let stop = AtomicBool::new(false);
        for program in ["/bin/false", "/nonexistent"] {
            let fence = Fence::new(Some(Start { program: program.into(), args: Vec::new() }));
            assert_eq!(fence.ask::<_, u32>(&1_u32, &stop), Asked::Nobody, "{program}");
        }
        assert_eq!(Fence::default().ask::<_, u32>(&1_u32, &stop), Asked::Nobody);
    }
}
