//! Control groups on EEVDF: the operations that go through the run queues of all groups (6.6 to 7.2).
//!
//! A group's entity requests the shortest slice in the group (6.12), keeps its lag when the last task leaves, and may
//! be delayed as a task: it stays on the run queue above, empty, until it is picked or a task comes.
//!
//! ```text
//! enqueue_task_fair()                          dequeue_entities()
//!     up to the first entity that is queued:       up to the first queue that is not empty, or delays it:
//!         requeue_delayed_entity()                     dequeue_entity()
//!         else enqueue_entity()
//!     above that: its average, weight and slice    above that: its average, weight and slice
//!
//! reweight_entity(), w to w', of an entity that is queued:
//!     v' = V - (V - v) w/w',  d' = V + (d - V) w/w'
//! ```

use super::EevdfRq;
use super::pick_eevdf::Reaped;
use super::wakeup_preempt_fair::Compared;
use crate::pelt::UpdateFlags;
use crate::runqueue::cfs_bandwidth::Throttles;
use crate::runqueue::task_group::{Counts, Hierarchy, Switches};
use crate::runqueue::{
    DequeueFlags, Dequeued, EnqueueFlags, Entities, Entity, Hrtick, Preempted, Resched, Switch, TaskId, Tick,
};
use crate::select::WakeFlags;
use wakelab_kernel::{GroupReweight, ThrottleForm};

/// One CPU's EEVDF run queues of all groups.
#[derive(Clone, Debug)]
pub struct GroupedEevdfRq {
    pub(in crate::runqueue) h: Hierarchy,
    /// By group, the root's first.
    pub(in crate::runqueue) rqs: Vec<EevdfRq<true>>,
}

impl GroupedEevdfRq {
    /// The run queues of an idle CPU, whose root is `rq`.
    pub(in crate::runqueue) fn new(rq: &EevdfRq, h: Hierarchy) -> Self {
        let rqs = h.of.iter().map(|_| rq.for_groups()).collect();
        GroupedEevdfRq { h, rqs }
    }

    /// Whether a task is the next buddy of its group.
    pub(in crate::runqueue) fn is_buddy(&self, es: &Entities, task: TaskId) -> bool {
        self.rq_of(es, task).next == Some(task)
    }

    /// Whether its group owes a task time.
    pub(in crate::runqueue) fn entity_eligible(&self, es: &Entities, task: TaskId) -> bool {
        self.rq_of(es, task).entity_eligible(es, task)
    }

    /// The run queue that an entity is on (`cfs_rq_of()`).
    fn rq_of(&self, es: &Entities, se: TaskId) -> &EevdfRq<true> {
        &self.rqs[es[se].group as usize]
    }

    fn rq_mut(&mut self, es: &Entities, se: TaskId) -> &mut EevdfRq<true> {
        &mut self.rqs[es[se].group as usize]
    }

    /// Charges what runs on a group's run queue (`update_curr()`).
    pub(in crate::runqueue) fn update_curr(&mut self, es: &mut Entities, now: u64, group: u32) -> Resched {
        let ran = self.h.ran(es, group);
        let rq = &mut self.rqs[group as usize];
        let next = rq.next;
        let resched = rq.update_curr(es, now);
        self.h.account_ran(es, group, ran);
        if next.is_some() && rq.next.is_none() && group != 0 {
            // It was the running entity, and so may those be that stand for it.
            self.clear_buddies(es, self.h.of[group as usize].se);
        }
        resched
    }

    /// `update_cfs_group()` of a group's entity, with `reweight_entity()`.
    fn update_cfs_group(&mut self, es: &mut Entities, now: u64, group: u32) -> Resched {
        let Some(shares) = self.h.calc_group_shares(es, group) else { return Resched::No };
        let (se, above) = (self.h.of[group as usize].se, self.h.of[group as usize].group.parent);
        let form = self.h.params.rules.reweight;
        let mut resched = Resched::No;
        // "commit outstanding execution time"
        if es[se].on_rq && (form != GroupReweight::AroundOthers || self.rqs[above as usize].curr == Some(se)) {
            resched = self.update_curr(es, now, above);
        }
        let rq = &mut self.rqs[above as usize];
        rq.reweight(es, se, shares, form, |es| self.h.reweight(es, group, shares));
        resched
    }

    /// The shortest slice on a group's run queue (`cfs_rq_min_slice()`).
    fn min_slice(&self, es: &Entities, group: u32) -> u64 {
        self.rqs[group as usize].min_max_slice(es).map_or(u64::MAX, |(min, _)| min)
    }

