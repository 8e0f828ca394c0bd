//! Run time into virtual time.

use super::EevdfRq;
use crate::runqueue::weight::calc_delta_fair;
use crate::runqueue::{Entities, TaskId, before};

impl EevdfRq {
    /// Charges the running task up to `now` (`update_curr()`, 6.12). True if it should be rescheduled: its request is
    /// served, or it has lost its protection and is not eligible any more, and it is not alone.
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) -> bool {
        let Some(curr) = self.curr else { return false };
        let e = &mut es[curr];
        let Some(delta_exec) = e.account_exec(now) else { return false };
        e.vruntime = e.vruntime.wrapping_add(calc_delta_fair(delta_exec, e.load));
        let served = self.update_deadline(es, curr);
        self.nr_queued != 1 && (served || self.did_preempt_short(es, curr))
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
        e.deadline = e.vruntime.wrapping_add(calc_delta_fair(e.slice, e.load));
        self.update_zero_vruntime(es);
        true
    }

    /// Whether the running task, its protection cancelled, has had more than its share (`did_preempt_short()`, 6.12).
    fn did_preempt_short(&self, es: &Entities, curr: TaskId) -> bool {
        self.params.preempt_short && !self.protect_slice(es, curr) && !self.entity_eligible(es, curr)
    }
}
