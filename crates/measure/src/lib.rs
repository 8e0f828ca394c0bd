//! The numbers of a run: search statistics, latencies, throughput, states and regret.
//!
//! [`Measure`] is a [`Sink`](wakelab_events::sim::Sink): it receives a run's events and returns the [`RunStats`] of the
//! measured part. What perfect knowledge would have changed ([`regret`]) is only counted on request.
//!
//! | file | contents |
//! |---|---|
//! | `measure` | [`Measure`]: counts the events of a run |
//! | `run_stats` | [`RunStats`]: the numbers of one run |
//! | `search_stats` | [`SearchStats`]: the counters of `select_idle_sibling()`, and their rates |
//! | `activity` | [`Activity`]: how often the code ran that features switch |
//! | `latency` | [`Latency`] and [`Waits`]: percentiles of times |
//! | `periods` | [`ThreadPeriods`]: slack and missed periods of threads with a timer |
//! | `starved` | [`NeverRan`]: tasks that could run and got no CPU |
//! | `rates` | [`Rates`]: how many transactions each second had |
//! | `log2_histogram` | [`Bucket`]: durations by powers of two |
//! | `machine_state` | [`State`]: migrating or stacked, and when that changed |
//! | [`regret`] | searches, probes and CPU time compared with perfect knowledge |
//!
//! It may use `events`, and plain numbers of `pm` and `workload`. It never simulates, and never prints.

mod activity;
mod latency;
mod log2_histogram;
mod machine_state;
mod measure;
mod periods;
mod rates;
pub mod regret;
mod run_stats;
mod search_stats;
mod starved;

pub use activity::Activity;
pub use latency::{Latency, Waits};
pub use log2_histogram::Bucket;
pub use machine_state::{SPARSE_WAKEUPS, State, StateChange, WINDOW_NS, WINDOWS_TO_CHANGE};
pub use measure::Measure;
pub use periods::ThreadPeriods;
pub use rates::Rates;
pub use run_stats::{OpTime, RunStats};
pub use search_stats::SearchStats;
pub use starved::NeverRan;
