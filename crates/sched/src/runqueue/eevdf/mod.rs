//! EEVDF, as in 6.12 (checked against 6.12.107), or in the form of another version ([`EevdfRules`]).
//!
//! Each task requests `slice` ns of run time and has a virtual deadline by which it should have had them. Of the
//! tasks that are owed time (`vruntime` not after the average V), the one with the earliest deadline runs:
//!
//! ```text
//! V        = sum(weight * vruntime) / sum(weight)       avg_vruntime()
//! lag      = V - vruntime                               entity_lag(); eligible if >= 0
//! deadline = vruntime + slice * NICE_0_LOAD / weight    update_deadline()
//! ```
//!
//! | file | kernel functions |
//! |---|---|
//! | `avg_vruntime` | `avg_vruntime()`, `sum_w_vruntime_add()`, `entity_lag()`, `entity_eligible()` |
//! | `update_curr` | `update_curr()`, `update_deadline()`, `task_tick_fair()`, `hrtick_start_fair()` |
//! | `place_entity` | `place_entity()` |
//! | `enqueue_entity` | `enqueue_entity()`, `dequeue_entity()`, `set_delayed()`, `requeue_delayed_entity()` |
//! | `reweight_entity` | `reweight_entity()`, `rescale_entity()`, `reweight_eevdf()`, `set_user_nice()` |
//! | `pick_eevdf` | `pick_eevdf()`, `pick_task_fair()`, `set_next_entity()`, `put_prev_entity()`, `yield_task_fair()` |
//! | `protect_slice` | `protect_slice()`, `set_protect_slice()`, `update_protect_slice()` |
//! | `task_group` | control groups: `enqueue_task_fair()`, `dequeue_entities()`, `pick_task_fair()` |
//! | `enqueue_hierarchy` | the one run queue for all groups of 7.3: `enqueue_hierarchy()`, `__calc_prop_weight()` |
//! | `wakeup_preempt_fair` | `check_preempt_wakeup_fair()` (6.6 to 6.18), `wakeup_preempt_fair()` (7.2, 7.3) |

mod avg_vruntime;
mod enqueue_entity;
mod enqueue_hierarchy;
mod pick_eevdf;
mod place_entity;
mod protect_slice;
mod reweight_entity;
mod task_group;
mod update_curr;
mod wakeup_preempt_fair;

pub use enqueue_hierarchy::FlatEevdfRq;
pub use task_group::GroupedEevdfRq;
pub use wakelab_kernel::{EevdfRules, LagLimit, WakeupPreempt};
pub use wakeup_preempt_fair::IN_TASK;

use super::load_weight::calc_delta_fair;
use super::tasks_timeline::{ByDeadline, Timeline};
use super::{Entities, Entity, QueueState, Resched, TaskId};
use std::sync::Arc;

