//! What the tests of several crates share, and the fuzz targets with them: what must hold of any bytes (`check_*`),
//! files changed by chance, random experiments and schedulers, what follows every task through the events of a run,
//! second implementations, and the cases of tests, benches and examples.
//!
//! What needs a crate is behind a feature of the crate's name, so that its tests alone build no crate above it. It is
//! for integration tests, benches and examples: a crate's unit tests would see the crate a second time.

#[cfg(feature = "conservation")]
pub mod amounts;
#[cfg(feature = "bpf")]
pub mod bpf_asm;
#[cfg(feature = "bpf")]
pub mod bpf_kernel;
pub mod changes;
#[cfg(feature = "bpf")]
pub mod check_bpf;
#[cfg(feature = "study")]
pub mod check_capture;
#[cfg(feature = "events")]
pub mod check_events;
#[cfg(feature = "study")]
pub mod check_experiment;
#[cfg(feature = "import")]
pub mod check_import;
#[cfg(feature = "machine")]
pub mod check_machine;
#[cfg(feature = "page")]
pub mod check_page;
#[cfg(feature = "events")]
pub mod check_recording;
#[cfg(feature = "workload")]
pub mod check_rt_app;
#[cfg(feature = "scx-bpf")]
pub mod check_scheduler;
#[cfg(feature = "scx-fetch")]
pub mod check_scheduler_source;
#[cfg(feature = "study")]
pub mod check_study;
#[cfg(feature = "workload")]
pub mod check_workload;
#[cfg(feature = "conservation")]
pub mod conservation;
#[cfg(feature = "study")]
pub mod fake_runner;
pub mod most_memory;
#[cfg(feature = "sched")]
pub mod placements;
pub mod random_experiment;
pub mod random_scheduler;
pub mod random_workload;
#[cfg(feature = "import")]
pub mod recorder_files;
#[cfg(feature = "events")]
pub mod recording_rows;
#[cfg(feature = "study")]
pub mod recovery;
#[cfg(feature = "page")]
pub mod sample_page;
#[cfg(feature = "sched")]
pub mod select_reference;
#[cfg(feature = "events")]
pub mod simulated_run;
#[cfg(feature = "sim")]
pub mod speed_runs;
pub mod splitmix64;
#[cfg(feature = "machine")]
pub mod sysfs;
