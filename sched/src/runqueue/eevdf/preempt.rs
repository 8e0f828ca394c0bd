//! Whether a task that joined preempts the one that runs.

use super::EevdfRq;
use crate::runqueue::{Entities, Policy, TaskId, before};

impl EevdfRq {
    /// Whether `task`, which was enqueued or woken, asks for a reschedule (`check_preempt_wakeup_fair()`, 6.12; of an
    /// idle CPU, `wakeup_preempt_idle()`). `need_resched`: one was asked for already, so nothing is checked.
    #[must_use]
    pub fn check_preempt_wakeup(&mut self, es: &mut Entities, now: u64, task: TaskId, need_resched: bool) -> bool {
        let Some(curr) = self.curr else { return true };
        if curr == task || need_resched || !self.params.wakeup_preemption {
            return false;
        }
        match (es[curr].is_idle(), es[task].is_idle()) {
            (true, false) => {
                self.cancel_protect_slice(es, curr);
                return true;
            }
            (false, true) => return false,
            _ => {}
        }
        if es[task].policy != Policy::Normal {
            return false;
        }
        let resched = self.update_curr(es, now);
        // The protection is lost even if `task` then turns out not to be the first.
        if self.do_preempt_short(es, task, curr) {
            self.cancel_protect_slice(es, curr);
        }
        resched || self.pick_eevdf(es) == Some(task)
    }

    /// Whether `task`, with the shorter request, may end the protection of `curr` (`do_preempt_short()`, 6.12).
    fn do_preempt_short(&self, es: &Entities, task: TaskId, curr: TaskId) -> bool {
        self.params.preempt_short
            && es[task].slice < es[curr].slice
            && self.entity_eligible(es, task)
            && (before(es[task].deadline, es[curr].deadline) || !self.entity_eligible(es, curr))
    }
}
