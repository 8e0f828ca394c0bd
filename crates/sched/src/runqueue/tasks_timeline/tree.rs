//! The tree of many waiting tasks.
//!
//! An AVL tree whose links are in the entities themselves, as the kernel's red-black nodes are: enqueue, dequeue and
//! successor take O(log n), the first task is cached, and nothing is allocated. The choice of the balanced tree does
//! not affect the result: tasks that compare equal keep the order of their insertion, as in the kernel
//! (`rb_add_cached()`), so the order of the tasks is the same.
//!
//! # Augmentation
//!
//! EEVDF searches the first task, by deadline, that is eligible, and a task is eligible if its vruntime is not after
//! V. Let m(x) be the least vruntime in the subtree at x. The subtree holds an eligible task if and only if m(x) is
//! eligible, because eligibility is monotonic in vruntime. So the search is a single descent (`pick_eevdf()`, 6.12):
//!
//! ```text
//! x = root
//! loop:
//!     if m(x.left) is eligible    x = x.left
//!     else if x is eligible       return x
//!     else                        x = x.right
//! ```
//!
//! m(x) = min(x.vruntime, m(left), m(right)) depends on the subtree only. An insertion, removal or rotation changes the
//! subtrees of the nodes on one path to the root. So m is updated together with the heights while that path is
//! rebalanced, from the bottom up to the first node whose height and m do not change.
//!
//! The least and the largest slice of the subtree are maintained in the same way. At the root they are those of all
//! waiting tasks (`min_slice`, 6.12; `max_slice`, 7.2).

use super::Order;
use crate::runqueue::{Entities, Entity, TaskId, vtime_before};
use std::marker::PhantomData;

/// A task's place in a tree.
#[derive(Clone, Debug)]
pub(in crate::runqueue) struct Node {
    parent: Option<TaskId>,
    left: Option<TaskId>,
    right: Option<TaskId>,
    height: u8,
    summary: Summary,
}

impl Default for Node {
    fn default() -> Self {
        Node { parent: None, left: None, right: None, height: 1, summary: Summary::default() }
    }
}

/// The augmented data of a subtree, for EEVDF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Summary {
    min_vruntime: u64,
    min_slice: u32,
    max_slice: u32,
}

impl Summary {
    #[inline]
    fn of(e: &Entity) -> Self {
        // A custom slice is clamped to 100 ms, and the base slice is an unsigned int.
        let slice = e.slice as u32;
        Summary { min_vruntime: e.vruntime, min_slice: slice, max_slice: slice }
    }

    /// Merges the data of another subtree (`__min_vruntime_update()`, `__min_slice_update()`, `__max_slice_update()`,
    /// 7.2).
    #[inline]
    fn add(&mut self, other: &Summary) {
        if vtime_before(other.min_vruntime, self.min_vruntime) {
            self.min_vruntime = other.min_vruntime;
        }
        self.min_slice = self.min_slice.min(other.min_slice);
        self.max_slice = self.max_slice.max(other.max_slice);
    }
}

/// Waiting tasks in order.
#[derive(Clone, Debug)]
pub(super) struct Tree<O> {
    root: Option<TaskId>,
    first: Option<TaskId>,
    order: PhantomData<O>,
}

impl<O: Order> Tree<O> {
    pub(super) fn new() -> Self {
        Tree { root: None, first: None, order: PhantomData }
    }

    /// Whether there is no task.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// The first task (`__pick_first_entity()`).
    #[inline]
    pub(super) fn first(&self) -> Option<TaskId> {
        self.first
    }

