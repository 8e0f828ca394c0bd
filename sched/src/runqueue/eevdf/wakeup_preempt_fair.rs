//! Whether a task that joined preempts the one that runs.

use super::{EevdfRq, WakeupPreempt};
use crate::runqueue::{Entities, Policy, Preempted, Resched, TaskId, before};
use crate::select::WakeFlags;

impl EevdfRq {
    /// Whether `task`, which was enqueued or woken, asks for a reschedule (`check_preempt_wakeup_fair()`, 6.12;
    /// `wakeup_preempt_fair()`, 7.2; of an idle CPU, `wakeup_preempt_idle()`). `need_resched`: `TIF_NEED_RESCHED` is set
    /// already, so nothing is checked (up to 7.2).
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
        match self.rules.wakeup_preempt() {
            WakeupPreempt::CancelThenLook => self.cancel_then_look(es, now, task, curr, flags, need_resched).into(),
            WakeupPreempt::Pick if need_resched => Preempted::default(),
            WakeupPreempt::PickOrEligible if need_resched && !self.params.preempt_short => Preempted::default(),
            _ if !self.params.wakeup_preemption => Preempted::default(),
            WakeupPreempt::Pick => self.preempt_by_pick(es, now, task, curr, flags),
            WakeupPreempt::PickOrEligible => self.preempt_if_eligible(es, now, task, curr, flags),
        }
    }

    /// [`wakeup_preempt`](Self::wakeup_preempt) of no particular wake-up, where nobody can be reaped.
    ///
    /// # Panics
    /// If somebody was (since 7.2).
    #[must_use]
    pub fn check_preempt_wakeup(&mut self, es: &mut Entities, now: u64, task: TaskId, need_resched: bool) -> bool {
        let preempted = self.wakeup_preempt(es, now, task, WakeFlags::empty(), need_resched);
        assert!(preempted.reaped.is_empty(), "{:?} left the queue: ask wakeup_preempt()", preempted.reaped);
        preempted.resched.asked()
    }

    /// `check_preempt_wakeup_fair()`, 6.12.
    fn cancel_then_look(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        curr: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Resched {
        if self.rules.next_buddy && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, task);
        }
        if need_resched || !self.params.wakeup_preemption {
            return Resched::No;
        }
        match (es[curr].is_idle(), es[task].is_idle()) {
            (true, false) => {
                self.cancel_protect_slice(es, curr);
                return self.resched_curr();
            }
            (false, true) => return Resched::No,
            _ => {}
        }
        if es[task].policy != Policy::Normal {
            return Resched::No;
        }
        let resched = self.update_curr(es, now);
        // The protection is lost even if `task` then turns out not to be the first.
        if self.do_preempt_short(es, task, curr) {
            self.cancel_protect_slice(es, curr);
        }
        resched | self.resched_curr().when(self.pick_eevdf(es) == Some(task))
    }

    /// Whether `task`, with the shorter request, may end the protection of `curr` (`do_preempt_short()`, 6.12).
    fn do_preempt_short(&self, es: &Entities, task: TaskId, curr: TaskId) -> bool {
        self.params.preempt_short
            && es[task].slice < es[curr].slice
            && self.entity_eligible(es, task)
            && (before(es[task].deadline, es[curr].deadline) || !self.entity_eligible(es, curr))
    }

    /// `wakeup_preempt_fair()`, 7.2, from the comparison of the two on.
    pub(super) fn preempt_by_pick(
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
        match self.action(es, now, task, curr, flags, short) {
            Action::None => return preempted,
            Action::Resched => preempted.resched |= self.resched_curr(),
            action => {
                let first = self.pick_task(es, now, action == Action::Pick, &mut preempted.reaped);
                if first == Some(task) {
                    if action == Action::Short {
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

    /// `wakeup_preempt_fair()`, 7.3, from the comparison of the two on.
    pub(super) fn preempt_if_eligible(
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
        let may = curr_idle == task_idle && es[task].policy == Policy::Normal && !es[task].sched_delayed;
        let short = self.params.preempt_short && es[task].slice < es[curr].slice;
        let mut wins = false;
        if may && (short || !flags.contains(WakeFlags::FORK)) {
            wins = match self.action(es, now, task, curr, flags, short) {
                Action::None => return preempted,
                Action::Resched => true,
                action => {
                    let first = self.pick_task(es, now, action == Action::Pick, &mut preempted.reaped);
                    // Not the next to run but eligible: the protection would cost it a long wait.
                    first == Some(task) || (short && self.entity_eligible(es, task))
                }
            };
        }
        if wins {
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

    /// What to do, by slices and marks. With NEXT_BUDDY, `task` is marked.
    fn action(&mut self, es: &Entities, now: u64, task: TaskId, curr: TaskId, flags: WakeFlags, short: bool) -> Action {
        if short {
            return Action::Short;
        }
        if !self.rules.next_buddy || !self.set_preempt_buddy(es, task) || !flags.contains(WakeFlags::SYNC) {
            return Action::Pick;
        }
        // preempt_sync(): the waker said that it will sleep. It has just been charged, so that `ran` is 0 unless the
        // clock stood still.
        let stacked = flags.contains(WF_RQ_SELECTED);
        let threshold = self.rules.migration_cost_ns >> if stacked { 2 } else { 0 };
        let ran = (now.wrapping_sub(es[curr].exec_start) as i64).max(0) as u64;
        if before(es[task].deadline, es[curr].deadline) && ran >= threshold { Action::Resched } else { Action::None }
    }
}

/// `WF_RQ_SELECTED`, 7.2: placement was asked for a CPU.
const WF_RQ_SELECTED: WakeFlags = WakeFlags::from_bits_retain(0x80);

/// `enum preempt_wakeup_action`, 7.2.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    None,
    Short,
    Pick,
    Resched,
}
