//! SCHED_DEADLINE: the constant bandwidth server of a task, the run queue of a CPU, and admission control.
//!
//! ```text
//! wakes ─▶ its runtime and deadline still fit its bandwidth: kept    ─▶ queued by its deadline (EDF)
//!          they do not: a new period, or with deadline < period          │ runtime used up
//!          a smaller runtime (the revised rule)                          ▼
//!                       ┌──────────── at the next period ◀────────── throttled
//!                       └─▶ runtime and deadline replenished
//! ```
//!
//! A task that sleeps keeps its share of the CPU's active bandwidth up to its 0-lag time (`task_non_contending()`).
//! Not here: SCHED_FLAG_RECLAIM (GRUB), SCHED_FLAG_SUGOV, priority inheritance.

use crate::pelt::SchedAvg;
use crate::runqueue::TaskId;
use std::collections::BTreeSet;

/// `BW_SHIFT`: a bandwidth of 2^20 is one CPU.
const BW_SHIFT: u32 = 20;

/// `DL_SCALE`: comparisons of bandwidths leave out so many bits of each time.
pub(super) const DL_SCALE: u32 = 10;

/// `to_ratio()`: the bandwidth of `runtime` in each `period`, ns; 2^20 is one CPU.
pub fn to_ratio(period: u64, runtime: u64) -> u64 {
    let ratio = (u128::from(runtime) << BW_SHIFT).checked_div(u128::from(period)).unwrap_or(0);
    ratio as u64
}

/// The parameters of a task (`struct sched_attr`), ns: 1024 ns ≤ runtime ≤ deadline ≤ period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlParams {
    /// `dl_runtime`: for how long it runs in each period.
    pub runtime: u64,
    /// `dl_deadline`: within which time of the period's begin.
    pub deadline: u64,
    /// `dl_period`.
    pub period: u64,
}

impl DlParams {
    /// `dl_bw`: the share of a CPU; 2^20 is one CPU.
    pub fn bw(&self) -> u64 {
        to_ratio(self.period, self.runtime)
    }

    /// `dl_density`: the same of the time up to the deadline.
    fn density(&self) -> u64 {
        to_ratio(self.deadline, self.runtime)
    }

    /// `dl_is_implicit()`: the deadline is the period's end.
    fn is_implicit(&self) -> bool {
        self.deadline == self.period
    }

    /// `dl_task_fits_capacity()`: a CPU of this capacity, 1 to 1024, gives the runtime within the deadline.
    pub fn fits_capacity(&self, capacity: u64) -> bool {
        (self.deadline * capacity) >> 10 >= self.runtime
    }
}

/// `struct sched_dl_entity` of a task. Times are those of the run queue's clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlEntity {
    /// The task's parameters.
    pub params: DlParams,
    /// The rest of its runtime, ns; below 0 if it has run for too long.
    pub runtime: i64,
    /// `deadline`.
    pub deadline: u64,
    /// `dl_throttled`: it has used its runtime up, and waits for its next period.
    pub throttled: bool,
    /// `dl_yielded`: it has given the rest of its runtime away.
    pub yielded: bool,
    /// `dl_non_contending`: it sleeps, and its 0-lag time is still to come.
    pub non_contending: bool,
    /// `dl_timer`: when it is replenished.
    pub timer: Option<u64>,
    /// `inactive_timer`: its 0-lag time.
    pub inactive: Option<u64>,
}

/// The fate of an entity that is to be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DlQueue {
    /// It is queued.
    Queued,
    /// It is throttled, and its timer queues it.
    Waits,
}

/// The fate of an entity that has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DlCharge {
    /// It goes on.
    Runs,
    /// It is throttled, and its timer queues it.
    Throttled,
    /// It would be throttled, but its next period has begun: it is queued anew.
    Replenished,
}

/// Why a task's share of a CPU's active bandwidth ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroLag {
    /// Its 0-lag time has passed: at once.
    Now,
    /// When its timer expires.
    Later,
}

impl DlEntity {
    /// A task that begins its first period (`setup_new_dl_entity()`).
    pub fn new(now: u64, params: DlParams) -> Self {
        DlEntity {
            params,
            runtime: params.runtime as i64,
            deadline: now + params.deadline,
            throttled: false,
            yielded: false,
            non_contending: false,
            timer: None,
            inactive: None,
        }
    }

