//! `struct scx_dispatch_q`: tasks that wait for a CPU, in the order of their insertion or of their `dsq_vtime`.
//!
//! The kernel links tasks in a list, and those of a queue by `dsq_vtime` in a red-black tree, too. Here a task's place
//! is a [`Key`], and the queue is in the order of keys. An iterator's cursor is a key as well, so that it stays where
//! it is when tasks around it come and go.

use std::collections::VecDeque;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// A task's place in its queue: of a FIFO its position, of a queue by `dsq_vtime` that time from the queue's base on;
/// then what makes equal ones differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64, u64);

/// The middle of the positions: tasks join a FIFO from here on upwards, and at its head downwards.
const MIDDLE: u64 = 1 << 63;

/// How a queue was used first since it was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// `dsq->list` alone.
    Fifo,
    /// `dsq->priq`. Keys are the distance to the base, so that their order is that of `time_before64()`.
    Priq { base: u64 },
}

/// Why a task cannot join: `dispatch_enqueue()` ends the scheduler with these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixed {
    /// The queue has tasks in the order of their insertion, and this one should join by its `dsq_vtime`.
    Fifo,
    /// The queue has tasks by their `dsq_vtime`.
    Priq,
}

/// A dispatch queue.
#[derive(Clone, Debug)]
pub struct DispatchQ {
    order: Order,
    /// In the order of their places. A task joins near the end most of the time, and leaves near the beginning.
    tasks: VecDeque<(Key, TaskId)>,
    /// The position at the head of a FIFO, and the one after its tail.
    ends: (u64, u64),
    /// `dsq->seq`: how many tasks have joined so far.
    seq: u64,
    /// Until when its lock is taken, ns.
    pub lock_free: u64,
    /// The CPU that had the lock last, which has the queue's lines.
    pub lines_at: Option<Cpu>,
    /// The last task that was taken from it to run: the time, ns, the CPU that took it, and the task.
    pub taken: Option<(u64, Cpu, TaskId)>,
}

impl Default for DispatchQ {
    fn default() -> Self {
        DispatchQ {
            order: Order::Fifo,
            tasks: VecDeque::new(),
            ends: (MIDDLE, MIDDLE),
            seq: 0,
            lock_free: 0,
            lines_at: None,
            taken: None,
        }
    }
}

