//! `wakeup_preempt_fair()`, up to 6.12 `check_preempt_wakeup_fair()`: whether a task that joined preempts the running
//! one (`kernel/sched/fair.c`).
//!
//! ```text
//! all     curr is SCHED_IDLE, p is not        preempt
//!         p is not SCHED_NORMAL               do not
//!
//! 6.6     preempt if pick_eevdf() == p
//!
//! 6.12    if p's slice is shorter and p is eligible: cancel_protect_slice(curr)       PREEMPT_SHORT
//!         preempt if pick_eevdf() == p
//!
//! 6.18    preempt if __pick_eevdf() == p (a shorter slice ignores the protection, and ends it)
//!         else, if the slice is shorter: update_protect_slice(curr)                   RUN_TO_PARITY
//!
//! posted  as 7.2, but __pick_eevdf() of 6.18, which leaves delayed tasks queued        NEXT_BUDDY_POSTED
//!
//! 7.2     pick as a schedule would (a shorter slice ignores the protection)
//!         p won:  preempt
//!         else:   update_protect_slice(curr)                                          RUN_TO_PARITY
//!
//! 7.3     the same, but a shorter slice wins as soon as p is eligible
//! ```

use super::pick_eevdf::Reaped;
use super::{EevdfRq, WakeupPreempt};
use crate::runqueue::{Entities, Policy, Preempted, Resched, TaskId, vtime_before};
use crate::select::WakeFlags;

/// `WF_RQ_SELECTED`, 7.2: `select_task_rq_fair()` chose the CPU.
const WF_RQ_SELECTED: WakeFlags = WakeFlags::from_bits_retain(0x80);

/// Not a flag of the kernel's: `in_task()`, which the code of NEXT_BUDDY_POSTED asks.
pub const IN_TASK: WakeFlags = WakeFlags::from_bits_retain(1 << 31);

/// `enum preempt_wakeup_action`, 7.2.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PreemptWakeupAction {
    /// `PREEMPT_WAKEUP_NONE`: do not preempt.
    None,
    /// `PREEMPT_WAKEUP_SHORT`: the slice is shorter, so pick without protection.
    Short,
    /// `PREEMPT_WAKEUP_PICK`: pick as a schedule would.
    Pick,
    /// `PREEMPT_WAKEUP_RESCHED`: preempt.
    Resched,
}

/// The run queue on which a task that joined is compared with the running one, and what is around it. With control
/// groups it is that of the entities of both that are on one (`find_matching_se()`), and they are compared.
pub(super) trait Compared<const GROUPS: bool> {
    /// The run queue.
    fn rq(&mut self) -> &mut EevdfRq<GROUPS>;

    /// The task that joined, for which `se` stands.
    fn wakee(&self, se: TaskId) -> TaskId;

    /// The running task, for which `se` stands.
    fn running(&self, se: TaskId) -> TaskId;

    /// `update_curr()` of the queue.
    fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched;

    /// `set_next_buddy()`.
    fn set_next_buddy(&mut self, es: &Entities, se: TaskId);

    /// `clear_buddies()`.
    fn clear_buddies(&mut self, es: &Entities, se: TaskId);

    /// The entity that should run on the queue. Delayed ones that are picked before it leave, and tasks among them are
    /// added to `reaped`.
    fn pick(&mut self, es: &mut Entities, now: u64, protect: bool, reaped: &mut Reaped) -> Option<TaskId>;

