//! Control groups on CFS: the operations that go through the run queues of all groups (5.10 to 6.1).
//!
//! ```text
//! pick                       goes down from rq->cfs
//! switch                     puts and sets the entities that differ
//! wake-up preemption         compares the entities of one cfs_rq above both tasks     find_matching_se()
//! ```

use super::CfsRq;
use crate::pelt::UpdateFlags;
use crate::runqueue::cfs_bandwidth::Throttles;
use crate::runqueue::load_weight::calc_delta;
use crate::runqueue::task_group::{Counts, Hierarchy, Switches, scale_load_down};
use crate::runqueue::{
    DequeueFlags, Dequeued, EnqueueFlags, Entities, Hrtick, LoadWeight, Policy, Preempted, Resched, Switch, TaskId,
    Tick,
};
use crate::select::WakeFlags;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// A buddy of a run queue: `cfs_rq->next`, `last` or `skip`.
type Buddy = fn(&mut CfsRq) -> &mut Option<TaskId>;

/// One CPU's CFS run queues of all groups.
#[derive(Clone, Debug)]
pub struct GroupedCfsRq {
    pub(in crate::runqueue) h: Hierarchy,
    /// By group, the root's first.
    pub(in crate::runqueue) rqs: Vec<CfsRq>,
}

impl GroupedCfsRq {
    /// The run queues of an idle CPU, whose root is `rq`.
    pub(in crate::runqueue) fn new(rq: &CfsRq, h: Hierarchy) -> Self {
        let rqs = h.of.iter().map(|_| rq.clone()).collect();
        GroupedCfsRq { h, rqs }
    }

    /// Whether a task is a buddy on its group's run queue.
    pub(in crate::runqueue) fn is_buddy(&self, es: &Entities, task: TaskId) -> bool {
        let rq = self.rq_of(es, task);
        [rq.next, rq.last].contains(&Some(task))
    }

    /// CFS has no such thing: true.
    pub(in crate::runqueue) fn entity_eligible(&self, _: &Entities, _: TaskId) -> bool {
        true
    }

    /// The run queue that an entity is on (`cfs_rq_of()`).
    fn rq_of(&self, es: &Entities, se: TaskId) -> &CfsRq {
        &self.rqs[es[se].group as usize]
    }

    fn rq_mut(&mut self, es: &Entities, se: TaskId) -> &mut CfsRq {
        &mut self.rqs[es[se].group as usize]
    }

    /// `update_cfs_group()` of a group's entity, with `reweight_entity()`.
    fn update_cfs_group(&mut self, es: &mut Entities, now: u64, group: u32) {
        let Some(shares) = self.h.calc_group_shares(es, group) else { return };
        let se = self.h.of[group as usize].se;
        let rq = &self.rqs[es[se].group as usize];
        if es[se].on_rq {
            // "commit outstanding execution time"
            if rq.curr == Some(se) {
                self.update_curr(es, now, es[se].group);
            }
            self.rq_mut(es, se).load -= es[se].full_weight();
        }
        self.h.reweight(es, group, shares);
        if es[se].on_rq {
            self.rq_mut(es, se).load += es[se].full_weight();
        }
    }

