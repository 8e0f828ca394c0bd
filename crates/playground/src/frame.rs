//! What the page is told: how a run begins, what it draws after each step, and the result.

use crate::watch::{Bin, Step};
use serde::Serialize;
use wakelab_measure::{RunStats, State, StateChange};

/// A run that has begun.
#[derive(Clone, Debug, Serialize)]
pub struct Begun {
    /// The machine's name.
    pub machine: String,
    /// The kernel's name: that of the preset which stands for a release.
    pub kernel: &'static str,
    /// The load as published tables print it: `224 threads`.
    pub load: String,
    /// The workload's metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// The seed of the run.
    pub seed: u64,
    /// When measuring begins, ns.
    pub settle_ns: u64,
    /// When the run ends, ns; an hour if it ends when all tasks have exited.
    pub until_ns: u64,
    /// How long a [`Bin`] is, ns.
    pub bin_ns: u64,
    /// By CPU: its core, LLC, NUMA node and package.
    pub cpus: Vec<[u32; 4]>,
    /// The features that are on and decide how an idle CPU is searched.
    pub policies: Vec<&'static str>,
    /// `imbalance_pct` as SIS_UTIL uses it (`sis_util_pct`, or the domain's); `None` if nothing reads it.
    pub sis_util_pct: Option<u64>,
    /// The warnings that `wakelab compare` would print.
    pub warnings: Vec<String>,
}

/// The contents of the page after a step.
#[derive(Clone, Debug, Serialize)]
pub struct Frame {
    /// The time, ns from the start.
    pub at_ns: u64,
    /// Whether the run is over.
    pub over: bool,
    /// The activity of each CPU.
    pub cpus: Cpus,
    /// Each LLC, by its lowest CPU.
    pub llcs: Vec<Llc>,
    /// The bins that are over and that no frame before this one had.
    pub bins: Vec<Bin>,
    /// The events since the frame before.
    pub step: Step,
    /// Wake-up latency of the workload's tasks in the last whole window of 10 ms: how many, median and 99th percentile,
    /// ns.
    pub latency: [u64; 3],
    /// Transactions done since the start, and since measuring began.
    pub done: [u64; 2],
    /// The state.
    pub state: State,
    /// All changes of state so far.
    pub changes: Vec<StateChange>,
    /// The names of tasks that no frame before this one had, in the order of their numbers.
    pub names: Vec<String>,
}

/// The activity of the CPUs, by their numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cpus {
    /// A letter each: `i` idle, `e` entering or leaving idle, `s` searching for a CPU, `r` running a task's program,
    /// `k` anything else of the kernel: enqueueing, switching, balancing.
    pub doing: String,
    /// The number of the task that runs there; -1 for the idle task.
    pub task: Vec<i64>,
    /// Which of the reasons placed that task there; -1 if none did.
    pub reason: Vec<i8>,
    /// How many tasks its run queue has, the running one included (`rq->nr_running`).
    pub queue: Vec<u32>,
}

/// An LLC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Llc {
    /// Its lowest CPU.
    pub first: u32,
    /// How many CPUs it has.
    pub weight: u32,
    /// Its utilisation by its CPUs' averages of now, 0 to 1.
    pub util: f64,
    /// The same as periodic balancing last summed it; `None` if it has not.
    pub balanced: Option<f64>,
    /// `nr_idle_scan`; `None` without SIS_UTIL.
    pub nr_idle_scan: Option<i32>,
    /// `has_idle_cores`.
    pub has_idle_cores: bool,
}

/// The result of a run: what `wakelab compare --format json` has of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finished {
    /// The workload's metric, in its unit.
    pub value: f64,
    /// The numbers of the run.
    pub stats: RunStats,
}
