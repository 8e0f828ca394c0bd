//! `struct rt_rq`: the realtime tasks of a CPU, which of them others may take, and how long they may run.
//!
//! The running task stays at the head of its list. What waits and may run elsewhere is pushable.

use crate::pelt::SchedAvg;
use crate::runqueue::TaskId;
use std::collections::{BTreeMap, VecDeque};

/// `MAX_RT_PRIO - 1`: the priority of a run queue without realtime tasks.
pub const NO_RT_PRIO: u8 = 99;

/// `struct rt_bandwidth`, with the root group's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtBandwidth {
    /// `sched_rt_runtime()`, ns; `None` for no limit (`RUNTIME_INF`).
    pub runtime: Option<u64>,
    /// `sched_rt_period()`, ns.
    pub period: u64,
}

/// The effect of the end of a period on a run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replenished {
    /// Its tasks may run again.
    pub unthrottled: bool,
    /// The period's timer has to go on because of it.
    pub busy: bool,
}

/// The realtime run queue of a CPU.
#[derive(Clone, Debug, Default)]
pub struct RtRq {
    /// By priority: the queued tasks, the next to run first.
    queues: BTreeMap<u8, VecDeque<TaskId>>,
    /// `rt_nr_running`.
    nr_running: u32,
    /// `pushable_tasks`: by priority, equal ones in the order in which they came.
    pushable: Vec<(u8, TaskId)>,
    /// `rt_time`, ns.
    rt_time: u64,
    /// `rt_runtime`, ns: the group's, and what it has borrowed.
    rt_runtime: u64,
    /// `rt_throttled`.
    throttled: bool,
    /// `rq->avg_rt`.
    pub avg: SchedAvg,
}

impl RtRq {
    /// An empty run queue whose tasks may run for so long in a period, ns.
    pub fn new(rt_runtime: u64) -> Self {
        RtRq { rt_runtime, ..RtRq::default() }
    }

    /// The number of queued tasks, the running one included (`rt_nr_running`).
    #[inline]
    pub fn nr_running(&self) -> u32 {
        self.nr_running
    }

    /// Whether its tasks have run for longer than they may (`rt_throttled`).
    #[inline]
    pub fn throttled(&self) -> bool {
        self.throttled
    }

    /// For how long its tasks have run since the period's timer subtracted from it, ns (`rt_time`).
    pub fn rt_time(&self) -> u64 {
        self.rt_time
    }

    /// The priority of the most urgent queued task, [`NO_RT_PRIO`] without one (`highest_prio.curr`).
    pub fn highest_prio(&self) -> u8 {
        self.queues.keys().next().copied().unwrap_or(NO_RT_PRIO)
    }

    /// The priority of the most urgent pushable task, [`NO_RT_PRIO`] without one (`highest_prio.next`).
    pub fn highest_pushable_prio(&self) -> u8 {
        self.pushable.first().map_or(NO_RT_PRIO, |(prio, _)| *prio)
    }

    /// Whether it has tasks that others may take (`overloaded`).
    pub fn overloaded(&self) -> bool {
        !self.pushable.is_empty()
    }

    /// A task joins at the end of its list; `pushable` unless it runs already or may use one CPU only
    /// (`enqueue_task_rt()`).
    pub fn enqueue(&mut self, task: TaskId, prio: u8, pushable: bool) {
        self.queues.entry(prio).or_default().push_back(task);
        self.nr_running += 1;
        if pushable {
            self.enqueue_pushable(task, prio);
        }
    }

    /// A task leaves (`dequeue_task_rt()`).
    ///
    /// # Panics
    /// If it is not queued with this priority.
    pub fn dequeue(&mut self, task: TaskId, prio: u8) {
        let queue = self.queues.get_mut(&prio).expect("the task is queued");
        let at = queue.iter().position(|&other| other == task).expect("the task is queued");
        queue.remove(at);
        if queue.is_empty() {
            self.queues.remove(&prio);
        }
        self.nr_running -= 1;
        self.dequeue_pushable(task);
    }