    /// Puts a task on its group's run queue, and the groups' entities on those above (`enqueue_task_fair()`).
    pub(in crate::runqueue) fn enqueue_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        mut flags: EnqueueFlags,
    ) -> Resched {
        let mut idle = es[task].is_idle();
        let mut next = Some(task);
        while let Some(se) = next {
            let my_q = es[se].my_q;
            if !es[se].on_rq {
                self.enqueue_entity(es, now, se, flags);
                flags = EnqueueFlags::WAKEUP;
            } else {
                self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
                self.h.se_update_runnable(my_q);
                self.update_cfs_group(es, now, my_q);
            }
            let of = self.h.cfs_rq_of(es, se);
            of.nr.add(Counts::of(1, true, idle));
            idle |= of.group.idle;
            if self.h.counts_end(es[se].group) {
                break;
            }
            next = self.h.parent_entity(es, se);
        }
        Resched::No
    }

    /// Charges what runs on a group's run queue (`update_curr()`).
    fn update_curr(&mut self, es: &mut Entities, now: u64, group: u32) {
        let ran = self.h.ran(es, group);
        self.rqs[group as usize].update_curr(es, now);
        self.h.account_ran(es, group, ran);
    }

    /// `enqueue_entity()`.
    fn enqueue_entity(&mut self, es: &mut Entities, now: u64, se: TaskId, flags: EnqueueFlags) {
        let (my_q, group) = (es[se].my_q, es[se].group);
        if my_q != 0 || self.h.bandwidth_used() {
            self.update_curr(es, now, group);
        }
        if my_q != 0 {
            self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG | UpdateFlags::DO_ATTACH);
            self.h.se_update_runnable(my_q);
            self.update_cfs_group(es, now, my_q);
        }
        let rq = self.rq_mut(es, se);
        if rq.curr == Some(se) {
            rq.enqueue_curr(es, now, se);
        } else {
            rq.enqueue_task(es, now, se, flags);
        }
        self.h.account_entity_enqueue(es, se);
        if self.h.bandwidth_used() && self.h.of[group as usize].nr_queued == 1 {
            self.check_enqueue_throttle(es, now, group);
        }
    }

    /// `dequeue_entity()`.
    fn dequeue_entity(&mut self, es: &mut Entities, now: u64, se: TaskId, flags: DequeueFlags) {
        let (my_q, group) = (es[se].my_q, es[se].group);
        if my_q != 0 || self.h.bandwidth_used() {
            self.update_curr(es, now, group);
        }
        if my_q != 0 {
            self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
            self.h.se_update_runnable(my_q);
        }
        self.clear_buddies(es, se);
        self.rq_mut(es, se).dequeue_task(es, now, se, flags);
        self.h.account_entity_dequeue(es, se);
        self.h.last_dequeued(group);
        if my_q != 0 {
            self.update_cfs_group(es, now, my_q);
        }
    }

    /// Takes a task off its group's run queue, and the entities of groups that are empty then off those above
    /// (`dequeue_task_fair()`).
    pub(in crate::runqueue) fn dequeue_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        mut flags: DequeueFlags,
    ) -> Dequeued {
        let sleeps = flags.contains(DequeueFlags::SLEEP);
        let mut idle = es[task].is_idle();
        let (mut next, mut leaves) = (Some(task), true);
        while let Some(se) = next {
            let my_q = es[se].my_q;
            if leaves {
                self.dequeue_entity(es, now, se, flags);
                flags |= DequeueFlags::SLEEP;
            } else {
                self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
                self.h.se_update_runnable(my_q);
                self.update_cfs_group(es, now, my_q);
            }
            let of = self.h.cfs_rq_of(es, se);
            of.nr.add(Counts::of(-1, true, idle));
            idle |= of.group.idle;
            let others = of.load != 0;
            if self.h.counts_end(es[se].group) {
                break;
            }
            let stands = self.h.stands(es[se].group);
            next = self.h.parent_entity(es, se);
            if leaves && others {
                leaves = false;
                // "Bias pick_next to pick a task from this cfs_rq."
                if let Some(parent) = next.filter(|_| sleeps && !stands) {
                    self.set_next_buddy(es, parent);
                }
            }
        }
        Dequeued { off_rq: true, resched: Resched::No }
    }

    /// Gives the CPU to the task that should have it (`__schedule()`, `pick_next_task_fair()`).
    pub(in crate::runqueue) fn schedule(&mut self, es: &mut Entities, now: u64) -> Switch {
        let next = self.pick_task_fair(es, now);
        if next != self.h.curr {
            let _ = self.switch(es, now, next);
        }
        Switch { next, reaped: SmallVec::new() }
    }

    /// Takes the CPU from the running task (`put_prev_task_fair()`).
    pub(in crate::runqueue) fn put_prev_task(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.switch(es, now, None)
    }

    fn pick_task_fair(&mut self, es: &mut Entities, now: u64) -> Option<TaskId> {
        let mut group = 0;
        loop {
            let curr = self.rqs[group as usize].queued_curr(es);
            if curr.is_some() {
                self.update_curr(es, now, group);
            }
            if self.h.bandwidth_used()
                && self.h.of[group as usize].curr.is_some()
                && self.check_cfs_rq_runtime(es, now, group)
            {
                if self.h.of[0].nr_queued == 0 {
                    return None;
                }
                // "simple"
                let _ = self.switch(es, now, None);
                group = 0;
                continue;
            }
            let rq = &mut self.rqs[group as usize];
            let se = rq.pick_next_entity(es, curr)?;
            if rq.rules.pick_clears_buddies {
                self.clear_buddies(es, se);
            }
            group = match es[se].my_q {
                0 => return Some(se),
                my_q => my_q,
            };
        }
    }

    /// Removes an entity from the buddies, and the groups that are there for it (`clear_buddies()`).
    fn clear_buddies(&mut self, es: &Entities, se: TaskId) {
        let kinds: [Buddy; 3] = [|rq| &mut rq.next, |rq| &mut rq.last, |rq| &mut rq.skip];
        for kind in kinds {
            let mut up = Some(se);
            while let Some(se) = up {
                let buddy = kind(self.rq_mut(es, se));
                if *buddy != Some(se) {
                    break;
                }
                *buddy = None;
                up = self.h.parent_entity(es, se);
            }
        }
    }

    /// `set_next_buddy()`: up to the first entity that is not queued, or is idle.
    fn set_next_buddy(&mut self, es: &Entities, se: TaskId) {
        self.set_buddy(es, se, |rq| &mut rq.next);
    }

    fn set_buddy(&mut self, es: &Entities, se: TaskId, kind: Buddy) {
        let mut up = Some(se);
        while let Some(se) = up.filter(|&se| es[se].on_rq && !es[se].is_idle()) {
            *kind(self.rq_mut(es, se)) = Some(se);
            up = self.h.parent_entity(es, se);
        }
    }

    /// Whether `task`, which was enqueued, requests a reschedule (`check_preempt_wakeup()`, 5.10 and 6.1).
    pub(in crate::runqueue) fn wakeup_preempt(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Preempted {
        Resched::Now.when(self.check_preempt_wakeup(es, now, task, flags, need_resched)).into()
    }

    fn check_preempt_wakeup(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> bool {
        let Some(curr) = self.h.curr else { return true };
        if curr == task || self.h.stands(es[task].group) {
            return false;
        }
        let params = self.rqs[0].params.clone();
        let scale = self.rq_of(es, curr).nr_queued >= params.nr_latency;
        if params.next_buddy && scale && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, task);
        }
        if need_resched {
            return false;
        }
        let mut se = curr;
        if !es[curr].is_idle() || es[task].is_idle() {
            if es[task].policy != Policy::Normal || !params.wakeup_preemption {
                return false;
            }
            let pse;
            (se, pse) = self.h.find_matching_se(es, curr, task);
            let (cse_is_idle, pse_is_idle) = (es[se].is_idle(), es[pse].is_idle());
            if !cse_is_idle && pse_is_idle {
                return false;
            }
            if cse_is_idle == pse_is_idle {
                self.update_curr(es, now, es[se].group);
                let rq = self.rq_of(es, se);
                if rq.wakeup_preempt_entity(es, se, pse) != Ordering::Greater {
                    return false;
                }
                if params.next_marker {
                    self.set_next_buddy(es, pse);
                }
            }
        }
        if params.last_buddy && scale && es[se].my_q == 0 {
            self.set_buddy(es, se, |rq| &mut rq.last);
        }
        true
    }

    /// The task's part of the period, through all groups, ns (`sched_slice()`).
    fn sched_slice(&self, es: &Entities, se: TaskId) -> u64 {
        let root = &self.rqs[0];
        let nr = if root.params.alt_period { self.h.of[0].nr.queued as u32 } else { self.rq_of(es, se).nr_queued };
        let mut slice = root.sched_period(nr + u32::from(!es[se].on_rq));
        let mut up = Some(se);
        while let Some(se) = up {
            let (e, load) = (&es[se], self.h.of[es[se].group as usize].load);
            let load = if e.on_rq { load } else { load + e.full_weight() };
            slice = calc_delta(slice, e.load.weight, LoadWeight::sum(scale_load_down(load)));
            up = self.h.parent_entity(es, se);
        }
        // The idle least is that of an entity beside others on its own run queue.
        self.rq_of(es, se).at_least_min_granularity(&es[se], slice)
    }

    /// Handles the tick (`task_tick_fair()`), which looks for preemption unless the hrtick is active.
    pub(in crate::runqueue) fn task_tick(&mut self, es: &mut Entities, now: u64, pending: Tick) -> Resched {
        let checks = !pending.hrtick_active || self.rqs[0].params.double_tick;
        Resched::Now.when(self.entity_tick(es, now, checks))
    }

    /// Charges the running task and its groups.
    pub(in crate::runqueue) fn charge(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.entity_tick(es, now, false);
        Resched::No
    }

    /// `entity_tick()` of the running task and of its groups. `checks`: looks for preemption. Returns whether to
    /// reschedule.
    fn entity_tick(&mut self, es: &mut Entities, now: u64, checks: bool) -> bool {
        let (mut up, mut resched) = (self.h.curr, false);
        while let Some(se) = up {
            self.update_curr(es, now, es[se].group);
            let my_q = es[se].my_q;
            if my_q != 0 {
                self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
                self.update_cfs_group(es, now, my_q);
            }
            if checks && self.rq_of(es, se).nr_queued > 1 {
                let ideal_runtime = self.sched_slice(es, se);
                let (preempts, ran_long) = self.rq_of(es, se).check_preempt_tick(es, se, ideal_runtime);
                if ran_long {
                    self.clear_buddies(es, se);
                }
                resched |= preempts;
            }
            up = self.h.parent_entity(es, se);
        }
        resched
    }

    /// The running task's hrtick (`hrtick_start_fair()`).
    pub(in crate::runqueue) fn hrtick(&self, es: &Entities, _: u64) -> Hrtick {
        let on = self.rqs[0].params.hrtick && self.h.of[0].nr.queued > 1;
        let Some(curr) = self.h.curr.filter(|_| on) else { return Hrtick::Off };
        let ran = es[curr].sum_exec_runtime - es[curr].prev_sum_exec_runtime;
        self.sched_slice(es, curr).checked_sub(ran).map_or(Hrtick::Over, Hrtick::start)
    }

    /// Sets the first vruntime of a new task, on the run queue of the running task's group (`task_fork_fair()`).
    pub(in crate::runqueue) fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) -> Resched {
        if let Some(curr) = self.rq_of(es, task).curr {
            self.update_curr(es, now, es[task].group);
            es[task].vruntime = es[curr].vruntime;
        }
        let vslice = es[task].calc_delta_fair(self.sched_slice(es, task));
        let rq = self.rq_of(es, task);
        rq.place(es, now, task, Some(vslice));
        es[task].vruntime = es[task].vruntime.wrapping_sub(rq.min_vruntime);
        Resched::No
    }

    /// A task wakes on another CPU (`migrate_task_rq_fair()`).
    pub(in crate::runqueue) fn migrate_task_rq(&self, es: &mut Entities, task: TaskId) {
        let rq = self.rq_of(es, task);
        rq.migrate_task_rq(&mut es[task]);
    }

    /// The running task yields (`yield_task_fair()`).
    pub(in crate::runqueue) fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.h.curr.filter(|_| self.h.of[0].nr.queued != 1) else { return };
        self.clear_buddies(es, curr);
        if es[curr].policy != Policy::Batch {
            self.update_curr(es, now, es[curr].group);
        }
        let mut up = Some(curr);
        while let Some(se) = up {
            self.rq_mut(es, se).skip = Some(se);
            up = self.h.parent_entity(es, se);
        }
    }

    /// Whether so many tasks are on the running task's own run queue that the hrtick is not restarted
    /// (`hrtick_update()`).
    pub(in crate::runqueue) fn hrtick_update_restarts(&self, es: &Entities) -> bool {
        self.h.curr.is_some_and(|curr| self.rq_of(es, curr).nr_queued < self.rqs[0].params.nr_latency)
    }

    /// Checks all run queues against the entities and what the hierarchy has of them.
    pub(in crate::runqueue) fn validate(&self, es: &Entities) -> Result<(), String> {
        for (number, (rq, of)) in self.rqs.iter().zip(&self.h.of).enumerate() {
            rq.validate(es).map_err(|what| format!("group {number}: {what}"))?;
            if (rq.load, rq.nr_queued, rq.curr) != (of.load, of.nr_queued, of.curr) {
                return Err(format!("group {number}: {:?} and {:?}", (rq.load, rq.nr_queued, rq.curr), of));
            }
        }
        Ok(())
    }
}