    /// Changes what is known of a group's entity whose group has changed, and which stays on its run queue.
    fn update_queued(&mut self, es: &mut Entities, now: u64, se: TaskId, slice: &mut u64) -> Resched {
        let (my_q, group) = (es[se].my_q, es[se].group);
        self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
        self.h.se_update_runnable(my_q);
        let resched = self.update_cfs_group(es, now, my_q);
        if self.h.params.rules.slices {
            self.rqs[group as usize].set_slice(es, se, *slice);
            *slice = self.min_slice(es, group);
        }
        resched
    }

    /// Puts a task on its group's run queue, and the groups' entities on those above (`enqueue_task_fair()`). A task
    /// whose dequeue was delayed wakes.
    pub(in crate::runqueue) fn enqueue_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        mut flags: EnqueueFlags,
    ) -> Resched {
        if es[task].on_rq {
            return self.requeue_delayed_entity(es, now, task);
        }
        let runnable = flags.contains(EnqueueFlags::WAKEUP) || !es[task].sched_delayed;
        let mut idle = es[task].is_idle();
        let (mut slice, mut resched) = (0, Resched::No);
        let mut joins = true;
        let mut next = Some(task);
        while let Some(se) = next {
            if joins && es[se].on_rq {
                joins = false;
                if es[se].sched_delayed {
                    resched |= self.requeue_delayed_entity(es, now, se);
                }
            }
            if joins {
                if self.h.params.rules.slices && slice != 0 {
                    (es[se].slice, es[se].custom_slice) = (slice, true);
                }
                resched |= self.enqueue_entity(es, now, se, flags);
                slice = self.min_slice(es, es[se].group);
                flags = EnqueueFlags::WAKEUP;
            } else {
                resched |= self.update_queued(es, now, se, &mut slice);
            }
            let of = self.h.cfs_rq_of(es, se);
            of.nr.add(Counts::of(1, runnable, idle));
            idle |= of.group.idle;
            if self.h.counts_end(es[se].group) {
                break;
            }
            next = self.h.parent_entity(es, se);
        }
        resched
    }

    /// `enqueue_entity()`.
    fn enqueue_entity(&mut self, es: &mut Entities, now: u64, se: TaskId, flags: EnqueueFlags) -> Resched {
        let (my_q, group) = (es[se].my_q, es[se].group);
        // It runs on, though its group was throttled: a change of the running task has set it again.
        let runs = self.rqs[group as usize].curr == Some(se);
        if runs {
            self.rqs[group as usize].place_entity(es, se, flags);
        }
        let mut resched = self.update_curr(es, now, group);
        if my_q != 0 {
            self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG | UpdateFlags::DO_ATTACH);
            self.h.se_update_runnable(my_q);
            resched |= self.update_cfs_group(es, now, my_q);
        }
        if runs {
            self.rqs[group as usize].account_entity_enqueue(es, se);
            let e = &mut es[se];
            // Up to 6.12 its protection is where its lag is (`se->vlag`), and so it has none.
            (e.on_rq, e.vprot) = (true, e.vlag as u64);
        } else {
            resched |= self.rqs[group as usize].enqueue_task(es, now, se, flags);
        }
        self.h.account_entity_enqueue(es, se);
        if self.h.bandwidth_used() && self.h.of[group as usize].nr_queued == 1 {
            self.check_enqueue_throttle(es, now, group);
        }
        resched
    }

    /// Wakes a task whose dequeue was delayed, or a group's entity to whose group a task comes
    /// (`requeue_delayed_entity()`).
    fn requeue_delayed_entity(&mut self, es: &mut Entities, now: u64, se: TaskId) -> Resched {
        let (my_q, group) = (es[se].my_q, es[se].group);
        let mut resched = Resched::No;
        if self.rqs[0].rules.delayed_lag_kept {
            resched = self.update_curr(es, now, group);
        }
        self.rqs[group as usize].requeue_entity(es, se);
        if my_q != 0 {
            self.h.update_load_avg(es, my_q, UpdateFlags::empty());
        }
        self.rqs[group as usize].clear_delayed(es, se);
        if my_q == 0 {
            self.h.count_runnable(es, se, 1);
        }
        resched
    }

    /// Takes a task off its group's run queue, or delays that, and the entities of groups that are empty then off those
    /// above (`dequeue_task_fair()`).
    pub(in crate::runqueue) fn dequeue_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: DequeueFlags,
    ) -> Dequeued {
        assert!(es[task].on_rq, "{task:?} is not queued");
        let mut resched = Resched::No;
        let off_rq = self.dequeue_entities(es, now, task, flags, &mut resched);
        Dequeued { off_rq, resched }
    }

    /// Whether the dequeue of a task will be delayed. Charges what runs.
    pub(in crate::runqueue) fn delays_dequeue(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: DequeueFlags,
    ) -> bool {
        let group = es[task].group;
        let _ = self.update_curr(es, now, group);
        self.rqs[group as usize].delays_dequeue(es, task, flags)
    }

    /// `dequeue_entities()`, up to 6.8 `dequeue_task_fair()`: of a task, or of a group's delayed entity that was
    /// picked. Returns whether it has left.
    fn dequeue_entities(
        &mut self,
        es: &mut Entities,
        now: u64,
        first: TaskId,
        mut flags: DequeueFlags,
        resched: &mut Resched,
    ) -> bool {
        let sleeps = flags.contains(DequeueFlags::SLEEP);
        // A group without tasks counts none.
        let queued = i32::from(es[first].my_q == 0);
        let runnable = sleeps || flags.contains(DequeueFlags::DELAYED) || !es[first].sched_delayed;
        let mut idle = queued != 0 && es[first].is_idle();
        let (mut slice, mut leaves) = (0, true);
        let mut next = Some(first);
        while let Some(se) = next {
            let group = es[se].group;
            if leaves && !self.dequeue_entity(es, now, se, flags, resched) {
                if queued != 0 && se == first {
                    return false;
                }
                slice = self.min_slice(es, group);
                leaves = false;
                // The entity stays, and what is known of it changes.
                continue;
            }
            if !leaves {
                *resched |= self.update_queued(es, now, se, &mut slice);
            }
            let of = self.h.cfs_rq_of(es, se);
            of.nr.add(Counts::of(-queued, runnable, idle));
            if of.group.idle {
                idle = queued != 0;
            }
            let others = of.load != 0;
            if self.h.counts_end(group) {
                return true;
            }
            if flags.contains(DequeueFlags::THROTTLE) {
                self.h.record_throttle_clock(group);
            }
            next = self.h.parent_entity(es, se);
            if leaves && others {
                leaves = false;
                slice = self.min_slice(es, group);
                // "Bias pick_next to pick a task from this cfs_rq."
                if let Some(parent) = next.filter(|_| sleeps && !self.h.stands(group)) {
                    self.set_next_buddy(es, parent);
                }
            }
            flags |= DequeueFlags::SLEEP;
            flags -= DequeueFlags::DELAYED | DequeueFlags::SPECIAL;
        }
        true
    }

    /// `dequeue_entity()`. Returns false if it is delayed.
    fn dequeue_entity(
        &mut self,
        es: &mut Entities,
        now: u64,
        se: TaskId,
        flags: DequeueFlags,
        resched: &mut Resched,
    ) -> bool {
        let (my_q, group) = (es[se].my_q, es[se].group);
        *resched |= self.update_curr(es, now, group);
        self.clear_buddies(es, se);
        let rq = &mut self.rqs[group as usize];
        if rq.delays_dequeue(es, se, flags) {
            if my_q != 0 {
                self.h.update_load_avg(es, my_q, UpdateFlags::empty());
            } else {
                self.h.count_runnable(es, se, -1);
            }
            rq.delay_dequeue(es, se);
            return false;
        }
        if my_q != 0 {
            self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
            self.h.se_update_runnable(my_q);
        } else if flags.contains(DequeueFlags::DELAYED) {
            self.h.age(group);
        }
        rq.dequeue_now(es, se, flags);
        self.h.account_entity_dequeue(es, se);
        self.h.last_dequeued(group);
        if my_q != 0 {
            *resched |= self.update_cfs_group(es, now, my_q);
        } else if flags.contains(DequeueFlags::DELAYED) {
            self.h.count_runnable(es, se, 1);
        }
        true
    }

    /// Gives the CPU to the task that should have it (`__schedule()`). The caller clears the need-resched flags.
    pub(in crate::runqueue) fn schedule(&mut self, es: &mut Entities, now: u64) -> Switch {
        let mut reaped = Reaped::new();
        let next = self.pick_task_fair(es, now, &mut reaped);
        if next != self.h.curr {
            let _ = self.switch(es, now, next);
        }
        Switch { next, reaped }
    }

    /// Takes the CPU from the running task (`put_prev_task_fair()`).
    pub(in crate::runqueue) fn put_prev_task(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.switch(es, now, None)
    }

    /// The task that should run (`pick_task_fair()`). Delayed tasks that are picked before it leave and are added to
    /// `reaped`.
    fn pick_task_fair(&mut self, es: &mut Entities, now: u64, reaped: &mut Reaped) -> Option<TaskId> {
        'again: while self.h.of[0].nr_queued != 0 {
            let (mut group, mut throttled) = (0, false);
            loop {
                // A request can be dropped: the flag is about to be cleared.
                if self.rqs[group as usize].queued_curr(es).is_some() {
                    let _ = self.update_curr(es, now, group);
                }
                match self.h.form() {
                    ThrottleForm::Queues if self.h.bandwidth_used() => {
                        let downwards = self.h.params.rules.set_downwards;
                        let checks = !downwards || self.h.of[group as usize].curr.is_some();
                        if checks && self.check_cfs_rq_runtime(es, now, group) {
                            if downwards && self.h.of[0].nr_queued != 0 {
                                // "simple"
                                let _ = self.switch(es, now, None);
                            }
                            continue 'again;
                        }
                    }
                    ThrottleForm::TasksAtPick => throttled |= self.check_cfs_rq_runtime(es, now, group),
                    ThrottleForm::Queues | ThrottleForm::Tasks => {}
                }
                let Some(se) = self.pick_next_entity(es, now, group, true, reaped) else { continue 'again };
                match es[se].my_q {
                    0 => {
                        es[se].throttle_work |= throttled;
                        return Some(se);
                    }
                    my_q => group = my_q,
                }
            }
        }
        None
    }

    /// The entity that should run on a group's run queue, or none if it was a delayed one, which has left then
    /// (`pick_next_entity()`).
    fn pick_next_entity(
        &mut self,
        es: &mut Entities,
        now: u64,
        group: u32,
        protect: bool,
        reaped: &mut Reaped,
    ) -> Option<TaskId> {
        let rq = &self.rqs[group as usize];
        let buddy = if rq.rules.buddy_in_pick { None } else { rq.eligible_next_buddy(es) };
        let se = buddy.or_else(|| rq.__pick_eevdf(es, protect))?;
        if !es[se].sched_delayed {
            return Some(se);
        }
        let flags = DequeueFlags::SLEEP | DequeueFlags::DELAYED;
        // Either the flag is about to be cleared, or the running task has just been charged.
        let _ = self.dequeue_entities(es, now, se, flags, &mut Resched::No);
        if es[se].my_q == 0 {
            reaped.push(se);
        }
        None
    }

    /// Removes an entity from the buddies, and the groups that are there for it (`clear_buddies()`).
    fn clear_buddies(&mut self, es: &Entities, se: TaskId) {
        let mut up = Some(se);
        while let Some(se) = up {
            let rq = self.rq_mut(es, se);
            if rq.next != Some(se) {
                break;
            }
            rq.next = None;
            up = self.h.parent_entity(es, se);
        }
    }

    /// `set_next_buddy()`: up to the first entity that is not queued, or is idle.
    fn set_next_buddy(&mut self, es: &Entities, se: TaskId) {
        let mut up = Some(se);
        while let Some(se) = up.filter(|&se| es[se].on_rq && !es[se].is_idle()) {
            self.rq_mut(es, se).next = Some(se);
            up = self.h.parent_entity(es, se);
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
        if curr == task || self.h.stands(es[task].group) || es[task].throttled {
            return Preempted::default();
        }
        let (se, pse) = self.h.find_matching_se(es, curr, task);
        let group = es[se].group;
        Matched { rqs: self, group, task, curr }.compare(es, now, (pse, se), flags, need_resched)
    }

    /// Handles the periodic tick (`task_tick_fair()`).
    pub(in crate::runqueue) fn task_tick(&mut self, es: &mut Entities, now: u64, _: Tick) -> Resched {
        self.charge(es, now)
    }

    /// `entity_tick()` of the running task and of its groups.
    pub(in crate::runqueue) fn charge(&mut self, es: &mut Entities, now: u64) -> Resched {
        let (mut up, mut resched) = (self.h.curr, Resched::No);
        while let Some(se) = up {
            let (my_q, group) = (es[se].my_q, es[se].group);
            resched |= self.update_curr(es, now, group);
            if my_q != 0 {
                self.h.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG);
                resched |= self.update_cfs_group(es, now, my_q);
            }
            up = self.h.parent_entity(es, se);
        }
        resched
    }

    /// The running task's hrtick (`hrtick_start_fair()`): only its own queue's virtual time counts.
    pub(in crate::runqueue) fn hrtick(&self, es: &Entities, irq_util: u64) -> Hrtick {
        let on = self.rqs[0].params.hrtick && self.h.of[0].nr.queued > 1;
        let Some(curr) = self.h.curr.filter(|_| on) else { return Hrtick::Off };
        self.rq_of(es, curr).hrtick_of(&es[curr], irq_util)
    }

    /// Charges what runs of the new task's group (`task_fork_fair()`, up to 6.8).
    pub(in crate::runqueue) fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) -> Resched {
        if self.rqs[0].rules.initial_enqueue { Resched::No } else { self.update_curr(es, now, es[task].group) }
    }

    /// The running task yields (`yield_task_fair()`).
    pub(in crate::runqueue) fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.h.curr.filter(|_| self.h.of[0].nr.queued != 1) else { return };
        self.clear_buddies(es, curr);
        let group = es[curr].group;
        let _ = self.update_curr(es, now, group);
        self.rqs[group as usize].forfeit(es, curr);
    }

    /// Checks all run queues against the entities and what the hierarchy has of them.
    pub(in crate::runqueue) fn validate(&self, es: &Entities) -> Result<(), String> {
        for (number, (rq, of)) in self.rqs.iter().zip(&self.h.of).enumerate() {
            rq.validate(es).map_err(|what| format!("group {number}: {what}"))?;
            if (rq.nr_queued, rq.curr) != (of.nr_queued, of.curr) {
                return Err(format!("group {number}: {:?} and {:?}", (rq.nr_queued, rq.curr), of));
            }
            let queued = rq.waiting(es).chain(rq.queued_curr(es));
            let load: u64 = queued.map(|se| es[se].full_weight()).sum();
            if load != of.load {
                return Err(format!("group {number}: the weights add up to {load}, not {}", of.load));
            }
        }
        Ok(())
    }
}

