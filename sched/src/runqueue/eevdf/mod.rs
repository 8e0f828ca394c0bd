//! EEVDF, as in 6.12 (checked against 6.12.107), or in the form of a later version ([`EevdfRules`]).
//!
//! Each task asks for `slice` ns of run time and has a virtual deadline by which it should have had them. Of the
//! tasks that are owed time (`vruntime` not after the average V), the one with the earliest deadline runs.
//!
//! | file | holds |
//! |---|---|
//! | [`params`](EevdfParams) | tunables and feature switches |
//! | [`rules`](EevdfRules) | forms of the code, by version |
//! | `avg` | V: the zero point, the sums, lag, eligibility |
//! | `sums` | what V is computed from |
//! | `place` | where a task joins |
//! | `charge` | run time into virtual time, the end of a request |
//! | `queue` | enqueue, dequeue |
//! | `delay` | the delay of a dequeue, requeue |
//! | `pick`, `buddy` | who should run |
//! | `protect` | for how long it may |
//! | `preempt`, `preempt_pick` | whether a wake-up preempts: the check of 6.12, those since |
//! | `schedule` | switching tasks, yield, tick |
//! | `hrtick` | when the high-resolution tick comes |
//! | `change` | nice values and slices |

mod avg_vruntime;
mod enqueue_entity;
mod pick_eevdf;
mod place_entity;
mod protect_slice;
mod reweight_entity;
mod rules;
mod update_curr;
mod wakeup_preempt_fair;

pub use rules::{EevdfRules, LagLimit, WakeupPreempt};

use super::tasks_timeline::{ByDeadline, Timeline};
use super::{Entities, Resched, TaskId};

/// What an EEVDF run queue can be told (6.12; defaults are in the presets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EevdfParams {
    /// The slice of tasks that ask for none, ns (`sysctl_sched_base_slice`; 0.7 to 3 ms by the number of CPUs; an
    /// `unsigned int`: less than 2^32).
    pub base_slice_ns: u64,
    /// The tick's period, ns (`TICK_NSEC`: 1 to 10 ms). Limits lag only.
    pub tick_ns: u64,
    /// `PLACE_LAG`: a task joins with the lag it left with. Off: it joins at V.
    pub place_lag: bool,
    /// `PLACE_DEADLINE_INITIAL`: the first request of a new task is half as long.
    pub place_deadline_initial: bool,
    /// `PLACE_REL_DEADLINE`: a task that is moved, or changed, keeps its deadline relative to its vruntime.
    pub place_rel_deadline: bool,
    /// `RUN_TO_PARITY`: a running task stays, while it is eligible, until its request is served.
    pub run_to_parity: bool,
    /// `PREEMPT_SHORT`: waking tasks with a shorter slice end that protection.
    pub preempt_short: bool,
    /// `DELAY_DEQUEUE`: a task that blocks while it is not eligible stays queued until it is picked.
    pub delay_dequeue: bool,
    /// `DELAY_ZERO`: a delayed task leaves, or wakes, without positive lag.
    pub delay_zero: bool,
    /// `WAKEUP_PREEMPTION`: a wake-up may preempt.
    pub wakeup_preemption: bool,
}

/// One CPU's run queue (`struct cfs_rq`, 6.12).
#[derive(Clone, Debug)]
pub struct EevdfRq {
    /// Tunables and feature switches. They may change at any time.
    pub params: EevdfParams,
    rules: EevdfRules,
    curr: Option<TaskId>,
    next: Option<TaskId>,
    waiting: Timeline<ByDeadline>,
    /// `cfs_rq->zero_vruntime`.
    zero_vruntime: u64,
    /// `cfs_rq->avg_vruntime`: the sum of weight * (vruntime - zero_vruntime) over the waiting tasks.
    key_sum: i64,
    /// `cfs_rq->avg_load`: the sum of weight over the waiting tasks.
    load_sum: i64,
    /// How many bits more weights have in the sums: none in 6.12; since 7.2, 10 less `sum_shift`. (A task's weight is 3 at
    /// least, so the kernel's least weight of 2 does not show.)
    weight_shift: u32,
    nr_queued: u32,
    nr_delayed: u32,
    nr_idle: u32,
}