    /// Compares `task`, which was enqueued or woken, with the running `curr` (`wakeup_preempt_fair()`).
    /// `need_resched`: `TIF_NEED_RESCHED` is set already, so up to 7.2 nothing is compared.
    #[inline]
    fn compare(
        &mut self,
        es: &mut Entities,
        now: u64,
        (task, curr): (TaskId, TaskId),
        flags: WakeFlags,
        need_resched: bool,
    ) -> Preempted {
        let (form, params) = (self.rq().rules.wakeup_preempt, &self.rq().params);
        let (preempt_short, wakeup_preemption) = (params.preempt_short, params.wakeup_preemption);
        match form {
            WakeupPreempt::CancelThenLook => {
                self.check_preempt_wakeup_fair(es, now, (task, curr), flags, need_resched, |this, es| {
                    // The protection is lost even if `task` is then not the one that is picked.
                    let rq = this.rq();
                    if rq.do_preempt_short(es, task, curr) {
                        rq.cancel_protect_slice(es, curr);
                    }
                    rq.pick_eevdf(es) == Some(task)
                })
            }
            WakeupPreempt::CompareUnprotected => {
                self.check_preempt_wakeup_fair(es, now, (task, curr), flags, need_resched, |this, es| {
                    this.rq().is_picked_unprotected(es, task, curr)
                })
            }
            WakeupPreempt::Compare | WakeupPreempt::IdleThenCompare => {
                self.check_preempt_wakeup_fair_v6_6(es, now, task, curr, flags, need_resched).into()
            }
            WakeupPreempt::Pick | WakeupPreempt::PickAsPosted if need_resched => Preempted::default(),
            WakeupPreempt::PickOrEligible if need_resched && !preempt_short => Preempted::default(),
            _ if !wakeup_preemption => Preempted::default(),
            WakeupPreempt::Pick | WakeupPreempt::PickAsPosted => {
                self.wakeup_preempt_fair_v7_2(es, now, task, curr, flags)
            }
            WakeupPreempt::PickOrEligible => self.wakeup_preempt_fair_v7_3(es, now, task, curr, flags),
        }
    }

