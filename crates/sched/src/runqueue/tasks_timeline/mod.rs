//! `cfs_rq->tasks_timeline`: the waiting tasks in order (`__enqueue_entity()`, `__dequeue_entity()`).
//!
//! Most run queues have a task or two that wait. Up to [`FEW`] are kept in an array, sorted, with what they are sorted
//! by, so that the entities of the others are not read. More are in a [`Tree`], as in the kernel. The order is the same
//! in both: tasks that compare equal keep the order of their insertion.

mod tree;

use super::{Entities, Entity, TaskId, vtime_before};
pub(super) use tree::Node;
use tree::Tree;

/// The most tasks that are kept in an array. A queue that had more goes back to the array at half as many, so that one
/// whose length changes by one does not move its tasks each time.
const FEW: usize = 4;

/// The order of the tasks.
pub(super) trait Order {
    /// Whether the nodes of a tree carry what EEVDF searches for in their subtree.
    const AUGMENTED: bool;

    /// Returns the key by which tasks are ordered, a virtual time, ns.
    fn key(e: &Entity) -> u64;

    /// Whether `a` is before `b`.
    #[inline]
    fn before(a: &Entity, b: &Entity) -> bool {
        vtime_before(Self::key(a), Self::key(b))
    }
}

/// EEVDF's order (`__entity_less()`, 6.12).
#[derive(Clone, Debug)]
pub(super) struct ByDeadline;

impl Order for ByDeadline {
    const AUGMENTED: bool = true;

    #[inline]
    fn key(e: &Entity) -> u64 {
        e.deadline
    }
}

/// CFS's order (`__entity_less()`, 6.1).
#[derive(Clone, Debug)]
pub(super) struct ByVruntime;

impl Order for ByVruntime {
    const AUGMENTED: bool = false;

    #[inline]
    fn key(e: &Entity) -> u64 {
        e.vruntime
    }
}

/// The waiting tasks of a run queue, in order (`cfs_rq->tasks_timeline`).
#[derive(Clone, Debug)]
pub(super) struct Timeline<O> {
    /// The first `len` of each: the tasks in order, and their keys.
    tasks: [TaskId; FEW],
    keys: [u64; FEW],
    len: u8,
    /// All tasks, if it is not empty; the array is empty then.
    tree: Tree<O>,
    nr_in_tree: u32,
}

impl<O: Order> Timeline<O> {
    pub(super) fn new() -> Self {
        Timeline { tasks: [TaskId(0); FEW], keys: [0; FEW], len: 0, tree: Tree::new(), nr_in_tree: 0 }
    }

    /// The tasks in the array.
    #[inline]
    fn few(&self) -> &[TaskId] {
        &self.tasks[..usize::from(self.len)]
    }

    /// The first task (`__pick_first_entity()`).
    #[inline]
    pub(super) fn first(&self) -> Option<TaskId> {
        if self.len != 0 { Some(self.tasks[0]) } else { self.tree.first() }
    }