    /// `replenish_dl_new_period()`.
    fn new_period(&mut self, now: u64) {
        (self.deadline, self.runtime) = (now + self.params.deadline, self.params.runtime as i64);
    }

    /// `dl_next_period()`.
    fn next_period(&self) -> u64 {
        // A change of policy may leave a deadline that is less than the new relative one.
        self.deadline.wrapping_sub(self.params.deadline).wrapping_add(self.params.period)
    }

    /// `dl_entity_overflow()`: what is left would exceed its density if it were used up to the deadline.
    fn overflows(&self, now: u64) -> bool {
        let left = (self.params.deadline >> DL_SCALE).wrapping_mul((self.runtime >> DL_SCALE) as u64);
        let right = (self.deadline.wrapping_sub(now) >> DL_SCALE).wrapping_mul(self.params.runtime >> DL_SCALE);
        before(right, left)
    }

    /// `start_dl_timer()`: at the next period. Returns false where that has begun; a microsecond is forgiven.
    fn start_timer(&mut self, now: u64) -> bool {
        let at = self.next_period();
        if at + 1000 <= now {
            return false;
        }
        self.timer = self.timer.or(Some(at.max(now)));
        true
    }

    /// `dl_check_constrained_dl()`: woken after its deadline and before its next period, it waits for that.
    fn check_constrained(&mut self, now: u64) {
        if self.deadline < now && now < self.next_period() && self.start_timer(now) {
            self.throttled = true;
            self.runtime = self.runtime.min(0);
        }
    }

    /// `enqueue_dl_entity()` at a wake-up.
    pub fn wake(&mut self, now: u64) -> DlQueue {
        if !self.throttled && !self.params.is_implicit() {
            self.check_constrained(now);
        }
        if self.throttled {
            return DlQueue::Waits;
        }
        // update_dl_entity()
        let late = self.deadline < now;
        if late || self.overflows(now) {
            if !self.params.is_implicit() && !late {
                // update_dl_revised_wakeup()
                let laxity = u128::from(self.deadline - now);
                self.runtime = ((u128::from(self.params.density()) * laxity) >> BW_SHIFT) as i64;
            } else {
                self.new_period(now);
            }
        }
        DlQueue::Queued
    }

    /// `enqueue_dl_entity()` after a change of policy or parameters (ENQUEUE_RESTORE).
    pub fn restore(&mut self, now: u64) -> DlQueue {
        if !self.throttled && !self.params.is_implicit() {
            self.check_constrained(now);
        }
        if self.throttled {
            return DlQueue::Waits;
        }
        if self.deadline < now {
            self.new_period(now);
        }
        DlQueue::Queued
    }

    /// `replenish_dl_entity()`.
    pub fn replenish(&mut self, now: u64) {
        if self.yielded && self.runtime > 0 {
            self.runtime = 0;
        }
        while self.runtime <= 0 {
            self.deadline += self.params.period;
            self.runtime += self.params.runtime as i64;
        }
        if self.deadline < now {
            self.new_period(now);
        }
        (self.yielded, self.throttled) = (false, false);
    }

    /// `update_curr_dl_se()`: it has run for `delta` ns, as long as that is at the CPU's full speed.
    pub fn charge(&mut self, now: u64, delta: u64) -> DlCharge {
        self.runtime -= delta as i64;
        if self.runtime > 0 && !self.yielded {
            return DlCharge::Runs;
        }
        self.throttled = true;
        if self.start_timer(now) {
            return DlCharge::Throttled;
        }
        // enqueue_task_dl(ENQUEUE_REPLENISH)
        self.replenish(now);
        DlCharge::Replenished
    }

    /// `task_non_contending()`: it sleeps, exits or leaves the class. Sets its timer if its 0-lag time is to come.
    pub fn sleep(&mut self, now: u64) -> ZeroLag {
        let left = i128::from(self.runtime) * i128::from(self.params.period) / i128::from(self.params.runtime);
        let lag = i128::from(self.deadline) - left - i128::from(now);
        if lag < 0 || self.inactive.is_some() {
            return ZeroLag::Now;
        }
        self.non_contending = true;
        self.inactive = Some(now + lag as u64);
        ZeroLag::Later
    }

