//! Who should run.

use super::CfsRq;
use crate::runqueue::tree::Timeline;
use crate::runqueue::weight::calc_delta_fair;
use crate::runqueue::{Entities, TaskId, before};
use std::cmp::Ordering;

impl CfsRq {
    /// The task with the least vruntime, unless a marker says otherwise and that is not too unfair
    /// (`pick_next_entity()`, 6.1). `curr` is the running task if it may go on. `None` if there is nobody.
    pub(super) fn pick_next_entity(&self, es: &Entities, curr: Option<TaskId>) -> Option<TaskId> {
        let earlier = |waiting: Option<TaskId>| match (curr, waiting) {
            (Some(curr), Some(task)) if before(es[curr].vruntime, es[task].vruntime) => Some(curr),
            _ => waiting.or(curr),
        };
        let left = earlier(self.waiting.first())?;
        let fair = |task: &TaskId| self.wakeup_preempt_entity(es, *task, left) != Ordering::Greater;

        if let Some(buddy) = self.next.filter(fair).or(self.last.filter(fair)) {
            return Some(buddy);
        }
        if self.skip != Some(left) {
            return Some(left);
        }
        let second = if curr == Some(left) {
            self.waiting.first()
        } else {
            earlier(Timeline::<crate::runqueue::tree::ByVruntime>::next(es, left))
        };
        second.filter(fair).or(Some(left))
    }

    /// How `task` would fare against `curr`: greater, it is behind by more than the wakeup granularity and may preempt;
    /// equal, it is behind by less; less, it is not behind (`wakeup_preempt_entity()`, 6.1: 1, 0, -1).
    ///
    /// The granularity is converted to virtual time at the weight of `task`, so that a light task finds it longer.
    pub fn wakeup_preempt_entity(&self, es: &Entities, curr: TaskId, task: TaskId) -> Ordering {
        let vdiff = es[curr].vruntime.wrapping_sub(es[task].vruntime) as i64;
        if vdiff <= 0 {
            Ordering::Less
        } else if vdiff > calc_delta_fair(self.params.wakeup_granularity_ns, es[task].load) as i64 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// Removes the markers on a task (`clear_buddies()`, 6.1).
    pub(super) fn clear_buddies(&mut self, task: TaskId) {
        for marker in [&mut self.next, &mut self.last, &mut self.skip] {
            if *marker == Some(task) {
                *marker = None;
            }
        }
    }
}
