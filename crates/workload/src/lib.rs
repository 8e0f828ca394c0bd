//! The work of tasks: programs, and the models of benchmarks that are made of them.
//!
//! Work is in nanoseconds at capacity 1024 and nominal frequency, on a core whose SMT sibling is idle. Nothing here
//! knows a machine; an affinity is a list of CPUs that the user gave.
//!
//! [`build()`] makes a [`Workload`] of a benchmark's name or of a file, at a [`Load`]; [`describe`] shows one;
//! [`benchmarks`] lists them.

mod benchmark;
mod build;
mod call;
mod error;
mod file;
mod load;
mod metric;
mod model;
mod program;
mod realtime;
mod rt_app;
pub mod synthetic;
mod validate;
mod work;

pub use benchmark::{Benchmark, Case, Measures, ParamDef, ShortestRun, TaskSet, Values, benchmarks};
pub use build::{
    Description, build, build_leniently, default_load, describe, describe_leniently, from_toml, load_is_rate, names,
    printed, published_run, shortest_run,
};
pub use call::{CPU_LOCK_PIECE_NS, Call, Kind, RUN_FOR_PIECE_NS, SPIN_PIECE_NS, TimerMode};
pub use error::{About, WorkloadError};
pub use load::{Load, LoadError};
pub use metric::{
    FRAME_MAX, FRAME_MEAN, LATENCY_50PCT, LATENCY_90PCT, LATENCY_99_9PCT, LATENCY_99PCT, LATENCY_MAX, LATENCY_MEAN,
    METRICS, MISSED_16MS, MISSED_PERIODS, RATE_20PCT, RATE_50PCT, RATE_90PCT, RATE_MAX, SLACK_MEAN, TIME,
};
pub use program::{
    Change, Changed, Channel, ChannelCosts, CpuMax, Group, Interrupt, Op, Param, Program, Task, Workload,
};
pub use realtime::{Deadline, Realtime};
pub use rt_app::RtApp;
pub use validate::{NR_CPUS_MAX, TASKS_MAX};
pub use work::{Distribution, Work};
