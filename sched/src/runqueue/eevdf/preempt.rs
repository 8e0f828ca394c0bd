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
}