    /// Its next instance begins before the 0-lag time, or it moves (`task_contending()`, `migrate_task_rq_dl()`).
    /// Returns whether its bandwidth still was part of the CPU's active bandwidth.
    pub fn contends(&mut self) -> bool {
        self.inactive = None;
        std::mem::take(&mut self.non_contending)
    }
}

/// `dl_time_before()`.
pub(super) fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// `struct dl_rq`: the deadline tasks of a CPU. The running task stays queued.
#[derive(Clone, Debug, Default)]
pub struct DlRq {
    /// By deadline, equal ones in the order in which they came.
    queue: BTreeSet<(u64, u64, TaskId)>,
    /// The same of those that wait and may run elsewhere (`pushable_dl_tasks_root`).
    pushable: BTreeSet<(u64, u64, TaskId)>,
    /// How many came so far.
    came: u64,
    /// `running_bw`: the bandwidth of tasks that are active.
    pub running_bw: u64,
    /// `this_bw`: the bandwidth of all tasks whose CPU this is.
    pub this_bw: u64,
    /// `rq->avg_dl`.
    pub avg: SchedAvg,
}

impl DlRq {
    /// The number of queued tasks, the running one included (`dl_nr_running`, of tasks).
    #[inline]
    pub fn nr_running(&self) -> usize {
        self.queue.len()
    }

    /// The task of the earliest deadline, and that (`pick_next_dl_entity()`).
    pub fn pick(&self) -> Option<(u64, TaskId)> {
        self.queue.first().map(|(deadline, _, task)| (*deadline, *task))
    }

    /// Whether it has tasks that others may take (`overloaded`).
    pub fn overloaded(&self) -> bool {
        !self.pushable.is_empty()
    }

    /// The pushable task of the earliest deadline that `may` accepts, and that
    /// (`pick_earliest_pushable_dl_task()`).
    pub fn pick_pushable(&self, may: impl Fn(TaskId) -> bool) -> Option<(u64, TaskId)> {
        self.pushable.iter().find(|(_, _, task)| may(*task)).map(|(deadline, _, task)| (*deadline, *task))
    }

    /// Whether the task is queued (`on_dl_rq()`).
    pub fn has(&self, task: TaskId) -> bool {
        self.queue.iter().any(|(_, _, other)| *other == task)
    }

    /// A task joins (`__enqueue_dl_entity()`).
    pub fn enqueue(&mut self, task: TaskId, deadline: u64) {
        self.came += 1;
        self.queue.insert((deadline, self.came, task));
    }

    /// A task leaves, if it is queued (`__dequeue_dl_entity()`). Returns whether it was.
    pub fn dequeue(&mut self, task: TaskId) -> bool {
        self.dequeue_pushable(task);
        let before = self.queue.len();
        self.queue.retain(|(_, _, other)| *other != task);
        self.queue.len() != before
    }

    /// A queued task waits, and may run elsewhere (`enqueue_pushable_dl_task()`).
    pub fn enqueue_pushable(&mut self, task: TaskId) {
        self.dequeue_pushable(task);
        self.pushable.extend(self.queue.iter().find(|(_, _, other)| *other == task).copied());
    }

    /// A task runs or leaves (`dequeue_pushable_dl_task()`).
    pub fn dequeue_pushable(&mut self, task: TaskId) {
        self.pushable.retain(|(_, _, other)| *other != task);
    }
}

/// `struct dl_bw` of the root domain: the bandwidth of deadline tasks and fair servers on all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlBw {
    /// `bw`: their limit on each CPU; `None` for no limit. 2^20 is one CPU.
    pub bw: Option<u64>,
    /// `total_bw`: the bandwidth that they have.
    pub total: u64,
}

impl DlBw {
    /// `__dl_overflow()`: whether bandwidth `new` in place of `old` would be too much for CPUs of this capacity in all.
    pub fn overflows(&self, capacity: u64, old: u64, new: u64) -> bool {
        self.bw.is_some_and(|bw| (bw * capacity) >> 10 < self.total - old + new)
    }
}
