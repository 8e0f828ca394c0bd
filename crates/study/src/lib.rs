//! Studies: the model's decisions compared with recorded kernels, and simulated kernels compared with each other.
//!
//! [`explain`] shows for each recorded wake-up why the kernel chose its CPU. [`conform`] counts how often the model
//! chooses what the kernel chose, [`wakeup_preempt`] how often it preempts as the kernel did, [`balance_passes`] how
//! often its balancer finds the same group to pull from, [`summary`] counts reasons, [`stats`] counts everything in a
//! recording or a simulated run, and [`waits`] says why tasks waited.
//! [`capture`] makes a workload of it. [`picture`] collects the charts of one run. [`replay`] makes the decisions again
//! with other features. [`ablation`] measures what each rule and input of the model is worth.
//!
//! [`compare`] runs two feature sets on a simulated machine, as an [`experiment`] describes it. [`mechanisms`] does so
//! with each part of the simulator switched off in turn, and [`sensitivity`] with the assumed constants changed.
//! [`verdict`] says by one rule what a comparison found, and [`diff`] sets two results or recordings side by side.
//! [`score`] gives a candidate one number on a panel of machines and loads, and [`sweep`] makes the runs of a whole
//! space. [`scx_check`] looks for stalls and unfairness of a scheduler of sched_ext.
//! [`reproduce`] compares published tables with their simulation. [`fit`] fits a machine to what was
//! measured on it. [`calibrate`] derives constants from microbenchmarks, and [`verify`] compares loads that ran with
//! their simulation. [`cache`] keeps finished runs. The crate `statistics` tests whether two means differ.
//!
//! All of them return data; `wakelab-report` turns it into text.
//!
//! It may use all rooms below `report`. It never formats, and never prints.

pub mod ablation;
pub mod balance_passes;
pub mod cache;
pub mod calibrate;
pub mod capture;
pub mod compare;
pub mod conform;
pub mod decider;
pub mod diff;
pub mod estimate;
pub mod experiment;
pub mod explain;
pub mod fail_if;
pub mod fence;
pub mod fit;
pub mod geometric_mean;
pub mod mechanisms;
pub mod picture;
mod published;
mod rank_correlation;
pub mod recordings;
pub mod replay;
pub mod reproduce;
mod scheduler;
pub mod score;
pub mod scx_check;
pub mod scx_waits;
pub mod scx_wakeups;
pub mod sensitivity;
pub mod stats;
pub mod summary;
pub mod survey;
pub mod sweep;
mod threads;
mod time_ordered;
pub mod trace;
pub mod verdict;
pub mod verify;
pub mod waits;
pub mod wakeup_preempt;
pub mod weighted_mean;

pub use decider::{AssumedInputs, Decider, DeciderError};
pub use recordings::{FileOutcome, Progress, SourceKinds};