    /// The tasks in order.
    pub(super) fn iter<'a>(&self, es: &'a Entities) -> impl Iterator<Item = TaskId> + 'a {
        std::iter::successors(self.first, |&task| Self::next(es, task))
    }

    /// The task after `task` (`__pick_next_entity()`).
    pub(super) fn next(es: &Entities, task: TaskId) -> Option<TaskId> {
        if let Some(right) = es[task].node.right {
            return Some(leftmost(es, right));
        }
        let mut child = task;
        while let Some(parent) = es[child].node.parent {
            if es[parent].node.left == Some(child) {
                return Some(parent);
            }
            child = parent;
        }
        None
    }

    /// The first task in order whose vruntime is `eligible`, which must be monotonic: what is before an eligible
    /// vruntime is eligible too (the heap search of `pick_eevdf()`, 6.12).
    #[inline]
    pub(super) fn first_eligible(&self, es: &Entities, eligible: impl Fn(u64) -> bool) -> Option<TaskId> {
        const { assert!(O::AUGMENTED) };
        let first = self.first?;
        if eligible(es[first].vruntime) {
            return Some(first);
        }
        let mut at = self.root;
        while let Some(task) = at {
            let e = &es[task];
            at = match e.node.left {
                Some(left) if eligible(es[left].node.summary.min_vruntime) => Some(left),
                _ if eligible(e.vruntime) => return Some(task),
                _ => e.node.right,
            };
        }
        None
    }

    /// The least and the largest slice of the waiting tasks, ns; `None` if none waits (`cfs_rq_min_slice()` and
    /// `cfs_rq_max_slice()`, 7.2, without the running task).
    #[inline]
    pub(super) fn min_max_slice(&self, es: &Entities) -> Option<(u64, u64)> {
        const { assert!(O::AUGMENTED) };
        let summary = es[self.root?].node.summary;
        Some((summary.min_slice.into(), summary.max_slice.into()))
    }

    /// Inserts a task behind those that compare equal (`__enqueue_entity()`).
    pub(super) fn insert(&mut self, es: &mut Entities, task: TaskId) {
        let (mut parent, mut at) = (None, self.root);
        let (mut is_left, mut is_first) = (false, true);
        while let Some(here) = at {
            is_left = O::before(&es[task], &es[here]);
            is_first &= is_left;
            parent = at;
            at = if is_left { es[here].node.left } else { es[here].node.right };
        }
        if is_first {
            self.first = Some(task);
        }
        let e = &mut es[task];
        let summary = if O::AUGMENTED { Summary::of(e) } else { Summary::default() };
        e.node = Node { parent, summary, ..Node::default() };
        match parent {
            None => self.root = Some(task),
            Some(parent) if is_left => es[parent].node.left = Some(task),
            Some(parent) => es[parent].node.right = Some(task),
        }
        self.rebalance(es, parent);
    }

    /// Removes a task that waits here (`__dequeue_entity()`).
    pub(super) fn remove(&mut self, es: &mut Entities, task: TaskId) {
        if self.first == Some(task) {
            self.first = Self::next(es, task);
        }
        let Node { parent, left, right, height, summary } = es[task].node.clone();
        match (left, right) {
            (Some(left), Some(right)) => {
                // The successor takes this node's place. It has no left child.
                let heir = leftmost(es, right);
                let lowest = if heir == right {
                    heir
                } else {
                    let (heir_parent, heir_right) = (es[heir].node.parent, es[heir].node.right);
                    self.change_child(es, heir_parent, heir, heir_right);
                    es[heir].node.right = Some(right);
                    es[right].node.parent = Some(heir);
                    heir_parent.unwrap_or(heir)
                };
                es[heir].node.left = Some(left);
                es[left].node.parent = Some(heir);
                // rebalance() compares with the stale height and summary.
                es[heir].node.height = height;
                es[heir].node.summary = summary;
                self.change_child(es, parent, task, Some(heir));
                // The first rebalance() may end below the heir, whose subtree has lost `task` too.
                self.rebalance(es, Some(lowest));
                self.rebalance(es, Some(heir));
            }
            (child, None) | (None, child) => {
                self.change_child(es, parent, task, child);
                self.rebalance(es, parent);
            }
        }
    }

    /// The slice of a task that waits here has changed: brings the summaries above up to date.
    pub(super) fn slice_changed(&self, es: &mut Entities, task: TaskId) {
        let mut at = Some(task);
        while let Some(task) = at {
            let before = es[task].node.summary;
            Self::update(es, task);
            if es[task].node.summary == before {
                return;
            }
            at = es[task].node.parent;
        }
    }

    /// Replaces the child `old` of `parent` by `new` (`__rb_change_child()`).
    fn change_child(&mut self, es: &mut Entities, parent: Option<TaskId>, old: TaskId, new: Option<TaskId>) {
        match parent {
            None => self.root = new,
            Some(parent) if es[parent].node.left == Some(old) => es[parent].node.left = new,
            Some(parent) => es[parent].node.right = new,
        }
        if let Some(new) = new {
            es[new].node.parent = parent;
        }
    }

    /// Updates heights and summaries, and rotates if the heights of two siblings differ by 2, from `at` up to the first
    /// subtree that does not change.
    fn rebalance(&mut self, es: &mut Entities, mut at: Option<TaskId>) {
        while let Some(task) = at {
            let (left_height, right_height, summary) = Self::heights_and_summary(es, task);
            let node = &mut es[task].node;
            let was = (node.height, node.summary);
            let top = match i32::from(left_height) - i32::from(right_height) {
                -1..=1 => {
                    let is = (left_height.max(right_height) + 1, summary);
                    if is == was {
                        return;
                    }
                    (node.height, node.summary) = is;
                    at = node.parent;
                    continue;
                }
                2.. => {
                    let left = node.left.expect("the higher side is not empty");
                    if balance(es, left) < 0 {
                        self.rotate_left(es, left);
                    }
                    self.rotate_right(es, task)
                }
                ..=-2 => {
                    let right = node.right.expect("the higher side is not empty");
                    if balance(es, right) > 0 {
                        self.rotate_right(es, right);
                    }
                    self.rotate_left(es, task)
                }
            };
            if (es[top].node.height, es[top].node.summary) == was {
                return;
            }
            at = es[top].node.parent;
        }
    }

    /// Lifts the right child of `task` into its place, and returns it.
    fn rotate_left(&mut self, es: &mut Entities, task: TaskId) -> TaskId {
        let top = es[task].node.right.expect("a rotation lifts a child");
        let inner = es[top].node.left;
        self.change_child(es, es[task].node.parent, task, Some(top));
        es[top].node.left = Some(task);
        es[task].node.right = inner;
        Self::finish_rotation(es, task, inner, top)
    }

    /// Lifts the left child of `task` into its place, and returns it.
    fn rotate_right(&mut self, es: &mut Entities, task: TaskId) -> TaskId {
        let top = es[task].node.left.expect("a rotation lifts a child");
        let inner = es[top].node.right;
        self.change_child(es, es[task].node.parent, task, Some(top));
        es[top].node.right = Some(task);
        es[task].node.left = inner;
        Self::finish_rotation(es, task, inner, top)
    }

    /// Completes a rotation: `inner` becomes a child of `task`, and `task` one of `top`. Returns `top`.
    fn finish_rotation(es: &mut Entities, task: TaskId, inner: Option<TaskId>, top: TaskId) -> TaskId {
        if let Some(inner) = inner {
            es[inner].node.parent = Some(task);
        }
        es[task].node.parent = Some(top);
        Self::update(es, task);
        Self::update(es, top);
        top
    }

    /// The heights of a node's two sides, and its summary from those of its children (`min_vruntime_update()`, 7.2).
    #[inline]
    fn heights_and_summary(es: &Entities, task: TaskId) -> (u8, u8, Summary) {
        let e = &es[task];
        let mut summary = if O::AUGMENTED { Summary::of(e) } else { Summary::default() };
        let mut height = |child: Option<TaskId>| {
            let Some(child) = child else { return 0 };
            let child = &es[child].node;
            if O::AUGMENTED {
                summary.add(&child.summary);
            }
            child.height
        };
        (height(e.node.left), height(e.node.right), summary)
    }

    /// Updates the height and summary of a node.
    #[inline]
    fn update(es: &mut Entities, task: TaskId) {
        let (left, right, summary) = Self::heights_and_summary(es, task);
        let node = &mut es[task].node;
        (node.height, node.summary) = (left.max(right) + 1, summary);
    }

    /// Checks every invariant, in O(n), and returns the number of waiting tasks.
    pub(super) fn validate(&self, es: &Entities) -> Result<usize, String> {
        let mut in_order = Vec::new();
        if let Some(root) = self.root {
            validate_subtree::<O>(es, root, None, &mut in_order)?;
        }
        if self.first != in_order.first().copied() {
            return Err(format!("first is {:?}, leftmost is {:?}", self.first, in_order.first()));
        }
        if let Some(pair) = in_order.windows(2).find(|pair| O::before(&es[pair[1]], &es[pair[0]])) {
            return Err(format!("{:?} is out of order", pair[1]));
        }
        if !self.iter(es).eq(in_order.iter().copied()) {
            return Err("successors are not the tree's order".into());
        }
        Ok(in_order.len())
    }
}

