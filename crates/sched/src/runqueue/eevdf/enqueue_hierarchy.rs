//! Control groups since 7.3: all tasks of a CPU compete on one EEVDF queue, and groups are only counted and weighed
//! (`kernel/sched/fair.c`).
//!
//! ```text
//! weight on the queue = NICE_0_LOAD * product over the groups of (weight of the entity / weight of its run queue)
//!                                                    at the root: of (weight of the entity / NICE_0_LOAD)
//! ```
//!
//! It is taken anew at an enqueue, a switch and a tick (`__calc_prop_weight()`, `reweight_eevdf()`).

use super::EevdfRq;
use super::pick_eevdf::Reaped;
use super::wakeup_preempt_fair::Compared;
use crate::pelt::{MIN_SHARES, UpdateFlags};
use crate::runqueue::task_group::{Counts, Hierarchy};
use crate::runqueue::{
    DequeueFlags, Dequeued, EnqueueFlags, Entities, Hrtick, Preempted, Resched, Switch, TaskId, Tick,
};
use crate::select::WakeFlags;
use smallvec::SmallVec;
use wakelab_kernel::GroupReweight;

/// `NICE_0_LOAD`, of full resolution.
const NICE_0_LOAD: u64 = 1 << 20;

/// One CPU's EEVDF run queue, with its groups.
#[derive(Clone, Debug)]
pub struct FlatEevdfRq {
    pub(in crate::runqueue) h: Hierarchy,
    pub(in crate::runqueue) rq: EevdfRq<true>,
}

impl FlatEevdfRq {
    /// The run queue of an idle CPU.
    pub(in crate::runqueue) fn new(rq: &EevdfRq, h: Hierarchy) -> Self {
        FlatEevdfRq { rq: rq.for_groups(), h }
    }

    /// Whether a task is the next buddy.
    pub(in crate::runqueue) fn is_buddy(&self, _: &Entities, task: TaskId) -> bool {
        self.rq.next == Some(task)
    }

    /// Whether the queue owes a task time.
    pub(in crate::runqueue) fn entity_eligible(&self, es: &Entities, task: TaskId) -> bool {
        self.rq.entity_eligible(es, task)
    }

    /// Charges what runs of a group (`update_curr()`).
    pub(in crate::runqueue) fn update_curr(&mut self, es: &mut Entities, now: u64, group: u32) -> Resched {
        let ran = self.h.ran(es, group);
        let resched = match self.h.of[group as usize].curr {
            Some(se) if es[se].my_q != 0 => {
                es[se].update_curr_se(now);
                Resched::No
            }
            Some(_) => self.rq.update_curr(es, now),
            None => Resched::No,
        };
        self.h.account_ran(es, group, ran);
        resched
    }

    /// Charges the running task (`update_curr_eevdf()`).
    fn update_curr_eevdf(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.h.curr.map_or(Resched::No, |curr| self.update_curr(es, now, es[curr].group))
    }

    /// Charges the running task and its groups (`update_curr_fair()`).
    fn update_curr_fair(&mut self, es: &mut Entities, now: u64) -> Resched {
        let (mut up, mut resched) = (self.h.curr, Resched::No);
        while let Some(se) = up {
            resched |= self.update_curr(es, now, es[se].group);
            up = self.h.parent_entity(es, se);
        }
        resched
    }

    /// The part of a weight that an entity has of the run queue that it is on (`__calc_prop_weight()`).
    fn calc_prop_weight(&self, es: &Entities, se: TaskId, weight: u64) -> u64 {
        let group = es[se].group;
        let whole = if group != 0 { self.h.of[group as usize].load } else { NICE_0_LOAD };
        (weight.wrapping_mul(es[se].full_weight()) / whole).max(MIN_SHARES)
    }

    /// `update_cfs_group()`.
    fn update_cfs_group(&mut self, es: &mut Entities, group: u32) {
        if let Some(shares) = self.h.calc_group_shares(es, group) {
            self.h.reweight(es, group, shares);
        }
    }

    /// Gives a task the weight on the queue that its groups leave it (`reweight_eevdf()`).
    fn reweight_eevdf(&mut self, es: &mut Entities, task: TaskId, weight: u64) {
        if es[task].full_h_weight() != weight {
            self.rq.reweight(es, task, weight, GroupReweight::WithProtection, |_| {});
        }
    }