/// Tunables and feature switches of an EEVDF run queue (6.12; the presets have the defaults).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EevdfParams {
    /// The slice of tasks that ask for none, ns (`sysctl_sched_base_slice`; 0.7 to 3 ms by the number of CPUs; an
    /// `unsigned int`: less than 2^32).
    pub base_slice_ns: u64,
    /// The tick's period, ns (`TICK_NSEC`: 1 to 10 ms). It only limits lag.
    pub tick_ns: u64,
    /// `PLACE_LAG`: a task joins with the lag that it left with. Off: it joins at V.
    pub place_lag: bool,
    /// `PLACE_DEADLINE_INITIAL`: the first request of a new task is half as long. Only with
    /// [`EevdfRules::initial_enqueue`].
    pub place_deadline_initial: bool,
    /// `PLACE_REL_DEADLINE`: a task that is moved or changed keeps its deadline relative to its vruntime.
    pub place_rel_deadline: bool,
    /// `RUN_TO_PARITY`: a running task that is eligible continues until its request is served.
    pub run_to_parity: bool,
    /// `PREEMPT_SHORT`: waking tasks with a shorter slice end that protection.
    pub preempt_short: bool,
    /// `DELAY_DEQUEUE`: a task that blocks while it is not eligible stays queued until it is picked.
    pub delay_dequeue: bool,
    /// `DELAY_ZERO`: a delayed task leaves, or wakes, without positive lag.
    pub delay_zero: bool,
    /// `WAKEUP_PREEMPTION`: a wake-up may preempt.
    pub wakeup_preemption: bool,
    /// `HRTICK`: a timer ends the slice.
    pub hrtick: bool,
    /// `NEXT_BUDDY`: a wakee that does not preempt is marked to be picked next.
    pub next_buddy: bool,
    /// `PICK_BUDDY`, up to 6.8 `NEXT_BUDDY`: the pick takes the marked task if it is eligible.
    pub pick_buddy: bool,
    /// `PARANOID_AVG` (7.2): weights lose bits when a product exceeds 64 bits. Only with [`EevdfRules::full_weights`].
    pub paranoid_avg: bool,
    /// `sysctl_sched_migration_cost`, ns. Read with NEXT_BUDDY only (`preempt_sync()`, 7.2).
    pub migration_cost_ns: u64,
    /// `normalized_sysctl_sched_base_slice`, ns: the base slice before it is scaled by the number of CPUs. Read without
    /// RUN_TO_PARITY only (`set_protect_slice()`, 7.2).
    pub normalized_base_slice_ns: u64,
    /// `NEXT_BUDDY_POSTED`: a task that is not eligible any more and wakes another is rescheduled (in the forms of 7.2
    /// and 7.3).
    pub resched_ineligible: bool,
}

/// One CPU's run queue (`struct cfs_rq`, 6.12). With `GROUPS` it may have entities of control groups
/// ([`GroupedRq`](super::GroupedRq)), whose weights are of full resolution; without, nothing is asked about that.
#[derive(Clone, Debug)]
pub struct EevdfRq<const GROUPS: bool = false> {
    /// Tunables and feature switches, which all run queues share that were cloned from one.
    params: Arc<EevdfParams>,
    rules: EevdfRules,
    curr: Option<TaskId>,
    next: Option<TaskId>,
    tasks_timeline: Timeline<ByDeadline>,
    zero_vruntime: u64,
    /// The sum of weight * (vruntime - zero_vruntime) over the waiting tasks.
    sum_w_vruntime: i64,
    /// The sum of weight over the waiting tasks.
    sum_weight: i64,
    /// The bits by which weights are scaled up in the sums: 0 in 6.12; since 7.2, 10 less `cfs_rq->sum_shift`. (A
    /// task's weight is at least 3, so the kernel's least weight of 2 has no effect.)
    weight_shift: u32,
    nr_queued: u32,
    nr_delayed: u32,
    nr_idle: u32,
}

impl EevdfRq {
    /// An empty run queue. Its virtual time starts at `zero_vruntime`, ns; the kernel's starts at -2^20
    /// (`init_cfs_rq()`, 6.12).
    pub fn new(params: EevdfParams, rules: EevdfRules, zero_vruntime: u64) -> Self {
        Self::empty(params, rules, zero_vruntime)
    }

    /// The run queue in this state ([`FairRq::in_state`](super::FairRq::in_state)).
    pub(super) fn in_state(params: EevdfParams, rules: EevdfRules, es: &mut Entities, state: &QueueState<'_>) -> Self {
        let mut rq = Self::empty(params, rules, state.virtual_time);
        rq.weight_shift = rq.weight_shift.saturating_sub(state.sum_shift);
        for &task in state.waiting {
            rq.__enqueue_entity(es, task);
        }
        for task in state.waiting.iter().copied().chain(state.curr.filter(|&curr| es[curr].on_rq)) {
            rq.account_entity_enqueue(es, task);
        }
        (rq.curr, rq.next) = (state.curr, state.next);
        rq
    }

