//! Schedulers in BPF in simulated time.

mod cgroups;
mod misbehaves;
mod selftests;
mod simple;
mod stalls;
mod support;
