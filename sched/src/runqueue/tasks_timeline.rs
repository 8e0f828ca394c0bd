//! The tree of the tasks that wait.
//!
//! An AVL tree whose links are in the entities themselves, as the kernel's red-black nodes are: enqueue, dequeue and
//! successor take O(log n), the first task is at hand, and nothing is allocated. Which balanced tree it is does not
//! show: tasks that compare equal keep the order of their insertion, as in the kernel (`rb_add_cached()`), so the order
//! of the tasks is the same.
//!
//! # Augmentation
//!
//! EEVDF wants the first task, by deadline, that is eligible, and a task is eligible if its vruntime is not after
//! V. Let m(x) be the least vruntime in the subtree at x. The subtree holds an eligible task if and only if m(x) is
//! eligible, since eligibility is monotonic in vruntime. That makes the search a single descent: go left while
//! m(left) is eligible, else stop at x if x is, else go right.
//!
//! m(x) = min(x.vruntime, m(left), m(right)) depends on the subtree only. An insertion, removal or rotation changes the
//! subtrees of nodes on one path to the root, so m is brought up to date together with the heights, on the way
//! up that rebalances, and the way ends where a node keeps both.
//!
//! The least and the largest slice of the subtree are kept in the same way. At the root they are those of all that wait
//! (`min_slice`, 6.12; `max_slice`, 7.2).

use super::{Entities, Entity, TaskId, before};
use std::marker::PhantomData;

/// A task's place in a tree.
#[derive(Clone, Debug)]
pub(super) struct Node {
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

/// What EEVDF wants to know of a subtree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Summary {
    min_vruntime: u64,
    min_slice: u32,
    max_slice: u32,
}

impl Summary {
    #[inline]
    fn of(e: &Entity) -> Self {
        // A task's own is clamped, and the base slice is an unsigned int.
        let slice = e.slice as u32;
        Summary { min_vruntime: e.vruntime, min_slice: slice, max_slice: slice }
    }

    /// Of two subtrees (`__min_vruntime_update()`, `__min_slice_update()`, `__max_slice_update()`, 7.2).
    #[inline]
    fn add(&mut self, other: &Summary) {
        if before(other.min_vruntime, self.min_vruntime) {
            self.min_vruntime = other.min_vruntime;
        }
        self.min_slice = self.min_slice.min(other.min_slice);
        self.max_slice = self.max_slice.max(other.max_slice);
    }
}

/// What a tree is ordered by.
pub(super) trait Order {
    /// Whether nodes carry a summary of their subtree.
    const AUGMENTED: bool;

    /// Whether `a` goes before `b`.
    fn before(a: &Entity, b: &Entity) -> bool;
}

/// EEVDF's order (`__entity_less()`, 6.12).
#[derive(Clone, Debug)]
pub(super) struct ByDeadline;

impl Order for ByDeadline {
    const AUGMENTED: bool = true;

    #[inline]
    fn before(a: &Entity, b: &Entity) -> bool {
        before(a.deadline, b.deadline)
    }
}

/// CFS's order (`__entity_less()`, 6.1).
#[derive(Clone, Debug)]
pub(super) struct ByVruntime;

impl Order for ByVruntime {
    const AUGMENTED: bool = false;

    #[inline]
    fn before(a: &Entity, b: &Entity) -> bool {
        before(a.vruntime, b.vruntime)
    }
}

/// The tasks that wait on a run queue, in order (`cfs_rq->tasks_timeline`).
#[derive(Clone, Debug)]
pub(super) struct Timeline<O> {
    root: Option<TaskId>,
    first: Option<TaskId>,
    order: PhantomData<O>,
}

