//! Run time into virtual time.

use super::EevdfRq;
use crate::runqueue::weight::calc_delta_fair;
use crate::runqueue::{Entities, Resched, TaskId, before};

impl EevdfRq {
    /// Charges the running task up to `now` (`update_curr()`). It is to be rescheduled if its request is served, or if it
    /// has lost its protection (up to 6.12: and is not eligible any more), and it is not alone.
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        let Some(curr) = self.curr else { return Resched::No };
        let e = &mut es[curr];
        let Some(delta_exec) = e.account_exec(now) else { return Resched::No };
        e.vruntime = e.vruntime.wrapping_add(calc_delta_fair(delta_exec, e.h_load));
        let served = self.update_deadline(es, curr);
        if self.nr_queued == 1 || !(served || self.lost_protection(es, curr)) {
            return Resched::No;
        }
        self.clear_buddies(curr);
        self.resched_curr()
    }

    /// If the task's request is served, makes the next one and returns true (`update_deadline()`, 6.12).
    pub(super) fn update_deadline(&mut self, es: &mut Entities, task: TaskId) -> bool {
        let e = &mut es[task];
        if before(e.vruntime, e.deadline) {
            return false;
        }
        if !e.custom_slice {
            e.slice = self.params.base_slice_ns;
        }
        e.deadline = e.vruntime.wrapping_add(calc_delta_fair(e.slice, e.h_load));
        self.update_zero_vruntime(es);
        true
    }

    /// Whether the running task has lost its protection. 6.12 asks also that it has had more than its share
    /// (`did_preempt_short()`).
    fn lost_protection(&self, es: &Entities, curr: TaskId) -> bool {
        if self.protect_slice(es, curr) {
            return false;
        }
        self.rules.protects_by_vruntime() || self.params.preempt_short && !self.entity_eligible(es, curr)
    }
}
