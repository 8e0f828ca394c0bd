//! `rq->cfs_tasks`.

use crate::runqueue::TaskId;
use smallvec::SmallVec;

/// The fair tasks of a run queue in the order in which balancing takes them: the one that was enqueued or picked longest
/// ago first. It is the kernel's list read from its tail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CfsTasks {
    tasks: SmallVec<[TaskId; 4]>,
}

impl CfsTasks {
    /// No tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// A task is enqueued (`account_entity_enqueue()`).
    #[inline]
    pub fn enqueue(&mut self, task: TaskId) {
        self.tasks.push(task);
    }

    /// A task is dequeued (`account_entity_dequeue()`).
    ///
    /// # Panics
    /// If it is not there.
    #[inline]
    pub fn dequeue(&mut self, task: TaskId) {
        let at = self.position(task);
        self.tasks.remove(at);
    }

    /// A task is given the CPU (`pick_next_task_fair()`, `set_next_task_fair()`), or balancing has left it
    /// ([`Plan::skipped`](super::Plan::skipped)): it becomes the last to be taken.
    ///
    /// # Panics
    /// If it is not there.
    #[inline]
    pub fn move_to_head(&mut self, task: TaskId) {
        if self.tasks.last() != Some(&task) {
            self.dequeue(task);
            self.enqueue(task);
        }
    }

    /// From the tail to the head.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = TaskId> + '_ {
        self.tasks.iter().copied()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    fn position(&self, task: TaskId) -> usize {
        // What was enqueued or picked last is most often what is looked for.
        self.tasks.iter().rposition(|&other| other == task).expect("the task is on the run queue")
    }
}
