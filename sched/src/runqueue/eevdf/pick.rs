//! Who should run.

use super::EevdfRq;
use crate::runqueue::{DequeueFlags, Entities, TaskId, before};
use smallvec::SmallVec;

/// Delayed tasks that were picked and left.
pub(super) type Reaped = SmallVec<[TaskId; 4]>;

impl EevdfRq {
    /// The eligible task with the earliest deadline (`pick_eevdf()`), in O(log n). It may be a delayed one.
    /// Charges nothing. `None` if nothing is queued.
    pub fn pick_eevdf(&self, es: &Entities) -> Option<TaskId> {
        self.pick(es, true)
    }

    /// The same; without `protect`, marks and the protection of the running task are ignored (7.2).
    pub(super) fn pick(&self, es: &Entities, protect: bool) -> Option<TaskId> {
        let curr = self.queued_curr(es);
        if self.nr_queued == 1 {
            return curr.or(self.waiting.first());
        }
        let by_vruntime = self.rules.protects_by_vruntime();
        if by_vruntime
            && protect
            && let Some(next) = self.pick_buddy(es)
        {
            return Some(next);
        }
        let sums = self.sums(es);
        let curr = curr.filter(|&curr| self.vruntime_eligible(sums, es[curr].vruntime));
        // 7.2 has the feature in how far the protection goes.
        let protect = protect && (by_vruntime || self.params.run_to_parity);
        if protect && curr.is_some_and(|curr| self.protect_slice(es, curr)) {
            return curr;
        }
        let best = self.waiting.first_eligible(es, |vruntime| self.vruntime_eligible(sums, vruntime));
        match (curr, best) {
            (Some(curr), Some(best)) if !before(es[curr].deadline, es[best].deadline) => Some(best),
            (curr, best) => curr.or(best),
        }
    }

    /// The task that should run, marks considered. Delayed tasks that are picked before leave the queue and join `reaped`
    /// (`pick_task_fair()` and `pick_next_entity()`).
    pub(super) fn pick_task(
        &mut self,
        es: &mut Entities,
        now: u64,
        protect: bool,
        reaped: &mut Reaped,
    ) -> Option<TaskId> {
        while self.nr_queued != 0 {
            // The flag this may ask for is about to be cleared, or it has been charged just now.
            if self.queued_curr(es).is_some() {
                let _ = self.update_curr(es, now);
            }
            let marked = if self.rules.protects_by_vruntime() { None } else { self.pick_buddy(es) };
            // Nobody is eligible only where a sum has left 64 bits: the kernel crashes then.
            let task = marked.or_else(|| self.pick(es, protect))?;
            if !es[task].sched_delayed {
                return Some(task);
            }
            let _ = self.dequeue_task(es, now, task, DequeueFlags::SLEEP | DequeueFlags::DELAYED);
            reaped.push(task);
        }
        None
    }
}
