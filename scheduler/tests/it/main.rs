//! Schedulers in BPF in simulated time.

mod misbehaves;
mod simple;
mod stalls;
mod support;
