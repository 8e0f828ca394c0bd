//! For how long the running task's slice is protected.

use super::EevdfRq;
use crate::runqueue::load_weight::calc_delta_fair;
use crate::runqueue::{Entities, TaskId, before};
use wakelab_kernel::SliceProtection;

impl EevdfRq {
    /// Whether this, running, task's slice is protected (`protect_slice()`). 6.12: the protection has not been cancelled,
    /// and the request that the task was picked for is not served. 7.2: the point up to which it goes is not reached.
    #[inline]
    pub fn protect_slice(&self, es: &Entities, task: TaskId) -> bool {
        let e = &es[task];
        if self.rules.protects_by_vruntime() {
            before(e.vruntime, e.protected_deadline)
        } else {
            e.protected_deadline == e.deadline
        }
    }

    /// Protects a task that has been taken out of the tree to run (`set_protect_slice()`).
    pub(super) fn set_protect_slice(&self, es: &mut Entities, task: TaskId) {
        es[task].protected_deadline = match self.rules.protection {
            SliceProtection::Absent | SliceProtection::ToDeadline => es[task].deadline,
            SliceProtection::MinSlice | SliceProtection::UntilIneligible => self.protected_until(es, task),
        };
    }

    /// The same since 7.2: to the deadline, or sooner if others ask for less.
    fn protected_until(&self, es: &Entities, task: TaskId) -> u64 {
        let e = &es[task];
        let quantum = if self.params.run_to_parity {
            self.waiting.slices(es).map_or(u64::MAX, |(min_slice, _)| min_slice)
        } else {
            self.rules.normalized_base_slice_ns
        };
        if quantum >= e.slice {
            return e.deadline;
        }
        let until = if self.rules.protection == SliceProtection::UntilIneligible && self.params.preempt_short {
            self.ineligible_vruntime()
        } else {
            e.vruntime.wrapping_add(calc_delta_fair(quantum, e.h_load))
        };
        min_vruntime(e.deadline, until)
    }

    /// The vruntime at which the running task stops being eligible: V of the others and 1, since they alone decide
    /// whether it is ahead of the average (`ineligible_vruntime()`, 7.3).
    fn ineligible_vruntime(&self) -> u64 {
        let delta = if self.load_sum == 0 { 0 } else { self.key_sum.div_euclid(self.load_sum) };
        self.zero_vruntime.wrapping_add(delta as u64).wrapping_add(1)
    }

    /// A task joined and does not preempt: from now, the running one keeps the CPU for the shortest slice at most
    /// (`update_protect_slice()`, 7.2). 7.3 counts from V if the task is ahead of it.
    pub(super) fn update_protect_slice(&mut self, es: &mut Entities, task: TaskId) {
        let mut from = es[task].vruntime;
        if self.rules.protection == SliceProtection::UntilIneligible {
            from = min_vruntime(from, self.update_zero_vruntime(es));
        }
        let quantum = self.slices(es).map_or(u64::MAX, |(min_slice, _)| min_slice);
        let e = &mut es[task];
        e.protected_deadline =
            min_vruntime(e.protected_deadline, from.wrapping_add(calc_delta_fair(quantum, e.h_load)));
    }

    /// `cancel_protect_slice()`.
    pub(super) fn cancel_protect_slice(&self, es: &mut Entities, task: TaskId) {
        if self.protect_slice(es, task) {
            let e = &mut es[task];
            e.protected_deadline =
                if self.rules.protects_by_vruntime() { e.vruntime } else { e.deadline.wrapping_add(1) };
        }
    }

    /// The least and the largest slice of the queued tasks, ns (`cfs_rq_min_slice()` and `cfs_rq_max_slice()`, 7.2; 6.12 has
    /// the former for cgroups only).
    pub(super) fn slices(&self, es: &Entities) -> Option<(u64, u64)> {
        let curr = self.queued_curr(es).map(|curr| es[curr].slice);
        match (self.waiting.slices(es), curr) {
            (Some((min, max)), Some(slice)) => Some((min.min(slice), max.max(slice))),
            (waiting, curr) => waiting.or(curr.map(|slice| (slice, slice))),
        }
    }
}

/// The earlier of two vruntimes (`min_vruntime()`, 7.2).
fn min_vruntime(a: u64, b: u64) -> u64 {
    if before(b, a) { b } else { a }
}