impl Switches for GroupedEevdfRq {
    fn put_prev_entity(&mut self, es: &mut Entities, now: u64, se: TaskId) -> Resched {
        let group = es[se].group;
        let mut resched = Resched::No;
        if es[se].on_rq {
            resched = self.update_curr(es, now, group);
        }
        if self.h.form() != ThrottleForm::Tasks {
            self.check_cfs_rq_runtime(es, now, group);
        }
        self.rqs[group as usize].put_prev_entity(es, now);
        self.h.put_prev_entity(es, se);
        resched
    }

    fn set_next_entity(&mut self, es: &mut Entities, now: u64, se: TaskId, picked: bool) -> bool {
        self.clear_buddies(es, se);
        self.h.set_next_entity(es, se);
        self.rq_mut(es, se).set_next_entity(es, now, se, picked);
        // "ensure bandwidth has been allocated on our new cfs_rq"
        self.h.form() == ThrottleForm::Tasks && self.h.account_cfs_rq_runtime(es, es[se].group, 0)
    }
}

impl Throttles for GroupedEevdfRq {
    fn h(&mut self) -> &mut Hierarchy {
        &mut self.h
    }

    fn dequeue_throttled(&mut self, es: &mut Entities, now: u64, se: TaskId) {
        // "Abuse SPECIAL to avoid delayed dequeue in this instance."
        let delayed = if es[se].sched_delayed { DequeueFlags::DELAYED } else { DequeueFlags::empty() };
        let mut resched = Resched::No;
        self.dequeue_entity(es, now, se, DequeueFlags::SLEEP | DequeueFlags::SPECIAL | delayed, &mut resched);
        self.h.asks.resched |= resched;
    }