impl DispatchQ {
    /// `dsq->nr`: how many tasks wait.
    #[inline]
    pub fn nr(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// Whether no task waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// `dsq->seq`. A task that joins now has the next number, which iterators use to leave out those that have joined
    /// since they began.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// A task joins at the tail, or at the head. Returns its place.
    ///
    /// # Errors
    /// Fails if tasks are queued by their `dsq_vtime`.
    pub fn push(&mut self, task: TaskId, head: bool) -> Result<Key, Mixed> {
        if self.order != Order::Fifo && !self.is_empty() {
            return Err(Mixed::Priq);
        }
        self.order = Order::Fifo;
        self.seq += 1;
        if head {
            self.ends.0 -= 1;
            let key = Key(self.ends.0, 0);
            self.tasks.push_front((key, task));
            Ok(key)
        } else {
            let key = Key(self.ends.1, 0);
            self.ends.1 += 1;
            self.tasks.push_back((key, task));
            Ok(key)
        }
    }

    /// A task joins by its `dsq_vtime`, after those with the same one (`rb_add()`). Returns its place.
    ///
    /// # Errors
    /// Fails if tasks are queued in the order of their insertion.
    pub fn push_vtime(&mut self, task: TaskId, vtime: u64) -> Result<Key, Mixed> {
        let base = match self.order {
            Order::Fifo if !self.is_empty() => return Err(Mixed::Fifo),
            Order::Priq { base } if !self.is_empty() => base,
            _ => vtime.wrapping_sub(MIDDLE),
        };
        self.order = Order::Priq { base };
        self.seq += 1;
        let key = Key(vtime.wrapping_sub(base), self.seq);
        if self.tasks.back().is_none_or(|&(last, _)| last < key) {
            self.tasks.push_back((key, task));
        } else {
            let at = self.tasks.partition_point(|&(other, _)| other < key);
            self.tasks.insert(at, (key, task));
        }
        Ok(key)
    }

    /// A task leaves its place.
    pub fn remove(&mut self, key: Key) -> Option<TaskId> {
        if self.tasks.front().is_some_and(|&(first, _)| first == key) {
            return self.tasks.pop_front().map(|(_, task)| task);
        }
        let at = self.tasks.binary_search_by_key(&key, |&(other, _)| other).ok()?;
        self.tasks.remove(at).map(|(_, task)| task)
    }

    /// The first task (`scx_bpf_dsq_peek()`).
    pub fn first(&self) -> Option<TaskId> {
        self.next_after(None).map(|(_, task)| task)
    }

    /// The `dsq_vtime` by which a task joined, of its place; `None` in a queue in the order of insertion.
    pub fn vtime_of(&self, key: Key) -> Option<u64> {
        match self.order {
            Order::Fifo => None,
            Order::Priq { base } => Some(base.wrapping_add(key.0)),
        }
    }

    /// The first task after a place, or of all; with its place.
    pub fn next_after(&self, key: Option<Key>) -> Option<(Key, TaskId)> {
        let at = key.map_or(0, |key| self.tasks.partition_point(|&(other, _)| other <= key));
        self.tasks.get(at).copied()
    }

    /// The last task before a place, or of all (`SCX_DSQ_ITER_REV`).
    pub fn next_before(&self, key: Option<Key>) -> Option<(Key, TaskId)> {
        let end = key.map_or(self.tasks.len(), |key| self.tasks.partition_point(|&(other, _)| other < key));
        self.tasks.get(end.checked_sub(1)?).copied()
    }

    /// The tasks, in their order.
    pub fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        let mut last = None;
        std::iter::from_fn(move || {
            let (key, task) = self.next_after(last)?;
            last = Some(key);
            Some(task)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(dsq: &DispatchQ) -> Vec<u32> {
        dsq.iter().map(|task| task.0).collect()
    }

    #[test]
    fn tasks_leave_a_fifo_in_the_order_of_their_insertion_and_heads_come_first() {
        let mut dsq = DispatchQ::default();
        let middle = [1, 2, 3].map(|id| dsq.push(TaskId(id), false).unwrap())[1];
        dsq.push(TaskId(4), true).unwrap();
        dsq.push(TaskId(5), true).unwrap();
        assert_eq!(ids(&dsq), [5, 4, 1, 2, 3]);
        assert_eq!(dsq.remove(middle), Some(TaskId(2)));
        assert_eq!(dsq.remove(middle), None);
        assert_eq!(ids(&dsq), [5, 4, 1, 3]);
        assert_eq!((dsq.nr(), dsq.seq()), (4, 5));
    }

    #[test]
    fn vtimes_are_in_the_order_of_time_before64_also_where_they_wrap() {
        let mut dsq = DispatchQ::default();
        // scx_simple starts at vtime_now = 0, and gives tasks up to a slice less than that.
        for (id, vtime) in [(1, 0), (2, 20_000_000_u64.wrapping_neg()), (3, 5), (4, 0), (5, u64::MAX)] {
            dsq.push_vtime(TaskId(id), vtime).unwrap();
        }
        assert_eq!(ids(&dsq), [2, 5, 1, 4, 3]);
    }

    #[test]
    fn a_queue_has_one_order_at_a_time() {
        let mut dsq = DispatchQ::default();
        let key = dsq.push(TaskId(1), false).unwrap();
        assert_eq!(dsq.push_vtime(TaskId(2), 7), Err(Mixed::Fifo));
        dsq.remove(key);
        let key = dsq.push_vtime(TaskId(2), 7).unwrap();
        assert_eq!(dsq.push(TaskId(1), true), Err(Mixed::Priq));
        dsq.remove(key);
        dsq.push(TaskId(1), true).unwrap();
        assert_eq!(ids(&dsq), [1]);
    }

    #[test]
    fn cursors_stay_where_they_are_while_tasks_come_and_go() {
        let mut dsq = DispatchQ::default();
        let keys = [1, 2, 3].map(|id| dsq.push(TaskId(id), false).unwrap());
        let (at, _) = dsq.next_after(Some(keys[0])).unwrap();
        dsq.remove(at);
        dsq.push(TaskId(4), true).unwrap();
        assert_eq!(dsq.next_after(Some(at)).map(|(_, task)| task.0), Some(3));
        assert_eq!(dsq.next_before(Some(at)).map(|(_, task)| task.0), Some(1));
        assert_eq!(dsq.next_before(None).map(|(_, task)| task.0), Some(3));
        let mut dsq = DispatchQ::default();
        let keys = [30, 10, 20].map(|vtime| dsq.push_vtime(TaskId(vtime), vtime.into()).unwrap());
        assert_eq!(dsq.next_after(Some(keys[1])).map(|(_, task)| task.0), Some(20));
        assert_eq!(dsq.next_before(Some(keys[0])).map(|(_, task)| task.0), Some(20));
        assert_eq!(dsq.next_before(None).map(|(_, task)| task.0), Some(30));
    }
}