/// The height of the left side minus that of the right side.
#[inline]
fn balance(es: &Entities, task: TaskId) -> i32 {
    let height = |child: Option<TaskId>| child.map_or(0, |child| i32::from(es[child].node.height));
    height(es[task].node.left) - height(es[task].node.right)
}

fn leftmost(es: &Entities, mut task: TaskId) -> TaskId {
    while let Some(left) = es[task].node.left {
        task = left;
    }
    task
}

/// Recomputes the height and summary of a subtree, and returns them.
fn validate_subtree<O: Order>(
    es: &Entities,
    task: TaskId,
    parent: Option<TaskId>,
    in_order: &mut Vec<TaskId>,
) -> Result<(u8, Summary), String> {
    let node = &es[task].node;
    if node.parent != parent {
        return Err(format!("{task:?} has parent {:?}, not {parent:?}", node.parent));
    }
    let (mut left, mut right, mut summary) = (0, 0, Summary::of(&es[task]));
    if let Some(child) = node.left {
        let (height, subtree) = validate_subtree::<O>(es, child, Some(task), in_order)?;
        left = height;
        summary.add(&subtree);
    }
    in_order.push(task);
    if let Some(child) = node.right {
        let (height, subtree) = validate_subtree::<O>(es, child, Some(task), in_order)?;
        right = height;
        summary.add(&subtree);
    }
    if left.abs_diff(right) > 1 || node.height != left.max(right) + 1 {
        return Err(format!("{task:?} of height {} has children of heights {left} and {right}", node.height));
    }
    if O::AUGMENTED && node.summary != summary {
        return Err(format!("{task:?} has {:?}, its subtree {summary:?}", node.summary));
    }
    Ok((node.height, summary))
}