    fn enqueue_unthrottled(&mut self, es: &mut Entities, now: u64, se: TaskId) {
        let resched = self.enqueue_entity(es, now, se, EnqueueFlags::WAKEUP);
        self.h.asks.resched |= resched;
    }
}

/// The run queue with the entities of the running task and of one that joined.
struct Matched<'a> {
    rqs: &'a mut GroupedEevdfRq,
    group: u32,
    task: TaskId,
    curr: TaskId,
}

impl Compared<true> for Matched<'_> {
    fn rq(&mut self) -> &mut EevdfRq<true> {
        &mut self.rqs.rqs[self.group as usize]
    }

    fn wakee(&self, _: TaskId) -> TaskId {
        self.task
    }

    fn running(&self, _: TaskId) -> TaskId {
        self.curr
    }

    fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.rqs.update_curr(es, now, self.group)
    }

    fn set_next_buddy(&mut self, es: &Entities, se: TaskId) {
        if !es[se].sched_delayed {
            self.rqs.set_next_buddy(es, se);
        }
    }

    fn clear_buddies(&mut self, es: &Entities, se: TaskId) {
        self.rqs.clear_buddies(es, se);
    }

    fn pick(&mut self, es: &mut Entities, now: u64, protect: bool, reaped: &mut Reaped) -> Option<TaskId> {
        while self.rqs.h.of[self.group as usize].nr_queued != 0 {
            let picked = self.rqs.pick_next_entity(es, now, self.group, protect, reaped);
            if picked.is_some() {
                return picked;
            }
        }
        None
    }
}

