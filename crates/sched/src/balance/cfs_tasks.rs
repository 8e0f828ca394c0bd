//! `rq->cfs_tasks`: the fair tasks of a run queue in the order in which load balancing takes them.

use crate::runqueue::TaskId;
use smallvec::SmallVec;

/// `rq->cfs_tasks`, read from its tail: the task that was enqueued or picked longest ago comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CfsTasks {
    tasks: SmallVec<[TaskId; 4]>,
}

impl CfsTasks {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task at the head (`account_entity_enqueue()`).
    #[inline]
    pub fn enqueue(&mut self, task: TaskId) {
        self.tasks.push(task);
    }

    /// Removes a task (`account_entity_dequeue()`).
    ///
    /// # Panics
    /// If the task is not in the list.
    #[inline]
    pub fn dequeue(&mut self, task: TaskId) {
        // Most often the task was enqueued or picked last, and remove() would call memmove() for those behind it.
        if self.tasks.last() == Some(&task) {
            self.tasks.pop();
        } else {
            let at = self.tasks.iter().rposition(|&other| other == task).expect("the task is on the run queue");
            self.tasks.remove(at);
        }
    }

    /// Moves a task to the head, so that it is taken last: when it is picked (`pick_next_task_fair()`,
    /// `set_next_task_fair()`), and when a pass has skipped it ([`Plan::skipped`](super::Plan::skipped)).
    ///
    /// # Panics
    /// If the task is not in the list.
    #[inline]
    pub fn move_to_head(&mut self, task: TaskId) {
        if self.tasks.last() != Some(&task) {
            self.dequeue(task);
            self.enqueue(task);
        }
    }

    /// Iterates from the tail to the head.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = TaskId> + '_ {
        self.tasks.iter().copied()
    }
}