    /// Moves a task to the head or the end of its list (`requeue_task_rt()`).
    pub fn requeue(&mut self, task: TaskId, prio: u8, head: bool) {
        if let Some(queue) = self.queues.get_mut(&prio) {
            queue.retain(|&other| other != task);
            if head { queue.push_front(task) } else { queue.push_back(task) }
        }
    }

    /// Whether it is the only task of its priority.
    pub fn is_alone(&self, prio: u8) -> bool {
        self.queues.get(&prio).is_none_or(|queue| queue.len() == 1)
    }

    /// The task that is to run (`pick_next_rt_entity()`). Throttled, there is none.
    pub fn pick(&self) -> Option<TaskId> {
        if self.throttled {
            return None;
        }
        self.queues.values().next().and_then(|queue| queue.front().copied())
    }

    /// The most urgent task that may run on another CPU (`pick_next_pushable_task()`).
    pub fn pick_pushable(&self) -> Option<TaskId> {
        self.pushable.first().map(|(_, task)| *task)
    }

    /// The most urgent pushable task that `allowed` accepts (`pick_highest_pushable_task()`).
    pub fn pick_highest_pushable(&self, allowed: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        self.pushable.iter().map(|(_, task)| *task).find(|&task| allowed(task))
    }

    /// A queued task waits, and may run elsewhere (`enqueue_pushable_task()`).
    pub fn enqueue_pushable(&mut self, task: TaskId, prio: u8) {
        self.dequeue_pushable(task);
        let at = self.pushable.partition_point(|(other, _)| *other <= prio);
        self.pushable.insert(at, (prio, task));
    }

    /// A task runs or leaves (`dequeue_pushable_task()`).
    pub fn dequeue_pushable(&mut self, task: TaskId) {
        self.pushable.retain(|(_, other)| *other != task);
    }

    /// Returns whether its tasks may not go on (`sched_rt_runtime_exceeded()`). The caller
    /// borrows before, if they have run for too long ([`wants_more`](Self::wants_more)).
    pub fn account(&mut self, bandwidth: &RtBandwidth) -> bool {
        let Some(runtime) = bandwidth.runtime else { return false };
        if !self.throttled && self.rt_runtime < bandwidth.period && self.rt_time > self.rt_runtime {
            if runtime == 0 {
                // "replenishment is a joke, since it will replenish us with exactly 0 ns"
                self.rt_time = 0;
            } else {
                self.throttled = true;
            }
        }
        self.throttled
    }

    /// Its tasks have run for `delta` ns.
    pub fn charge(&mut self, delta: u64) {
        self.rt_time += delta;
    }

    /// Whether its tasks have run for longer than they may (`balance_runtime()`).
    pub fn wants_more(&self) -> bool {
        self.rt_time > self.rt_runtime
    }

    /// Borrows from another run queue, of so many CPUs, what that does not need (`do_balance_runtime()` with
    /// RT_RUNTIME_SHARE).
    pub fn borrow_from(&mut self, other: &mut RtRq, nr_cpus: u32, bandwidth: &RtBandwidth) {
        let spare = other.rt_runtime.saturating_sub(other.rt_time) / u64::from(nr_cpus);
        let borrowed = spare.min(bandwidth.period.saturating_sub(self.rt_runtime));
        other.rt_runtime -= borrowed;
        self.rt_runtime += borrowed;
    }

    /// Ends `periods` periods (`do_sched_rt_period_timer()`).
    pub fn replenish(&mut self, periods: u64, bandwidth: &RtBandwidth) -> Replenished {
        let mut end = Replenished { unthrottled: false, busy: self.nr_running != 0 };
        if bandwidth.runtime.is_some() && self.rt_time != 0 {
            self.rt_time -= self.rt_time.min(periods * self.rt_runtime);
            if self.throttled && self.rt_time < self.rt_runtime {
                self.throttled = false;
                end.unthrottled = true;
            }
            end.busy |= self.rt_time != 0;
        }
        end
    }
}