impl Switches for GroupedCfsRq {
    fn put_prev_entity(&mut self, es: &mut Entities, now: u64, se: TaskId) -> Resched {
        if self.h.bandwidth_used() {
            let group = es[se].group;
            if es[se].on_rq {
                self.update_curr(es, now, group);
            }
            self.check_cfs_rq_runtime(es, now, group);
        }
        self.rq_mut(es, se).put_prev_entity(es, now);
        self.h.put_prev_entity(es, se);
        Resched::No
    }

    fn set_next_entity(&mut self, es: &mut Entities, now: u64, se: TaskId, _: bool) -> bool {
        if !self.rqs[0].rules.pick_clears_buddies {
            self.clear_buddies(es, se);
        }
        self.h.set_next_entity(es, se);
        self.rq_mut(es, se).set_next_entity(es, now, se);
        false
    }
}

impl Throttles for GroupedCfsRq {
    fn h(&mut self) -> &mut Hierarchy {
        &mut self.h
    }

    fn dequeue_throttled(&mut self, es: &mut Entities, now: u64, se: TaskId) {
        self.dequeue_entity(es, now, se, DequeueFlags::SLEEP);
    }

    fn enqueue_unthrottled(&mut self, es: &mut Entities, now: u64, se: TaskId) {
        self.enqueue_entity(es, now, se, EnqueueFlags::WAKEUP);
    }
}