impl EevdfRq<true> {
    /// Gives the entity of a group another weight, of full resolution, which `set` sets (`reweight_entity()`). What
    /// runs has been charged, if the form asks for that.
    pub(super) fn reweight(
        &mut self,
        es: &mut Entities,
        se: TaskId,
        weight: u64,
        form: GroupReweight,
        set: impl FnOnce(&mut Entities),
    ) {
        let old = es[se].full_h_weight() as i64;
        let new = weight as i64;
        let scaled = |x: i64| x.wrapping_mul(old) / new;
        if !es[se].on_rq {
            let e = &mut es[se];
            e.vlag = scaled(e.vlag);
            if self.rules.deadline_rescaled && e.rel_deadline {
                e.deadline = scaled(e.deadline as i64) as u64;
            }
            set(es);
            es[se].set_full_h_weight(weight);
            return;
        }
        let waits = self.curr != Some(se);
        let (mut avruntime, mut rel_vprot) = (0, None);
        match form {
            GroupReweight::Kept => unreachable!("CFS"),
            GroupReweight::AroundOthers => {}
            GroupReweight::AroundV => avruntime = self.update_zero_vruntime(es),
            GroupReweight::Placed => {
                self.update_entity_lag(es, se);
                let e = &mut es[se];
                e.deadline = e.deadline.wrapping_sub(e.vruntime);
                e.rel_deadline = true;
            }
            GroupReweight::WithProtection => {
                avruntime = self.update_zero_vruntime(es);
                if !waits && self.protect_slice(es, se) {
                    rel_vprot = Some(es[se].vprot.wrapping_sub(avruntime) as i64);
                }
            }
        }
        let lag = match form {
            GroupReweight::AroundV | GroupReweight::WithProtection => self.entity_lag(es, se, avruntime),
            _ => 0,
        };
        if waits {
            self.__dequeue_entity(es, se);
        }
        let e = &mut es[se];
        match form {
            GroupReweight::AroundOthers => {
                avruntime = self.update_zero_vruntime(es);
                let e = &mut es[se];
                let lag = avruntime.wrapping_sub(e.vruntime) as i64;
                e.rescale_around(avruntime, lag, scaled);
            }
            GroupReweight::AroundV | GroupReweight::WithProtection => {
                if form == GroupReweight::WithProtection {
                    e.vlag = scaled(lag);
                }
                e.rescale_around(avruntime, lag, scaled);
                if let Some(vprot) = rel_vprot {
                    e.vprot = avruntime.wrapping_add(scaled(vprot) as u64);
                }
            }
            GroupReweight::Placed | GroupReweight::Kept => {
                e.vlag = scaled(e.vlag);
                e.deadline = scaled(e.deadline as i64) as u64;
            }
        }
        set(es);
        es[se].set_full_h_weight(weight);
        if form == GroupReweight::Placed {
            // While it is placed it does not count, as at an enqueue.
            self.nr_queued -= 1;
            self.place_entity(es, se, EnqueueFlags::empty());
            self.nr_queued += 1;
        }
        if waits {
            self.__enqueue_entity(es, se);
        }
    }

    /// Changes the slice of a group's entity that is queued.
    fn set_slice(&mut self, es: &mut Entities, se: TaskId, slice: u64) {
        es[se].slice = slice;
        if self.curr != Some(se) {
            self.tasks_timeline.slice_changed(es, se);
        }
    }
}

impl Entity {
    /// Sets vruntime and deadline for a new weight around V.
    fn rescale_around(&mut self, avruntime: u64, lag: i64, scaled: impl Fn(i64) -> i64) {
        self.vruntime = avruntime.wrapping_sub(scaled(lag) as u64);
        self.deadline = avruntime.wrapping_add(scaled(self.deadline.wrapping_sub(avruntime) as i64) as u64);
    }
}
