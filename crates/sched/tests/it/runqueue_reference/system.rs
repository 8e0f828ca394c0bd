//! The interface of both implementations: the operations, and the state that is compared.

use wakelab_sched::runqueue::{Policy, Prev, Resched};

/// The number of run queues of a system.
pub const QUEUES: usize = 2;

/// One operation on one queue or task. Tasks are numbered in the order of their forks.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Fork {
        queue: usize,
        policy: Policy,
        nice: i8,
        slice: u64,
    },
    /// Wakes a task that sleeps, or whose dequeue is delayed. The latter stays on its queue.
    Wake {
        task: usize,
        queue: usize,
        /// `WF_SYNC`.
        sync: bool,
    },
    Tick {
        queue: usize,
    },
    Update {
        queue: usize,
    },
    Schedule {
        queue: usize,
        prev: Prev,
    },
    Yield {
        queue: usize,
    },
    Nice {
        task: usize,
        nice: i8,
    },
    Slice {
        task: usize,
        slice: u64,
    },
    /// The load balancer moves a waiting task.
    Migrate {
        task: usize,
        queue: usize,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct QueueState {
    pub curr: Option<usize>,
    /// In the order of the tree.
    pub waiting: Vec<usize>,
    /// V or min_vruntime.
    pub virtual_time: u64,
    /// The zero point of V (EEVDF). V does not depend on it, but the products that leave 64 bits do.
    pub zero: u64,
    pub nr_delayed: usize,
    pub need_resched: Resched,
    /// next, last, skip.
    pub markers: [Option<usize>; 3],
    /// The task that would be picked (EEVDF).
    pub pick: Option<usize>,
    /// Queued tasks that are eligible (EEVDF), the running one first.
    pub eligible: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TaskState {
    /// The queue that it is on, or was last on.
    pub queue: usize,
    pub on_rq: bool,
    pub delayed: bool,
    pub nice: i8,
    pub vruntime: u64,
    pub deadline: u64,
    pub slice: u64,
    /// The lag of a task that is not queued.
    pub vlag: Option<i64>,
    pub sum_exec: u64,
}

/// A system of [`QUEUES`] run queues.
pub trait System {
    fn apply(&mut self, now: u64, op: Op);
    fn queues(&self) -> Vec<QueueState>;
    fn tasks(&self) -> Vec<TaskState>;
}
