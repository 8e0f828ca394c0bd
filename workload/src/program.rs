//! Task programs.

use crate::call::{Call, Kind};
use serde::Serialize;

/// An amount of work (or of time), drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Work {
    /// The mean, ns.
    pub ns: u64,
    /// Drawn uniformly from `ns` less and more by this part of it, in per cent, 0 to 100.
    pub jitter_pct: u32,
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Computes.
    Run(Work),
    /// Work in a softirq that this task's system call raised, on its CPU. What follows up to the next `Run`, `Recv` or
    /// `Sleep` is done in interrupt context: wake-ups in it are not from a task.
    Softirq(Work),
    /// Puts a message into a channel and wakes one task that waits for it. Blocks while the channel is full.
    Send {
        /// Which of the task's channels.
        channel: u32,
        /// The wake-up carries WF_SYNC.
        sync: bool,
    },
    /// Takes a message; blocks while there is none.
    Recv {
        /// Which of the task's channels.
        channel: u32,
    },
    /// Sleeps.
    Sleep(Work),
    /// Starts a child with the program of this number, with this task's channels.
    Fork {
        /// Index in [`Workload::programs`].
        program: u32,
    },
    /// Waits until all children have exited.
    Wait,
    /// Ends the task. The end of the program does so too.
    Exit,
    /// Goes back to the step of this number; `times` in all times through (None: for ever).
    Repeat {
        /// Index in the program's steps.
        to: u32,
        /// How often the steps are done.
        times: Option<u32>,
    },
    /// A transaction begins: the time is noted.
    Begin,
    /// A transaction is done: one more of the workload's metric, and the time since `Begin` is a latency.
    Done,
    /// A system call beside messages and forks.
    Call(Call),
}

impl Op {
    /// The system call that this step is, if it is one.
    #[inline]
    pub fn call(&self) -> Option<Call> {
        match *self {
            Op::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The task's own numbers of the resources that a step names, with what they are to be.
    pub fn resources(&self) -> impl Iterator<Item = (u32, Kind)> {
        let resources = match *self {
            Op::Send { channel, .. } | Op::Recv { channel } => [Some((channel, Kind::Channel)), None],
            _ => self.call().map_or([None, None], Call::resources),
        };
        resources.into_iter().flatten()
    }
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// What deadlock reports and traces call it.
    pub name: String,
    /// Its steps.
    pub ops: Vec<Op>,
}

/// A channel: a pipe or socket direction. Or another resource that tasks meet at: see [`Kind`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Channel {
    /// What deadlock reports call it.
    pub name: String,
    /// How many messages it holds, 1 or more; of a barrier, how many tasks meet there.
    pub capacity: u32,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Index in [`Workload::programs`].
    pub program: u32,
    /// The channels that its program's channel numbers stand for: indices in [`Workload::channels`].
    pub channels: Vec<u32>,
    /// When it is forked, ns from the start of the run.
    pub start_ns: u64,
    /// Nice value, -20 to 19.
    pub nice: i8,
    /// SCHED_IDLE.
    pub idle_policy: bool,
    /// The slice it asks for, ns (`sched_runtime` of `sched_setattr()`): see [`Call::Slice`]. 0 for none.
    pub slice_ns: u64,
    /// The CPUs it may use, ascending; `None` for all.
    pub affinity: Option<Vec<u32>>,
}

impl Task {
    /// A task of nice value 0, which may use all CPUs.
    pub(crate) fn plain(name: String, program: u32, channels: Vec<u32>, start_ns: u64) -> Self {
        Task { name, program, channels, start_ns, nice: 0, idle_policy: false, slice_ns: 0, affinity: None }
    }
}

/// A number that the model of a benchmark is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its unit: ns, per cent.
    pub unit: String,
    /// The value.
    pub value: u64,
    /// The lowest it may be.
    pub low: u64,
    /// The highest it may be.
    pub high: u64,
    /// Where it was taken from; what is assumed says so and why.
    pub origin: String,
}

/// A workload at one load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// `netperf`.
    pub benchmark: String,
    /// `TCP_RR`.
    pub case: String,
    /// As the benchmark's tables print it: `224 threads`.
    pub load: String,
    /// `throughput`.
    pub metric: String,
    /// `trans/s`.
    pub unit: String,
    /// Whether more of the metric is better.
    pub higher_is_better: bool,
    /// All programs.
    pub programs: Vec<Program>,
    /// All channels, mutexes, conditions and barriers.
    pub channels: Vec<Channel>,
    /// The tasks, in the order in which they are forked.
    pub tasks: Vec<Task>,
    /// What [`Call::Affinity`] names: CPUs, ascending.
    pub cpu_sets: Vec<Vec<u32>>,
    /// What the model is made of.
    pub params: Vec<Param>,
}
