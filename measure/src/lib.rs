//! What is counted in a run: search statistics, latencies, throughput, states.
//!
//! [`Measure`] is a [`Sink`](wakelab_events::sim::Sink): it listens to a run and gives [`RunStats`] of the part of it that is
//! measured.

mod stats;

pub use stats::{Bucket, Latency, RunStats, SearchStats, State, StateChange};