    /// The same for entities of groups; this one is empty.
    fn for_groups(&self) -> EevdfRq<true> {
        EevdfRq { params: Arc::clone(&self.params), ..EevdfRq::empty(*self.params, self.rules, self.zero_vruntime) }
    }
}

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// An empty run queue.
    fn empty(params: EevdfParams, rules: EevdfRules, zero_vruntime: u64) -> Self {
        EevdfRq {
            params: Arc::new(params),
            rules,
            curr: None,
            next: None,
            tasks_timeline: Timeline::new(),
            zero_vruntime,
            sum_w_vruntime: 0,
            sum_weight: 0,
            weight_shift: if rules.full_weights { 10 } else { 0 },
            nr_queued: 0,
            nr_delayed: 0,
            nr_idle: 0,
        }
    }

    /// What `delta` ns are in the entity's virtual time (`calc_delta_fair()`).
    #[inline]
    fn calc_delta_fair(e: &Entity, delta: u64) -> u64 {
        if GROUPS { e.h_calc_delta_fair(delta) } else { calc_delta_fair(delta, e.h_load) }
    }

    /// The request with which this version reschedules the running task: `resched_curr()`, or since 7.2, if
    /// preempt=lazy, `resched_curr_lazy()`.
    #[inline]
    fn resched_curr(&self) -> Resched {
        if self.rules.lazy_preemption { Resched::Lazy } else { Resched::Now }
    }

    /// The running task, which does not wait in the tree; `None` if the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        self.curr
    }

    /// The next buddy: the task to pick next if it is eligible (`cfs_rq->next`).
    pub fn next(&self) -> Option<TaskId> {
        self.next
    }

    /// The number of queued tasks, including the running one and delayed ones (`h_nr_queued`, 6.12).
    #[inline]
    pub fn nr_queued(&self) -> u32 {
        self.nr_queued
    }

    /// The number of delayed tasks: those that sleep but are still queued (`h_nr_delayed`, 6.12).
    #[inline]
    pub fn nr_delayed(&self) -> u32 {
        self.nr_delayed
    }

    /// The number of queued tasks of policy `SCHED_IDLE` (`idle_h_nr_running`, 6.12).
    #[inline]
    pub fn nr_idle(&self) -> u32 {
        self.nr_idle
    }

    /// The virtual time to which the sums are relative, ns (`zero_vruntime`, 6.12).
    pub fn zero_vruntime(&self) -> u64 {
        self.zero_vruntime
    }

    /// The sum of weight * (vruntime - zero_vruntime) over the waiting tasks, ns (`sum_w_vruntime`, 7.2, with 10 more
    /// bits of weight; the field `avg_vruntime`, 6.12).
    pub fn sum_w_vruntime(&self) -> i64 {
        self.sum_w_vruntime
    }

    /// The sum of the waiting tasks' weights (`sum_weight`, 7.2, with 10 more bits; the field `avg_load`, 6.12).
    pub fn sum_weight(&self) -> i64 {
        self.sum_weight
    }

    /// The waiting tasks by deadline, delayed ones included. The running task is not among them.
    pub fn waiting<'a>(&'a self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        self.tasks_timeline.iter(es)
    }

    /// Checks tree and sums against the entities, in O(n). Tests call it after each operation.
    ///
    /// # Errors
    /// Describes the first invariant that does not hold.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        let waiting = self.tasks_timeline.validate(es)?;
        let curr = self.queued_curr(es);
        let on_rq = waiting + usize::from(curr.is_some());
        if on_rq != self.nr_queued as usize {
            return Err(format!("{on_rq} tasks are queued, nr_queued is {}", self.nr_queued));
        }
        let expected = self.sum_waiting(es);
        let actual = (self.sum_w_vruntime, self.sum_weight);
        if actual != expected {
            return Err(format!("sum_w_vruntime, sum_weight are {actual:?}, not {expected:?}"));
        }
        if let Some(next) = self.next.filter(|&next| !es[next].on_rq) {
            return Err(format!("{next:?} is a buddy but not queued"));
        }
        let queued = || self.tasks_timeline.iter(es).chain(curr).map(|task| &es[task]);
        let count = |of: fn(&&Entity) -> bool| queued().filter(of).count();
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
