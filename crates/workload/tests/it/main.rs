//! The integration tests of workloads: one program, because each program is linked for itself.

mod benchmarks;
mod calls;
mod distribution;
mod file;
mod file_calls;
mod file_realtime;
mod forks;
mod frequency;
mod fuzz_corpus;
mod groups;
mod guide;
mod large_files;
mod netperf;
mod rt_app;
mod rt_app_corpus;
mod rt_app_errors;
mod rt_app_examples;
mod run_changes;
mod schbench;
mod servers;
mod tbench;
mod timeless;
mod validate;

// The guide's benchmark names these as a file of the crate does.
use wakelab_workload::{Benchmark, Case, Channel, Op, ParamDef, Program, Task, TaskSet, Values, Work, Workload};
