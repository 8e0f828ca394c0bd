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

use super::{EevdfRq, WakeupPreempt};
use crate::runqueue::{Entities, Policy, Preempted, Resched, TaskId, vtime_before};
use crate::select::WakeFlags;

/// `WF_RQ_SELECTED`, 7.2: `select_task_rq_fair()` chose the CPU.
const WF_RQ_SELECTED: WakeFlags = WakeFlags::from_bits_retain(0x80);

/// Not a flag of the kernel's: `in_task()`, which the code of NEXT_BUDDY_POSTED asks.
pub const IN_TASK: WakeFlags = WakeFlags::from_bits_retain(1 << 31);

/// `enum preempt_wakeup_action`, 7.2.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PreemptWakeupAction {
    /// `PREEMPT_WAKEUP_NONE`: do not preempt.
    None,
    /// `PREEMPT_WAKEUP_SHORT`: the slice is shorter, so pick without protection.
    Short,
    /// `PREEMPT_WAKEUP_PICK`: pick as a schedule would.
    Pick,
    /// `PREEMPT_WAKEUP_RESCHED`: preempt.
    Resched,
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
        match self.rules.wakeup_preempt {
            WakeupPreempt::CancelThenLook => {
                self.check_preempt_wakeup_fair(es, now, task, flags, need_resched, |rq, es| {
                    // The protection is lost even if `task` is then not the one that is picked.
                    if rq.do_preempt_short(es, task, curr) {
                        rq.cancel_protect_slice(es, curr);
                    }
                    rq.pick_eevdf(es) == Some(task)
                })
            }
            WakeupPreempt::CompareUnprotected => {
                self.check_preempt_wakeup_fair(es, now, task, flags, need_resched, |rq, es| {
                    rq.is_picked_unprotected(es, task, curr)
                })
            }
            WakeupPreempt::Compare | WakeupPreempt::IdleThenCompare => {
                self.check_preempt_wakeup_fair_v6_6(es, now, task, curr, flags, need_resched).into()
            }
            WakeupPreempt::Pick | WakeupPreempt::PickAsPosted if need_resched => Preempted::default(),
            WakeupPreempt::PickOrEligible if need_resched && !self.params.preempt_short => Preempted::default(),
            _ if !self.params.wakeup_preemption => Preempted::default(),
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
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
        is_picked: impl FnOnce(&mut Self, &mut Entities) -> bool,
    ) -> Preempted {
        let Some(curr) = self.curr else { return Resched::Now.into() };
        if self.params.next_buddy && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, task);
        }
        if need_resched || !self.params.wakeup_preemption {
            return Preempted::default();
        }
        match (es[curr].is_idle(), es[task].is_idle()) {
            (true, false) => {
                self.cancel_protect_slice(es, curr);
                return self.resched_curr().into();
            }
            (false, true) => return Preempted::default(),
            _ => {}
        }
        if es[task].policy != Policy::Normal {
            return Preempted::default();
        }
        let resched = self.update_curr(es, now);
        (resched | self.resched_curr().when(is_picked(self, es))).into()
    }

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

    /// Compares `task` with the running `curr` as 6.6 and 6.8 do (`check_preempt_wakeup_fair()`).
    fn check_preempt_wakeup_fair_v6_6(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        curr: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Resched {
        if self.params.next_buddy && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, task);
        }
        let idle_goes = es[curr].is_idle() && !es[task].is_idle();
        let asks_first = self.rules.wakeup_preempt == WakeupPreempt::IdleThenCompare;
        if need_resched || !(self.params.wakeup_preemption || idle_goes && asks_first) {
            return Resched::No;
        }
        if idle_goes {
            // The protection holds even against that: the pick that follows takes `curr` again while it lasts.
            return self.resched_curr();
        }
        if es[task].policy != Policy::Normal {
            return Resched::No;
        }
        let resched = self.update_curr(es, now);
        resched | self.resched_curr().when(self.pick_eevdf(es) == Some(task))
    }

    /// Whether `task`, whose slice is shorter, ends the protection of `curr` (`do_preempt_short()`, 6.12).
    fn do_preempt_short(&self, es: &Entities, task: TaskId, curr: TaskId) -> bool {
        self.params.preempt_short
            && es[task].slice < es[curr].slice
            && self.entity_eligible(es, task)
            && (vtime_before(es[task].deadline, es[curr].deadline) || !self.entity_eligible(es, curr))
    }

    /// Compares `task` with the running `curr` as 7.2 does (`wakeup_preempt_fair()`), or as the posting did.
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
                self.cancel_protect_slice(es, curr);
                return self.resched_curr().into();
            }
            (false, true) => return Preempted::default(),
            _ if es[task].policy != Policy::Normal => return Preempted::default(),
            _ => {}
        }
        let mut preempted = Preempted::from(self.update_curr(es, now));
        let short = self.params.preempt_short && es[task].slice < es[curr].slice;
        if !short && (flags.contains(WakeFlags::FORK) || es[task].sched_delayed) {
            return preempted;
        }
        match self.preempt_wakeup_action(es, now, task, curr, flags, short) {
            PreemptWakeupAction::None => return preempted,
            PreemptWakeupAction::Resched => preempted.resched |= self.resched_curr(),
            action => {
                let protect = action == PreemptWakeupAction::Pick;
                let picked = match self.rules.wakeup_preempt {
                    WakeupPreempt::PickAsPosted => self.__pick_eevdf(es, protect),
                    _ => self.pick_task_fair(es, now, protect, &mut preempted.reaped),
                };
                if picked == Some(task) {
                    if action == PreemptWakeupAction::Short {
                        self.cancel_protect_slice(es, curr);
                        self.clear_buddies(curr);
                    }
                    preempted.resched |= self.resched_curr();
                } else if self.params.run_to_parity {
                    self.update_protect_slice(es, curr);
                }
            }
        }
        preempted
    }

    /// Compares `task` with the running `curr` as 7.3 does (`wakeup_preempt_fair()`).
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
            self.cancel_protect_slice(es, curr);
            return self.resched_curr().into();
        }
        let mut preempted = Preempted::from(self.update_curr(es, now));
        let may_preempt = curr_idle == task_idle && es[task].policy == Policy::Normal && !es[task].sched_delayed;
        let short = self.params.preempt_short && es[task].slice < es[curr].slice;
        let mut preempts = false;
        if may_preempt && (short || !flags.contains(WakeFlags::FORK)) {
            preempts = match self.preempt_wakeup_action(es, now, task, curr, flags, short) {
                PreemptWakeupAction::None => return preempted,
                PreemptWakeupAction::Resched => true,
                action => {
                    let protect = action == PreemptWakeupAction::Pick;
                    let picked = self.pick_task_fair(es, now, protect, &mut preempted.reaped);
                    // If it is eligible but not the next to run, the protection would make it wait for long.
                    picked == Some(task) || (short && self.entity_eligible(es, task))
                }
            };
        }
        if preempts {
            self.cancel_protect_slice(es, curr);
            if short {
                self.set_short_buddy(es, task);
            }
            preempted.resched |= self.resched_curr();
        } else if self.params.run_to_parity {
            self.update_protect_slice(es, curr);
        }
        preempted
    }

    /// The action that slices and buddies call for (`wakeup_preempt_fair()`, 7.2). With `NEXT_BUDDY`, makes `task` the
    /// next buddy. e837456fdca8, which brought the function for 6.19, also rescheduled a waker that was not eligible
    /// (until 15257cc2f905): `NEXT_BUDDY_POSTED`.
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
        if self.params.resched_ineligible && flags.contains(IN_TASK) && !self.entity_eligible(es, curr) {
            return PreemptWakeupAction::Resched;
        }
        if !self.params.next_buddy || !self.set_preempt_buddy(es, task) || !flags.contains(WakeFlags::SYNC) {
            return PreemptWakeupAction::Pick;
        }
        self.preempt_sync(es, now, task, curr, flags)
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
