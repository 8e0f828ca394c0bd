//! The mark of the task to pick next.

use super::EevdfRq;
use crate::runqueue::{Entities, TaskId, before};

impl EevdfRq {
    /// Who is marked to be picked next (`cfs_rq->next`).
    pub fn next(&self) -> Option<TaskId> {
        self.next
    }

    /// The marked task, if it is to be picked: it is eligible (`pick_next_entity()`, 6.12; `pick_eevdf()`, 7.2).
    pub(super) fn pick_buddy(&self, es: &Entities) -> Option<TaskId> {
        self.next.filter(|&next| self.rules.pick_buddy && self.entity_eligible(es, next))
    }

    /// `set_next_buddy()`. A SCHED_IDLE task is not marked.
    pub(super) fn set_next_buddy(&mut self, es: &Entities, task: TaskId) {
        if es[task].on_rq && !es[task].sched_delayed && !es[task].is_idle() {
            self.next = Some(task);
        }
    }

    /// Marks a task unless the marked one has the earlier deadline (`set_preempt_buddy()`, 7.2).
    pub(super) fn set_preempt_buddy(&mut self, es: &Entities, task: TaskId) -> bool {
        if self.next.is_some_and(|next| before(es[next].deadline, es[task].deadline)) {
            return false;
        }
        self.set_next_buddy(es, task);
        true
    }

    /// Marks a task unless the marked one has the shorter slice (`set_short_buddy()`, 7.3).
    pub(super) fn set_short_buddy(&mut self, es: &Entities, task: TaskId) {
        if self.next.is_none_or(|next| es[next].slice >= es[task].slice) {
            self.set_next_buddy(es, task);
        }
    }

    /// `clear_buddies()`.
    #[inline]
    pub(super) fn clear_buddies(&mut self, task: TaskId) {
        if self.next == Some(task) {
            self.next = None;
        }
    }
}
