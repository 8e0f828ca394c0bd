//! Schedulers in BPF in simulated time.

mod cgroups;
mod fuzz_corpus;
mod hangs;
mod hostile;
mod hotplug;
mod misbehaves;
mod qmap;
mod selftests;
mod simple;
mod stalls;
mod support;
mod versions;