    /// Compares `task` with the running task as 6.12 and 6.18 do (`check_preempt_wakeup_fair()`). `is_picked` says
    /// whether it is the one to pick, with what that does to the protection.
    #[inline]
    fn check_preempt_wakeup_fair(
        &mut self,
        es: &mut Entities,
        now: u64,
        (task, curr): (TaskId, TaskId),
        flags: WakeFlags,
        need_resched: bool,
        is_picked: impl FnOnce(&mut Self, &mut Entities) -> bool,
    ) -> Preempted {
        if self.rq().params.next_buddy && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, self.wakee(task));
        }
        if need_resched || !self.rq().params.wakeup_preemption {
            return Preempted::default();
        }
        match (es[curr].is_idle(), es[task].is_idle()) {
            (true, false) => {
                self.rq().cancel_protect_slice(es, curr);
                return self.rq().resched_curr().into();
            }
            (false, true) => return Preempted::default(),
            _ => {}
        }
        if es[self.wakee(task)].policy != Policy::Normal {
            return Preempted::default();
        }
        let resched = self.update_curr(es, now);
        let request = self.rq().resched_curr();
        (resched | request.when(is_picked(self, es))).into()
    }

    /// Compares `task` with the running `curr` as 6.6 and 6.8 do (`check_preempt_wakeup_fair()`).
    #[inline]
    fn check_preempt_wakeup_fair_v6_6(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        curr: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Resched {
        if self.rq().params.next_buddy && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, self.wakee(task));
        }
        let tasks_first = self.rq().rules.wakeup_preempt == WakeupPreempt::IdleThenCompare;
        let (p, running) = if tasks_first { (self.wakee(task), self.running(curr)) } else { (task, curr) };
        let idle_goes = es[running].is_idle() && !es[p].is_idle();
        if need_resched || !(self.rq().params.wakeup_preemption || idle_goes && tasks_first) {
            return Resched::No;
        }
        if idle_goes {
            // The protection holds even against that: the pick that follows takes `curr` again while it lasts.
            return self.rq().resched_curr();
        }
        if GROUPS {
            // Groups may differ in that where the tasks do not, and the other way round.
            let batch = es[self.wakee(task)].policy != Policy::Normal;
            match (es[curr].is_idle(), es[task].is_idle()) {
                _ if tasks_first && batch => return Resched::No,
                (true, false) => return self.rq().resched_curr(),
                (false, true) => return Resched::No,
                _ if batch => return Resched::No,
                _ => {}
            }
        } else if es[task].policy != Policy::Normal {
            return Resched::No;
        }
        let resched = self.update_curr(es, now);
        let rq = self.rq();
        resched | rq.resched_curr().when(rq.pick_eevdf(es) == Some(task))
    }

    /// Compares `task` with the running `curr` as 7.2 does (`wakeup_preempt_fair()`), or as the posting did.
    #[inline]
    fn wakeup_preempt_fair_v7_2(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        curr: TaskId,
        flags: WakeFlags,
    ) -> Preempted {
        match (es[curr].is_idle(), es[task].is_idle()) {
            (true, false) => {
                self.rq().cancel_protect_slice(es, curr);
                if GROUPS {
                    // A task has no buddy's mark while it runs.
                    self.clear_buddies(es, curr);
                }
                return self.rq().resched_curr().into();
            }
            (false, true) => return Preempted::default(),
            _ if es[self.wakee(task)].policy != Policy::Normal => return Preempted::default(),
            _ => {}
        }
        let mut preempted = Preempted::from(self.update_curr(es, now));
        let short = self.rq().params.preempt_short && es[task].slice < es[curr].slice;
        if !short && (flags.contains(WakeFlags::FORK) || es[task].sched_delayed) {
            return preempted;
        }
        match self.preempt_wakeup_action(es, now, task, curr, flags, short) {
            PreemptWakeupAction::None => return preempted,
            PreemptWakeupAction::Resched => preempted.resched |= self.rq().resched_curr(),
            action => {
                let protect = action == PreemptWakeupAction::Pick;
                let picked = match self.rq().rules.wakeup_preempt {
                    WakeupPreempt::PickAsPosted => self.rq().__pick_eevdf(es, protect),
                    _ => self.pick(es, now, protect, &mut preempted.reaped),
                };
                if picked == Some(task) {
                    if action == PreemptWakeupAction::Short {
                        self.rq().cancel_protect_slice(es, curr);
                        self.clear_buddies(es, curr);
                    }
                    preempted.resched |= self.rq().resched_curr();
                } else if self.rq().params.run_to_parity {
                    self.rq().update_protect_slice(es, curr);
                }
            }
        }
        preempted
    }

    /// Compares `task` with the running `curr` as 7.3 does (`wakeup_preempt_fair()`).
    #[inline]
    fn wakeup_preempt_fair_v7_3(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        curr: TaskId,
        flags: WakeFlags,
    ) -> Preempted {
        let (curr_idle, task_idle) = (es[curr].is_idle(), es[task].is_idle());
        if curr_idle && !task_idle {
            self.rq().cancel_protect_slice(es, curr);
            return self.rq().resched_curr().into();
        }
        let mut preempted = Preempted::from(self.update_curr(es, now));
        let may_preempt = curr_idle == task_idle && es[task].policy == Policy::Normal && !es[task].sched_delayed;
        let short = self.rq().params.preempt_short && es[task].slice < es[curr].slice;
        let mut preempts = false;
        if may_preempt && (short || !flags.contains(WakeFlags::FORK)) {
            preempts = match self.preempt_wakeup_action(es, now, task, curr, flags, short) {
                PreemptWakeupAction::None => return preempted,
                PreemptWakeupAction::Resched => true,
                action => {
                    let protect = action == PreemptWakeupAction::Pick;
                    let picked = self.pick(es, now, protect, &mut preempted.reaped);
                    // If it is eligible but not the next to run, the protection would make it wait for long.
                    picked == Some(task) || (short && self.rq().entity_eligible(es, task))
                }
            };
        }
        let rq = self.rq();
        if preempts {
            rq.cancel_protect_slice(es, curr);
            if short {
                rq.set_short_buddy(es, task);
            }
            preempted.resched |= rq.resched_curr();
        } else if rq.params.run_to_parity {
            rq.update_protect_slice(es, curr);
        }
        preempted
    }

    /// The action that slices and buddies call for (`wakeup_preempt_fair()`, 7.2). With `NEXT_BUDDY`, makes `task` the
    /// next buddy. e837456fdca8, which brought the function for 6.19, also rescheduled a waker that was not eligible
    /// (until 15257cc2f905): `NEXT_BUDDY_POSTED`.
    #[inline]
    fn preempt_wakeup_action(
        &mut self,
        es: &Entities,
        now: u64,
        task: TaskId,
        curr: TaskId,
        flags: WakeFlags,
        short: bool,
    ) -> PreemptWakeupAction {
        if short {
            return PreemptWakeupAction::Short;
        }
        let rq = self.rq();
        if rq.params.resched_ineligible && flags.contains(IN_TASK) && !rq.entity_eligible(es, curr) {
            return PreemptWakeupAction::Resched;
        }
        if !rq.params.next_buddy || !rq.may_be_preempt_buddy(es, task) {
            return PreemptWakeupAction::Pick;
        }
        self.set_next_buddy(es, task);
        if !flags.contains(WakeFlags::SYNC) {
            return PreemptWakeupAction::Pick;
        }
        self.rq().preempt_sync(es, now, task, curr, flags)
    }
}

