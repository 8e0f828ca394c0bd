//! Schedulers in BPF in simulated time.

mod misbehaves;
mod selftests;
mod simple;
mod stalls;
mod support;
