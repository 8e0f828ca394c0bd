//! Who should run.

use super::EevdfRq;
use crate::runqueue::{Entities, TaskId, before};

impl EevdfRq {
    /// The eligible task with the earliest deadline (`pick_eevdf()`, 6.12), in O(log n). It may be a delayed one.
    /// Charges nothing. `None` if nothing is queued.
    pub fn pick_eevdf(&self, es: &Entities) -> Option<TaskId> {
        let curr = self.queued_curr(es);
        if self.nr_queued == 1 {
            return curr.or(self.waiting.first());
        }
        let sums = self.sums(es);
        let curr = curr.filter(|&curr| self.vruntime_eligible(sums, es[curr].vruntime));
        if self.params.run_to_parity && curr.is_some_and(|curr| self.protect_slice(es, curr)) {
            return curr;
        }
        let best = self.waiting.first_eligible(es, |vruntime| self.vruntime_eligible(sums, vruntime));
        match (curr, best) {
            (Some(curr), Some(best)) if !before(es[curr].deadline, es[best].deadline) => Some(best),
            (curr, best) => curr.or(best),
        }
    }

    /// Whether this, running, task's slice is protected (`protect_slice()`, 6.12): it has not been cancelled, and the
    /// request it was picked for is not served.
    #[inline]
    pub fn protect_slice(&self, es: &Entities, task: TaskId) -> bool {
        es[task].protected_deadline == es[task].deadline
    }

    /// `set_protect_slice()`, 6.12.
    pub(super) fn set_protect_slice(es: &mut Entities, task: TaskId) {
        es[task].protected_deadline = es[task].deadline;
    }

    /// `cancel_protect_slice()`, 6.12.
    pub(super) fn cancel_protect_slice(&self, es: &mut Entities, task: TaskId) {
        if self.protect_slice(es, task) {
            es[task].protected_deadline = es[task].deadline.wrapping_add(1);
        }
    }
}
