//! Studies: the model's decisions compared with recorded kernels, and simulated kernels compared with each other.
//!
//! A floor uses those below it:
//!
//! ```text
//!  diff   fail_if   score   survey                       judge
//!  verdict   fit                                           │
//!  sensitivity                                             │
//!  reproduce   sweep                                       ▼
//!  experiment   runners   mechanisms   capture           make runs, and what they are made of
//!  compare   scx_check              recordings           compare runs; read files
//!  runs                                                  a run
//!  the crate `statistics`                                whether two means differ
//! ```
//!
//! [`runs`] says what a run is, keeps finished ones and makes them in processes of their own. [`compare`] runs two
//! feature sets on a simulated machine, as an [`experiment`] describes it. [`recordings`] has what recordings and
//! simulated runs in files show: why the kernel chose a CPU, how often the model chooses the same, statistics, waits.
//! [`capture`] makes a workload of a recording. [`runners`] simulate, and write events, traces and pictures of it.
//!
//! [`mechanisms`] compares with each part of the simulator switched off in turn, and [`sensitivity`] with the assumed
//! constants changed. [`verdict`] says by one rule what a comparison found, and [`diff`] sets two results or recordings
//! side by side. [`score`] gives a candidate one number on a panel of machines and loads, and [`sweep`] makes the runs
//! of a whole space. [`scx_check`] looks for stalls and unfairness of a scheduler of sched_ext.
//! [`reproduce`] compares published tables with their simulation. [`fit`] fits a machine to what was
//! measured on it. [`calibrate`] derives constants from microbenchmarks, and [`verify`] compares loads that ran with
//! their simulation.
//!
//! All of them return data; `wakelab-report` turns it into text.
//!
//! It may use all rooms below `report`. It never formats, and never prints.

pub mod calibrate;
pub mod capture;
pub mod compare;
pub mod diff;
pub mod experiment;
pub mod fail_if;
pub mod fit;
pub mod mechanisms;
pub mod recordings;
pub mod reproduce;
pub mod runners;
pub mod runs;
pub mod score;
pub mod scx_check;
pub mod sensitivity;
pub mod survey;
pub mod sweep;
pub mod verdict;
pub mod verify;

pub use recordings::{AssumedInputs, Decider, DeciderError, FileOutcome, Progress, SourceKinds};