    /// The tasks in order.
    pub(super) fn iter<'a>(&'a self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        self.few().iter().copied().chain(self.tree.iter(es))
    }

    /// The task after `task`, which waits here (`__pick_next_entity()`).
    pub(super) fn next(&self, es: &Entities, task: TaskId) -> Option<TaskId> {
        if !self.tree.is_empty() {
            return Tree::<O>::next(es, task);
        }
        let at = self.few().iter().position(|&other| other == task)?;
        self.few().get(at + 1).copied()
    }

    /// The first task in order whose vruntime is `eligible`, which must be monotonic: what is before an eligible
    /// vruntime is eligible too (the heap search of `pick_eevdf()`, 6.12).
    #[inline]
    pub(super) fn first_eligible(&self, es: &Entities, eligible: impl Fn(u64) -> bool) -> Option<TaskId> {
        match self.few().iter().find(|&&task| eligible(es[task].vruntime)) {
            Some(&task) => Some(task),
            None => self.tree.first_eligible(es, eligible),
        }
    }

    /// The least and the largest slice of the waiting tasks, ns; `None` if none waits (`cfs_rq_min_slice()` and
    /// `cfs_rq_max_slice()`, 7.2, without the running task).
    #[inline]
    pub(super) fn min_max_slice(&self, es: &Entities) -> Option<(u64, u64)> {
        let slices = self.few().iter().map(|&task| es[task].slice);
        let widest = slices.fold(None, |widest, slice| {
            let (least, largest) = widest.unwrap_or((slice, slice));
            Some((least.min(slice), largest.max(slice)))
        });
        widest.or_else(|| self.tree.min_max_slice(es))
    }

    /// Inserts a task behind those that compare equal (`__enqueue_entity()`).
    #[inline]
    pub(super) fn insert(&mut self, es: &mut Entities, task: TaskId) {
        let len = usize::from(self.len);
        if len == FEW {
            self.plant(es);
        }
        if !self.tree.is_empty() {
            self.nr_in_tree += 1;
            return self.tree.insert(es, task);
        }
        let key = O::key(&es[task]);
        let mut at = len;
        while at > 0 && vtime_before(key, self.keys[at - 1]) {
            (self.keys[at], self.tasks[at]) = (self.keys[at - 1], self.tasks[at - 1]);
            at -= 1;
        }
        (self.keys[at], self.tasks[at]) = (key, task);
        self.len += 1;
    }

    /// Removes a task that waits here (`__dequeue_entity()`).
    ///
    /// # Panics
    /// If it does not wait here.
    #[inline]
    pub(super) fn remove(&mut self, es: &mut Entities, task: TaskId) {
        if !self.tree.is_empty() {
            return self.remove_from_tree(es, task);
        }
        let len = usize::from(self.len);
        let at = self.few().iter().position(|&other| other == task).expect("the task waits here");
        // There is most often none behind it, for which memmove() would be called twice.
        if at + 1 != len {
            self.tasks.copy_within(at + 1..len, at);
            self.keys.copy_within(at + 1..len, at);
        }
        self.len -= 1;
    }

    /// The slice of a task that waits here has changed (`min_vruntime_cb_propagate()`).
    pub(super) fn slice_changed(&self, es: &mut Entities, task: TaskId) {
        if !self.tree.is_empty() {
            self.tree.slice_changed(es, task);
        }
    }

    /// Moves the tasks of the array to the tree.
    #[cold]
    fn plant(&mut self, es: &mut Entities) {
        for at in 0..usize::from(self.len) {
            self.tree.insert(es, self.tasks[at]);
        }
        (self.nr_in_tree, self.len) = (self.len.into(), 0);
    }

    fn remove_from_tree(&mut self, es: &mut Entities, task: TaskId) {
        self.tree.remove(es, task);
        self.nr_in_tree -= 1;
        if self.nr_in_tree as usize == FEW / 2 {
            for (at, task) in self.tree.iter(es).enumerate() {
                (self.tasks[at], self.keys[at]) = (task, O::key(&es[task]));
            }
            (self.len, self.nr_in_tree, self.tree) = (FEW as u8 / 2, 0, Tree::new());
        }
    }

    /// Checks every invariant, in O(n), and returns the number of waiting tasks.
    pub(super) fn validate(&self, es: &Entities) -> Result<usize, String> {
        let in_tree = self.tree.validate(es)?;
        let in_array = usize::from(self.len);
        if in_tree != self.nr_in_tree as usize || (in_tree != 0 && in_array != 0) {
            return Err(format!("{in_tree} tasks in the tree, {} counted, {in_array} in the array", self.nr_in_tree));
        }
        for (&task, &key) in self.few().iter().zip(&self.keys) {
            if key != O::key(&es[task]) {
                return Err(format!("{task:?} was inserted with the key {key}, and has {}", O::key(&es[task])));
            }
        }
        if let Some(pair) = self.few().windows(2).find(|pair| O::before(&es[pair[1]], &es[pair[0]])) {
            return Err(format!("{:?} is out of order", pair[1]));
        }
        Ok(in_tree + in_array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runqueue::Policy;
    use proptest::prelude::*;

    /// Inserts and removes tasks with few different keys, so that many are equal, and compares with a plain list.
    fn compare<O: Order>(steps: &[(u64, u64, usize)], start: u64) -> Result<(), TestCaseError> {
        let (mut es, mut timeline, mut list) = (Entities::new(), Timeline::<O>::new(), Vec::new());
        for &(key, vruntime, at) in steps {
            if at < list.len() {
                let task = list.remove(at);
                timeline.remove(&mut es, task);
            } else {
                let mut entity = Entity::new(Policy::Normal, 0, 1_000_000 + key * 10_000);
                entity.deadline = start.wrapping_add(key);
                entity.vruntime = if O::AUGMENTED { start.wrapping_add(vruntime) } else { entity.deadline };
                let task = es.push(entity);
                timeline.insert(&mut es, task);
                let behind = list.iter().position(|&other| O::before(&es[task], &es[other]));
                list.insert(behind.unwrap_or(list.len()), task);
            }
            prop_assert_eq!(timeline.validate(&es), Ok(list.len()));
            prop_assert_eq!(timeline.first(), list.first().copied());
            prop_assert_eq!(timeline.iter(&es).collect::<Vec<_>>(), list.clone());
            for (at, &task) in list.iter().enumerate() {
                prop_assert_eq!(timeline.next(&es, task), list.get(at + 1).copied());
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_array_and_the_tree_keep_the_order_of_a_list(
            // Mostly more insertions than removals at first, so that the queue crosses the array's length both ways.
            steps in prop::collection::vec((0u64..6, 0u64..6, 0usize..9), 1..60),
            start in prop::sample::select(vec![0, 1 << 40, u64::MAX - 3]),
        ) {
            compare::<ByVruntime>(&steps, start)?;
            compare::<ByDeadline>(&steps, start)?;
        }

        #[test]
        fn the_first_eligible_task_and_the_slices_are_those_of_a_list(
            tasks in prop::collection::vec((0u64..6, 0u64..6), 1..12),
            limit in 0u64..6,
        ) {
            let (mut es, mut timeline, mut list) = (Entities::new(), Timeline::<ByDeadline>::new(), Vec::new());
            for (deadline, vruntime) in tasks {
                let mut entity = Entity::new(Policy::Normal, 0, 1_000_000 + deadline * 7 % 5 * 10_000);
                (entity.deadline, entity.vruntime) = (deadline, vruntime);
                let task = es.push(entity);
                timeline.insert(&mut es, task);
                let behind = list.iter().position(|&other| ByDeadline::before(&es[task], &es[other]));
                list.insert(behind.unwrap_or(list.len()), task);
            }
            let eligible = |vruntime| vruntime <= limit;
            let expected = list.iter().copied().find(|&task| eligible(es[task].vruntime));
            prop_assert_eq!(timeline.first_eligible(&es, eligible), expected);
            let slices = || list.iter().map(|&task| es[task].slice);
            prop_assert_eq!(timeline.min_max_slice(&es), slices().min().zip(slices().max()));
        }
    }
}
