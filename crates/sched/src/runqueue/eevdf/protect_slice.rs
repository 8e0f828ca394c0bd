//! `protect_slice()`: how long the running task keeps the CPU although another task is to be preferred
//! (`RUN_TO_PARITY`, `kernel/sched/fair.c`).
//!
//! ```text
//! set_protect_slice(), when a task is picked:
//!     6.12    vlag  = deadline                              protected while deadline does not change
//!     6.18    vprot = min(deadline, vruntime + min_slice)   protected while vruntime < vprot
//!     7.3     vprot = min(deadline, the vruntime at which the task is not eligible)
//!
//! update_protect_slice(), when a task joins and does not preempt:
//!     6.18    vprot = min(vprot, vruntime + min_slice)      only if the slice of what joined is shorter
//!     7.2     the same, whatever joined
//!     7.3     vprot = min(vprot, min(vruntime, V) + min_slice)
//! ```

use super::EevdfRq;
use crate::runqueue::{Entities, TaskId, vtime_before};
use wakelab_kernel::SliceProtection;

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// Whether the slice of this task, which runs, is protected (`protect_slice()`). 6.12: the protection has not been
    /// cancelled, and the request for which the task was picked is not served. 6.18: `vprot` is not reached.
    #[inline]
    pub fn protect_slice(&self, es: &Entities, task: TaskId) -> bool {
        let e = &es[task];
        if self.rules.protects_by_vruntime() { vtime_before(e.vruntime, e.vprot) } else { e.vprot == e.deadline }
    }

    /// Protects a task that has been taken out of the tree to run (`set_protect_slice()`).
    pub(super) fn set_protect_slice(&self, es: &mut Entities, task: TaskId) {
        es[task].vprot = match self.rules.slice_protection {
            SliceProtection::ToDeadline => es[task].deadline,
            SliceProtection::MinSlice | SliceProtection::UntilIneligible => self.vprot_of_picked(es, task),
        };
    }

    /// `vprot` of a task that was picked, since 6.18: its deadline, or earlier if others have shorter slices.
    fn vprot_of_picked(&self, es: &Entities, task: TaskId) -> u64 {
        let e = &es[task];
        let slice = if self.params.run_to_parity {
            self.tasks_timeline.min_max_slice(es).map_or(u64::MAX, |(min_slice, _)| min_slice)
        } else {
            self.params.normalized_base_slice_ns
        };
        if slice >= e.slice {
            return e.deadline;
        }
        let vprot = if self.rules.slice_protection == SliceProtection::UntilIneligible && self.params.preempt_short {
            self.ineligible_vruntime()
        } else {
            e.vruntime.wrapping_add(Self::calc_delta_fair(e, slice))
        };
        min_vruntime(e.deadline, vprot)
    }

    /// The vruntime at which the running task stops being eligible: V of the others, plus 1, because they alone decide
    /// whether its vruntime is after the average (`ineligible_vruntime()`, 7.3).
    fn ineligible_vruntime(&self) -> u64 {
        let key = if self.sum_weight == 0 { 0 } else { self.sum_w_vruntime.div_euclid(self.sum_weight) };
        self.zero_vruntime.wrapping_add(key as u64).wrapping_add(1)
    }

    /// After a task joined and did not preempt: from now on the running task keeps the CPU for at most the shortest
    /// slice (`update_protect_slice()`, 6.18). 7.3 counts from V if the task's vruntime is after it.
    pub(super) fn update_protect_slice(&mut self, es: &mut Entities, task: TaskId) {
        let mut from = es[task].vruntime;
        if self.rules.slice_protection == SliceProtection::UntilIneligible {
            from = min_vruntime(from, self.update_zero_vruntime(es));
        }
        let slice = self.min_max_slice(es).map_or(u64::MAX, |(min_slice, _)| min_slice);
        let e = &mut es[task];
        e.vprot = min_vruntime(e.vprot, from.wrapping_add(Self::calc_delta_fair(e, slice)));
    }

    /// Ends the protection of a task (`cancel_protect_slice()`).
    pub(super) fn cancel_protect_slice(&self, es: &mut Entities, task: TaskId) {
        if self.protect_slice(es, task) {
            let e = &mut es[task];
            e.vprot = if self.rules.protects_by_vruntime() { e.vruntime } else { e.deadline.wrapping_add(1) };
        }
    }

    /// The least and the largest slice of the queued tasks, ns; `None` if there are no tasks (`cfs_rq_min_slice()` and
    /// `cfs_rq_max_slice()`, 7.2; 6.12 has the former, for cgroups only).
    pub(super) fn min_max_slice(&self, es: &Entities) -> Option<(u64, u64)> {
        let curr = self.queued_curr(es).map(|curr| es[curr].slice);
        match (self.tasks_timeline.min_max_slice(es), curr) {
            (Some((min, max)), Some(slice)) => Some((min.min(slice), max.max(slice))),
            (waiting, curr) => waiting.or(curr.map(|slice| (slice, slice))),
        }
    }
}

/// The earlier of two vruntimes (`min_vruntime()`, 7.2).
fn min_vruntime(a: u64, b: u64) -> u64 {
    if vtime_before(b, a) { b } else { a }
}
