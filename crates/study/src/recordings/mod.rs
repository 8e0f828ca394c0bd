//! What recordings and simulated runs in files show. This floor of the crate knows no experiment and makes no run, and
//! has floors of its own:
//!
//! ```text
//!  choice   waits
//!  ablation   conform   scx_wakeups   stats   summary   trace
//!  explain   replay   time_ordered
//!  rows   wakeups
//!  balance_passes   decider   least   over_time   progress   scx_waits   sources   threads   wakeup_preempt
//! ```
//!
//! [`explain`] shows for each recorded wake-up why the kernel chose its CPU, and [`choice`] takes the first of them, or
//! those with the longest waits. [`conform`] counts how often the model chooses what the kernel chose,
//! [`wakeup_preempt`] how often it preempts as the kernel did, [`balance_passes`] how often its balancer finds the same
//! group to pull from, [`summary`] counts reasons, [`stats`] counts everything in a recording or a simulated run, and
//! [`waits`] says why tasks waited. [`replay`] makes the decisions again with other features. [`ablation`] measures
//! what each rule and input of the model is worth. [`trace`](mod@trace) writes it all for Perfetto.

pub mod ablation;
pub mod balance_passes;
pub mod choice;
pub mod conform;
pub(crate) mod decider;
pub mod explain;
pub mod least;
pub mod over_time;
pub(crate) mod progress;
pub mod replay;
pub(crate) mod rows;
pub mod scx_waits;
pub mod scx_wakeups;
pub(crate) mod sources;
pub mod stats;
pub mod summary;
pub(crate) mod threads;
pub(crate) mod time_ordered;
pub mod trace;
pub mod waits;
pub mod wakeup_preempt;
pub(crate) mod wakeups;

pub use decider::{AssumedInputs, Decider, DeciderError};
pub use progress::{FileOutcome, Progress};
pub use rows::SourceKinds;
pub use sources::{about, decision_files, machines, sample, sources};