impl<O: Order> Timeline<O> {
    pub(super) fn new() -> Self {
        Timeline { root: None, first: None, order: PhantomData }
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

    /// The least and the largest slice of those that wait, ns; `None` if nobody does (`cfs_rq_min_slice()` and
    /// `cfs_rq_max_slice()`, 7.2, without the running task).
    #[inline]
    pub(super) fn slices(&self, es: &Entities) -> Option<(u64, u64)> {
        const { assert!(O::AUGMENTED) };
        let summary = es[self.root?].node.summary;
        Some((summary.min_slice.into(), summary.max_slice.into()))
    }

    /// Inserts a task behind those it equals (`__enqueue_entity()`).
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
                let below = if heir == right {
                    heir
                } else {
                    let (heir_parent, heir_right) = (es[heir].node.parent, es[heir].node.right);
                    self.replace(es, heir_parent, heir, heir_right);
                    es[heir].node.right = Some(right);
                    es[right].node.parent = Some(heir);
                    heir_parent.unwrap_or(heir)
                };
                es[heir].node.left = Some(left);
                es[left].node.parent = Some(heir);
                // The stale height and summary are what the ways up compare with.
                es[heir].node.height = height;
                es[heir].node.summary = summary;
                self.replace(es, parent, task, Some(heir));
                // The way up from below may end before it reaches the heir, whose subtree has lost `task` also.
                self.rebalance(es, Some(below));
                self.rebalance(es, Some(heir));
            }
            (child, None) | (None, child) => {
                self.replace(es, parent, task, child);
                self.rebalance(es, parent);
            }
        }
    }

    /// Puts `new` in the place of `old` below `parent`.
    fn replace(&mut self, es: &mut Entities, parent: Option<TaskId>, old: TaskId, new: Option<TaskId>) {
        match parent {
            None => self.root = new,
            Some(parent) if es[parent].node.left == Some(old) => es[parent].node.left = new,
            Some(parent) => es[parent].node.right = new,
        }
        if let Some(new) = new {
            es[new].node.parent = parent;
        }
    }

    /// Brings heights and summaries up to date and rotates where the heights of two siblings differ by 2, from `at` up
    /// to the first subtree that is as it was.
    fn rebalance(&mut self, es: &mut Entities, mut at: Option<TaskId>) {
        while let Some(task) = at {
            let (left_height, right_height, summary) = Self::look(es, task);
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
        self.replace(es, es[task].node.parent, task, Some(top));
        es[top].node.left = Some(task);
        es[task].node.right = inner;
        Self::adopt(es, task, inner, top)
    }

    /// Lifts the left child of `task` into its place, and returns it.
    fn rotate_right(&mut self, es: &mut Entities, task: TaskId) -> TaskId {
        let top = es[task].node.left.expect("a rotation lifts a child");
        let inner = es[top].node.right;
        self.replace(es, es[task].node.parent, task, Some(top));
        es[top].node.right = Some(task);
        es[task].node.left = inner;
        Self::adopt(es, task, inner, top)
    }

    /// The part of a rotation that both directions share.
    fn adopt(es: &mut Entities, task: TaskId, inner: Option<TaskId>, top: TaskId) -> TaskId {
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
    fn look(es: &Entities, task: TaskId) -> (u8, u8, Summary) {
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

    /// Brings height and summary of a node up to date.
    #[inline]
    fn update(es: &mut Entities, task: TaskId) {
        let (left, right, summary) = Self::look(es, task);
        let node = &mut es[task].node;
        (node.height, node.summary) = (left.max(right) + 1, summary);
    }

    /// Checks every invariant, in O(n), and returns how many tasks wait.
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

/// Left height less right height.
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

/// Returns height and summary of a subtree, counted anew.
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
        let (height, below) = validate_subtree::<O>(es, child, Some(task), in_order)?;
        left = height;
        summary.add(&below);
    }
    in_order.push(task);
    if let Some(child) = node.right {
        let (height, below) = validate_subtree::<O>(es, child, Some(task), in_order)?;
        right = height;
        summary.add(&below);
    }
    if left.abs_diff(right) > 1 || node.height != left.max(right) + 1 {
        return Err(format!("{task:?} of height {} has children of heights {left} and {right}", node.height));
    }
    if O::AUGMENTED && node.summary != summary {
        return Err(format!("{task:?} says {:?}, its subtree {summary:?}", node.summary));
    }
    Ok((node.height, summary))
}
