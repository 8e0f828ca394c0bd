//! A run by what it is called, and why it has no result.

use std::fmt;
use wakelab_events::WriteError;
use wakelab_input::duration_text;
use wakelab_sim::SimError;
use wakelab_workload::METRICS;

/// The identity of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId {
    /// The machine.
    pub machine: String,
    /// The kernel.
    pub kernel: &'static str,
    /// The switches; may be empty.
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// The load.
    pub load: String,
    /// Whether it is a run of the side `with`; else of `base`.
    pub with: bool,
    /// The number of the repeat, from 0.
    pub repeat: u32,
    /// The seed.
    pub seed: u64,
    /// Whether each search is compared with perfect knowledge, which adds to the numbers of the run.
    pub regret: bool,
    /// Its number in a sweep; `None` if it is of no sweep.
    pub number: Option<u64>,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunId { machine, kernel, variant, workload, load, repeat, seed, .. } = self;
        let sep = if variant.is_empty() { "" } else { " " };
        write!(f, "{workload} {load} on {machine} {kernel}{sep}{variant}, repeat {}, seed {seed}", repeat + 1)
    }
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The simulator failed.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The events could not be written.
    #[error("--events: {0}\n  hint: name a folder with room for them, or simulate for less time")]
    Events(#[from] WriteError),
    /// The trace could not be written.
    #[error("--perfetto: {0}\n  hint: name a folder with room for it, or simulate for less time")]
    Trace(String),
    /// The run ended before measuring began.
    #[error(
        "all tasks had exited at {}, before measuring began at {}\n  hint: settle for less time; --settle 0s is \
        allowed",
        duration_text(*ended),
        duration_text(*settle)
    )]
    Over {
        /// The end of the run, ns.
        ended: u64,
        /// The start of measuring, ns.
        settle: u64,
    },
    /// No transaction was done.
    #[error(
        "no transaction was done in the {} that were measured\n  hint: measure for longer (--time), or settle for \
         longer (--settle)",
        duration_text(*.0)
    )]
    Nothing(u64),
    /// The metric of the workload is not one that a run gives.
    #[error(
        "no run gives the metric {0}; expected {list}\n  hint: set `metric` in the workload's file",
        list = METRICS.join(" or ")
    )]
    Metric(String),
    /// As another process has told it, that made the run.
    #[error("{0}")]
    Fenced(String),
    /// The process that made the run has died of it: how.
    #[error(
        "the process that made it has ended ({0})\n  hint: unless it ran out of memory, this is a bug in wakelab; \
         please report it with the scheduler"
    )]
    Died(String),
    /// The run panicked: the message.
    #[error("it panicked ({0})\n  hint: this is a bug in wakelab; please report it with the scheduler")]
    Panicked(String),
    /// Some task had not exited, and the metric is the time until all have.
    #[error("some task had not exited after {}\n  hint: repeat its loops less often", duration_text(*.0))]
    Unfinished(u64),
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{run}: {why}")]
pub struct RunFailed {
    /// The run.
    pub run: Box<RunId>,
    /// The cause.
    pub why: Why,
}
