//! What is counted in a run: search statistics, latencies, throughput, states.
//!
//! [`Measure`] is a [`Sink`](wakelab_events::sim::Sink): it listens to a run and gives [`RunStats`] of the part of it that is
//! measured. What perfect knowledge would have changed ([`regret`]) is only counted where it is wanted.

mod idle;
mod listen;
mod log2;
mod rates;
pub mod regret;
mod state;
mod stats;
mod waits;

pub use listen::Measure;
pub use state::{SPARSE_WAKEUPS, WINDOW_NS, WINDOWS_TO_CHANGE};
pub use stats::{Bucket, Latency, RunStats, SearchStats, State, StateChange};
pub use waits::Waits;