impl Compared<false> for EevdfRq {
    #[inline]
    fn rq(&mut self) -> &mut EevdfRq {
        self
    }

    #[inline]
    fn wakee(&self, se: TaskId) -> TaskId {
        se
    }

    #[inline]
    fn running(&self, se: TaskId) -> TaskId {
        se
    }

    #[inline]
    fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.update_curr(es, now)
    }

    #[inline]
    fn set_next_buddy(&mut self, es: &Entities, se: TaskId) {
        self.set_next_buddy(es, se);
    }

    #[inline]
    fn clear_buddies(&mut self, _: &Entities, se: TaskId) {
        self.clear_buddies(se);
    }

    #[inline]
    fn pick(&mut self, es: &mut Entities, now: u64, protect: bool, reaped: &mut Reaped) -> Option<TaskId> {
        self.pick_task_fair(es, now, protect, reaped)
    }
}

impl EevdfRq {
    /// Whether `task`, which was enqueued or woken, requests a reschedule (`wakeup_preempt()`; of an idle CPU,
    /// `wakeup_preempt_idle()`). `need_resched`: `TIF_NEED_RESCHED` is set already, so up to 7.2 nothing is compared.
    pub fn wakeup_preempt(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Preempted {
        let Some(curr) = self.curr else { return Resched::Now.into() };
        if curr == task {
            return Preempted::default();
        }
        self.compare(es, now, (task, curr), flags, need_resched)
    }
}

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// Whether `task` is picked if a shorter slice ignores the protection of `curr`, which then ends; if it is not, a
    /// shorter slice cuts the protection (`check_preempt_wakeup_fair()`, 6.18).
    fn is_picked_unprotected(&mut self, es: &mut Entities, task: TaskId, curr: TaskId) -> bool {
        let short = self.params.preempt_short && es[task].slice < es[curr].slice;
        let picked = self.__pick_eevdf(es, !short) == Some(task);
        if short && picked {
            self.cancel_protect_slice(es, curr);
        } else if short && self.params.run_to_parity {
            self.update_protect_slice(es, curr);
        }
        picked
    }

    /// Whether `task`, whose slice is shorter, ends the protection of `curr` (`do_preempt_short()`, 6.12).
    fn do_preempt_short(&self, es: &Entities, task: TaskId, curr: TaskId) -> bool {
        self.params.preempt_short
            && es[task].slice < es[curr].slice
            && self.entity_eligible(es, task)
            && (vtime_before(es[task].deadline, es[curr].deadline) || !self.entity_eligible(es, curr))
    }

    /// The action for a synchronous wake-up, whose waker is about to sleep (`preempt_sync()`, 7.2).
    fn preempt_sync(
        &self,
        es: &Entities,
        now: u64,
        task: TaskId,
        curr: TaskId,
        flags: WakeFlags,
    ) -> PreemptWakeupAction {
        let threshold = self.params.migration_cost_ns >> if flags.contains(WF_RQ_SELECTED) { 2 } else { 0 };
        // update_curr() has just charged the waker, so this is 0 unless the clock stood still.
        let ran = (now.wrapping_sub(es[curr].exec_start) as i64).max(0) as u64;
        if vtime_before(es[task].deadline, es[curr].deadline) && ran >= threshold {
            PreemptWakeupAction::Resched
        } else {
            PreemptWakeupAction::None
        }
    }
}