    /// What is known of a group's entity whose group has changed, and which stays.
    fn update_queued(&mut self, es: &mut Entities, my_q: u32) {
        self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
        self.h.se_update_runnable(my_q);
        self.update_cfs_group(es, my_q);
    }

    /// Puts a task on the queue (`enqueue_task_fair()`). A task whose dequeue was delayed wakes.
    pub(in crate::runqueue) fn enqueue_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: EnqueueFlags,
    ) -> Resched {
        let mut resched = self.update_curr_eevdf(es, now);
        if es[task].on_rq {
            self.rq.requeue_entity(es, task);
            self.rq.clear_delayed(es, task);
            self.h.count_runnable(es, task, 1);
            return resched;
        }
        let weight = self.enqueue_hierarchy(es, now, task, flags);
        // It is on the groups' queues, and not on the tasks' yet.
        es[task].on_rq = false;
        self.reweight_eevdf(es, task, weight);
        resched |= self.rq.enqueue_task(es, now, task, flags);
        resched
    }

    /// Counts and weighs a task that comes, in all groups above it. Returns its weight on the queue
    /// (`enqueue_hierarchy()`).
    fn enqueue_hierarchy(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) -> u64 {
        let runnable = flags.contains(EnqueueFlags::WAKEUP) || !es[task].sched_delayed;
        let (mut idle, mut weight) = (es[task].is_idle(), NICE_0_LOAD);
        let mut next = Some(task);
        while let Some(se) = next {
            let (my_q, group) = (es[se].my_q, es[se].group);
            let _ = self.update_curr(es, now, group);
            if !es[se].on_rq {
                if my_q != 0 {
                    self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG | UpdateFlags::DO_ATTACH);
                    self.h.se_update_runnable(my_q);
                    self.update_cfs_group(es, my_q);
                }
                self.h.account_entity_enqueue(es, se);
                es[se].on_rq = true;
                if self.h.bandwidth_used() && self.h.of[group as usize].nr_queued == 1 {
                    self.h.check_enqueue_throttle(es, group);
                    self.h.first_queued(group);
                }
            } else {
                self.update_queued(es, my_q);
            }
            let of = self.h.cfs_rq_of(es, se);
            of.nr.add(Counts::of(1, runnable, idle));
            idle |= of.group.idle;
            weight = self.calc_prop_weight(es, se, weight);
            next = self.h.parent_entity(es, se);
        }
        weight
    }

    /// Takes a task off the queue, or delays that (`dequeue_task_fair()`).
    pub(in crate::runqueue) fn dequeue_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: DequeueFlags,
    ) -> Dequeued {
        assert!(es[task].on_rq, "{task:?} is not queued");
        self.rq.clear_buddies(task);
        let resched = self.update_curr_eevdf(es, now);
        if self.rq.delays_dequeue(es, task, flags) {
            self.rq.delay_dequeue(es, task);
            self.h.count_runnable(es, task, -1);
            return Dequeued { off_rq: false, resched };
        }
        let delayed = flags.contains(DequeueFlags::DELAYED);
        if delayed {
            self.h.age(es[task].group);
        }
        let (runnable, idle) = (flags.contains(DequeueFlags::SLEEP) || !es[task].sched_delayed, es[task].is_idle());
        // The lag is taken first: it does not depend on what follows.
        self.rq.dequeue_now(es, task, flags);
        es[task].on_rq = true;
        self.dequeue_hierarchy(es, now, task, (runnable, idle), flags.contains(DequeueFlags::THROTTLE));
        if delayed {
            self.h.count_runnable(es, task, 1);
        }
        Dequeued { off_rq: true, resched }
    }

    /// Whether the dequeue of a task will be delayed. Charges what runs.
    pub(in crate::runqueue) fn delays_dequeue(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: DequeueFlags,
    ) -> bool {
        let _ = self.update_curr_eevdf(es, now);
        self.rq.delays_dequeue(es, task, flags)
    }

    /// Counts and weighs the groups of a task that leaves (`dequeue_hierarchy()`).
    fn dequeue_hierarchy(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        (runnable, mut idle): (bool, bool),
        throttled: bool,
    ) {
        let mut leaves = true;
        let mut next = Some(task);
        while let Some(se) = next {
            let (my_q, group) = (es[se].my_q, es[se].group);
            let _ = self.update_curr(es, now, group);
            if leaves {
                if my_q != 0 {
                    self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
                    self.h.se_update_runnable(my_q);
                }
                es[se].on_rq = false;
                self.h.account_entity_dequeue(es, se);
                self.h.last_dequeued(group);
                if my_q != 0 {
                    self.update_cfs_group(es, my_q);
                }
                leaves = self.h.of[group as usize].load == 0;
            } else {
                self.update_queued(es, my_q);
            }
            let of = self.h.cfs_rq_of(es, se);
            of.nr.add(Counts::of(-1, runnable, idle));
            idle |= of.group.idle;
            if throttled {
                self.h.record_throttle_clock(group);
            }
            next = self.h.parent_entity(es, se);
        }
    }

    /// Gives the CPU to the task that should have it (`__schedule()`). The caller clears the need-resched flags.
    pub(in crate::runqueue) fn schedule(&mut self, es: &mut Entities, now: u64) -> Switch {
        let mut reaped = Reaped::new();
        let next = self.pick_task_fair(es, now, true, &mut reaped);
        if next != self.h.curr {
            let prev = self.h.curr;
            self.put_prev(es, now, next);
            if let Some(next) = next {
                // `rq->donor` while the next one is set.
                self.h.curr = prev;
                self.set_next_task(es, now, next, true);
            }
        }
        Switch { next, reaped }
    }

    /// Takes the CPU from the running task (`put_prev_task_fair()`).
    pub(in crate::runqueue) fn put_prev_task(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.put_prev(es, now, None);
        Resched::No
    }

    /// The task that should run (`pick_task_fair()`). Delayed tasks that are picked before it leave and are added to
    /// `reaped`.
    fn pick_task_fair(&mut self, es: &mut Entities, now: u64, protect: bool, reaped: &mut Reaped) -> Option<TaskId> {
        while self.rq.nr_queued != 0 {
            if self.rq.queued_curr(es).is_some() {
                let _ = self.update_curr_eevdf(es, now);
            }
            let task = self.rq.__pick_eevdf(es, protect)?;
            if !es[task].sched_delayed {
                return Some(task);
            }
            let _ = self.dequeue_task(es, now, task, DequeueFlags::SLEEP | DequeueFlags::DELAYED);
            reaped.push(task);
        }
        None
    }

    /// Takes the CPU from the running task, and its groups from what is not of `next`'s (`put_prev_task_fair()`).
    fn put_prev(&mut self, es: &mut Entities, now: u64, next: Option<TaskId>) {
        let Some(curr) = self.h.curr else { return };
        let mut up = Some(curr);
        while let Some(se) = up {
            let group = es[se].group;
            if es[se].on_rq {
                let _ = self.update_curr(es, now, group);
            }
            self.h.put_prev_entity(es, se);
            let shared = next.is_some_and(|next| self.ancestors(es, next).any(|other| es[other].group == group));
            up = self.h.parent_entity(es, se).filter(|_| !shared);
        }
        self.rq.put_prev_entity(es, now);
        self.h.curr = None;
    }

    /// A task and the entities of the groups above it.
    fn ancestors<'a>(&'a self, es: &'a Entities, task: TaskId) -> impl Iterator<Item = TaskId> + 'a {
        std::iter::successors(Some(task), |&se| self.h.parent_entity(es, se))
    }

    /// Gives the CPU to a task: because it was `picked`, or back to it after a change (`set_next_task_fair()`).
    pub(in crate::runqueue) fn set_next_task(&mut self, es: &mut Entities, now: u64, task: TaskId, picked: bool) {
        let chain: SmallVec<[TaskId; 8]> = self.ancestors(es, task).collect();
        let mut weight = NICE_0_LOAD;
        for se in chain {
            let (my_q, group) = (es[se].my_q, es[se].group);
            if self.h.of[group as usize].curr.is_none() {
                self.h.set_next_entity(es, se);
                if my_q != 0 {
                    let e = &mut es[se];
                    e.exec_start = now;
                    e.prev_sum_exec_runtime = e.sum_exec_runtime;
                }
            }
            if self.h.bandwidth_used() {
                // "ensure bandwidth has been allocated on our new cfs_rq"
                es[task].throttle_work |= self.h.account_cfs_rq_runtime(es, group, 0);
            }
            weight = self.calc_prop_weight(es, se, weight);
        }
        let on_rq = es[task].on_rq;
        // The protection is that of the new weight.
        self.rq.set_next_entity(es, now, task, false);
        self.h.curr = Some(task);
        if on_rq {
            self.reweight_eevdf(es, task, weight);
            if picked {
                self.rq.set_protect_slice(es, task);
            }
        }
    }

    /// Whether `task`, which was enqueued or woken, requests a reschedule (`wakeup_preempt()`).
    pub(in crate::runqueue) fn wakeup_preempt(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Preempted {
        let Some(curr) = self.h.curr else { return Resched::Now.into() };
        if curr == task || es[task].throttled {
            return Preempted::default();
        }
        self.compare(es, now, (task, curr), flags, need_resched)
    }

    /// Handles the periodic tick (`task_tick_fair()`).
    pub(in crate::runqueue) fn task_tick(&mut self, es: &mut Entities, now: u64, _: Tick) -> Resched {
        self.charge(es, now)
    }

    /// `entity_tick()` of the running task and of its groups, and its new weight.
    pub(in crate::runqueue) fn charge(&mut self, es: &mut Entities, now: u64) -> Resched {
        let Some(curr) = self.h.curr.filter(|&curr| es[curr].on_rq) else { return Resched::No };
        let (mut up, mut resched, mut weight) = (Some(curr), Resched::No, NICE_0_LOAD);
        while let Some(se) = up {
            resched |= self.update_curr(es, now, es[se].group);
            let my_q = es[se].my_q;
            if my_q != 0 {
                self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
                self.update_cfs_group(es, my_q);
            }
            weight = self.calc_prop_weight(es, se, weight);
            up = self.h.parent_entity(es, se);
        }
        self.reweight_eevdf(es, curr, weight);
        resched
    }

    /// The running task's hrtick (`hrtick_start_fair()`).
    pub(in crate::runqueue) fn hrtick(&self, es: &Entities, irq_util: u64) -> Hrtick {
        self.rq.hrtick(es, irq_util)
    }

    /// Nothing (`task_fork_fair()`).
    pub(in crate::runqueue) fn task_fork(&mut self, _: &mut Entities, _: u64, _: TaskId) -> Resched {
        Resched::No
    }

    /// The running task yields (`yield_task_fair()`).
    pub(in crate::runqueue) fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.h.curr.filter(|_| self.rq.nr_queued != 1) else { return };
        self.rq.clear_buddies(curr);
        let _ = self.update_curr_eevdf(es, now);
        self.rq.forfeit(es, curr);
    }

    /// Checks the run queue against the entities and what the hierarchy has of it.
    pub(in crate::runqueue) fn validate(&self, es: &Entities) -> Result<(), String> {
        self.rq.validate(es)?;
        if (self.rq.nr_queued as i32, self.rq.curr) != (self.h.of[0].nr.queued, self.h.curr) {
            return Err(format!("{} tasks are queued and {:?} runs: {:?}", self.rq.nr_queued, self.rq.curr, self.h));
        }
        Ok(())
    }
}

impl Compared<true> for FlatEevdfRq {
    fn rq(&mut self) -> &mut EevdfRq<true> {
        &mut self.rq
    }

    fn wakee(&self, se: TaskId) -> TaskId {
        se
    }

    fn running(&self, se: TaskId) -> TaskId {
        se
    }

    fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.update_curr_fair(es, now)
    }

    fn set_next_buddy(&mut self, es: &Entities, se: TaskId) {
        self.rq.set_next_buddy(es, se);
    }

    fn clear_buddies(&mut self, _: &Entities, se: TaskId) {
        self.rq.clear_buddies(se);
    }

    fn pick(&mut self, es: &mut Entities, now: u64, protect: bool, reaped: &mut Reaped) -> Option<TaskId> {
        while self.rq.nr_queued != 0 {
            let task = self.rq.__pick_eevdf(es, protect)?;
            if !es[task].sched_delayed {
                return Some(task);
            }
            let _ = self.dequeue_task(es, now, task, DequeueFlags::SLEEP | DequeueFlags::DELAYED);
            reaped.push(task);
        }
        None
    }
}