impl EevdfRq {
    /// An empty run queue of 6.12. `zero_vruntime` is the virtual time it starts at, ns; the kernel's is -2^20
    /// (`init_cfs_rq()`, 6.12).
    pub fn new(params: EevdfParams, zero_vruntime: u64) -> Self {
        Self::with_rules(params, EevdfRules::V6_12, zero_vruntime)
    }

    /// The same of any version.
    pub fn with_rules(params: EevdfParams, rules: EevdfRules, zero_vruntime: u64) -> Self {
        EevdfRq {
            params,
            rules,
            curr: None,
            next: None,
            waiting: Timeline::new(),
            zero_vruntime,
            key_sum: 0,
            load_sum: 0,
            weight_shift: if rules.full_weights { 10 } else { 0 },
            nr_queued: 0,
            nr_delayed: 0,
            nr_idle: 0,
        }
    }

    /// The form of the code.
    pub fn rules(&self) -> &EevdfRules {
        &self.rules
    }

    /// How this version asks for a reschedule of the running task: `resched_curr()`, or since 7.2, if preempt=lazy,
    /// `resched_curr_lazy()`.
    #[inline]
    pub fn resched_curr(&self) -> Resched {
        if self.rules.lazy { Resched::Lazy } else { Resched::Now }
    }

    /// The task that has the CPU; it does not wait in the tree. `None`: the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        self.curr
    }

    /// Tasks on the queue, the running one and delayed ones included (`h_nr_queued`, 6.12).
    #[inline]
    pub fn nr_queued(&self) -> u32 {
        self.nr_queued
    }

    /// Delayed tasks: those that sleep but are still queued (`h_nr_delayed`, 6.12).
    #[inline]
    pub fn nr_delayed(&self) -> u32 {
        self.nr_delayed
    }

    /// Tasks of policy IDLE on the queue (`idle_h_nr_running`, 6.12).
    #[inline]
    pub fn nr_idle(&self) -> u32 {
        self.nr_idle
    }

    /// The virtual time relative to which the sums are kept, ns (`zero_vruntime`, 6.12).
    pub fn zero_vruntime(&self) -> u64 {
        self.zero_vruntime
    }

    /// The sum of weight * (vruntime - zero) over the waiting tasks, ns (the field `avg_vruntime`, 6.12;
    /// `sum_w_vruntime`, 7.2, whose weights have 10 more bits).
    pub fn key_sum(&self) -> i64 {
        self.key_sum
    }

    /// The sum of the waiting tasks' weights (the field `avg_load`, 6.12; `sum_weight`, 7.2, with 10 more bits).
    pub fn load_sum(&self) -> i64 {
        self.load_sum
    }

    /// The waiting tasks by deadline. The running task is not among them, delayed ones are.
    pub fn waiting<'a>(&self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        self.waiting.iter(es)
    }

    /// Checks tree and sums against the entities, in O(n); for tests.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        let waiting = self.waiting.validate(es)?;
        let curr = self.queued_curr(es);
        let on_rq = waiting + usize::from(curr.is_some());
        if on_rq != self.nr_queued as usize {
            return Err(format!("{on_rq} tasks are queued, nr_queued is {}", self.nr_queued));
        }
        let (mut key_sum, mut load_sum) = (0i64, 0);
        for task in self.waiting.iter(es) {
            let weight = self.weight(es, task);
            key_sum = key_sum.wrapping_add(self.entity_key(es, task).wrapping_mul(weight));
            load_sum += weight;
        }
        if (key_sum, load_sum) != (self.key_sum, self.load_sum) {
            return Err(format!("sums are {key_sum} and {load_sum}, not {} and {}", self.key_sum, self.load_sum));
        }
        if let Some(next) = self.next.filter(|&next| !es[next].on_rq) {
            return Err(format!("{next:?} is marked but not queued"));
        }
        let count =
            |of: fn(&super::Entity) -> bool| self.waiting.iter(es).chain(curr).filter(|&task| of(&es[task])).count();
        if count(|e| e.sched_delayed) != self.nr_delayed as usize || count(|e| e.is_idle()) != self.nr_idle as usize {
            return Err(format!("nr_delayed {} or nr_idle {} is wrong", self.nr_delayed, self.nr_idle));
        }
        Ok(())
    }

    /// The running task, if it is still queued (the `curr && curr->on_rq` of 6.12).
    #[inline]
    fn queued_curr(&self, es: &Entities) -> Option<TaskId> {
        self.curr.filter(|&curr| es[curr].on_rq)
    }
}
