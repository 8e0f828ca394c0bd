//! Preemption by a pick, since 7.2.

use super::EevdfRq;
use crate::runqueue::{Entities, Policy, Preempted, TaskId, before};
use crate::select::WakeFlags;

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

impl EevdfRq {
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
