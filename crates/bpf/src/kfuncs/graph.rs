//! Trees and lists of objects (`bpf_rb_root`, `bpf_list_head`).
//!
//! What is in a tree or list, the machine keeps outside of the program's memory, which has only the addresses of roots
//! and nodes. A tree is a sorted row: the order is the kernel's, in which an equal node comes after those before it;
//! how often `less` is called to find the place differs, as it does not depend on how the tree is balanced.

use crate::fault::Fault;
use crate::machine::{Kernel, Machine};
use crate::maps::errno::EINVAL;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The cost of a node in a tree or list, bytes.
pub(super) const NODE_COST: u64 = 128;

/// All trees and lists. A root without nodes is not kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// The nodes of each root, in order.
    roots: BTreeMap<u64, VecDeque<u64>>,
    /// The root of each node that is in a tree or list.
    owner: BTreeMap<u64, u64>,
    /// How often any tree or list has changed.
    changes: u64,
    /// The roots that still have nodes whose objects have gone.
    to_sweep: BTreeSet<u64>,
}

impl Graph {
    /// The first node of a root; 0 if there is none.
    pub(super) fn first(&self, root: u64) -> u64 {
        self.roots.get(&root).and_then(|nodes| nodes.front()).copied().unwrap_or_default()
    }

    /// The last node of a root; 0 if there is none.
    pub(super) fn last(&self, root: u64) -> u64 {
        self.roots.get(&root).and_then(|nodes| nodes.back()).copied().unwrap_or_default()
    }

    /// How many nodes a root has.
    pub(super) fn len(&self, root: u64) -> usize {
        self.roots.get(&root).map_or(0, VecDeque::len)
    }

    /// Takes a node away: it, or 0 if it is not in this tree.
    fn remove(&mut self, root: u64, node: u64) -> u64 {
        if self.owner.get(&node) != Some(&root) {
            return 0;
        }
        self.changes += 1;
        self.owner.remove(&node);
        if let Some(nodes) = self.roots.get_mut(&root)
            && let Some(at) = nodes.iter().position(|&other| other == node)
        {
            nodes.remove(at);
        }
        self.forget_empty(root);
        node
    }

    /// Takes the first or last node of a list away; 0 if there is none.
    fn pop(&mut self, root: u64, front: bool) -> u64 {
        let nodes = self.roots.get_mut(&root);
        let Some(node) = nodes.and_then(|nodes| if front { nodes.pop_front() } else { nodes.pop_back() }) else {
            return 0;
        };
        self.changes += 1;
        self.owner.remove(&node);
        self.forget_empty(root);
        node
    }

    fn forget_empty(&mut self, root: u64) {
        if self.len(root) == 0 {
            self.roots.remove(&root);
        }
    }

    /// Takes all nodes away of the roots in a range of memory.
    pub(super) fn drain_roots(&mut self, addr: u64, len: u64) -> Vec<u64> {
        let roots: Vec<u64> = self.roots.range(addr..addr.saturating_add(len)).map(|(&root, _)| root).collect();
        let mut drained = Vec::new();
        for root in roots {
            let nodes = self.roots.remove(&root).unwrap_or_default();
            // Those of objects that have gone are the tree's no more.
            drained.extend(nodes.into_iter().filter(|node| self.owner.get(node) == Some(&root)));
        }
        self.changes += drained.len() as u64;
        for node in &drained {
            self.owner.remove(node);
        }
        drained
    }

    /// An object goes: its nodes are in no tree and no list any more. How many were. [`sweep`](Self::sweep) takes them
    /// out, which need not be done for each object.
    pub(super) fn forget(&mut self, addr: u64, len: u64) -> u64 {
        let nodes: Vec<(u64, u64)> =
            self.owner.range(addr..addr.saturating_add(len)).map(|(&node, &root)| (node, root)).collect();
        for (node, root) in &nodes {
            self.owner.remove(node);
            self.to_sweep.insert(*root);
        }
        self.changes += nodes.len() as u64;
        nodes.len() as u64
    }

    /// Takes the nodes out whose objects have gone. Returns how many were looked at.
    pub(super) fn sweep(&mut self) -> u64 {
        let mut seen = 0;
        for root in std::mem::take(&mut self.to_sweep) {
            if let Some(nodes) = self.roots.get_mut(&root) {
                seen += nodes.len() as u64;
                nodes.retain(|node| self.owner.get(node) == Some(&root));
            }
            self.forget_empty(root);
        }
        seen
    }

    fn insert(&mut self, root: u64, at: usize, node: u64) {
        self.changes += 1;
        self.owner.insert(node, root);
        self.roots.entry(root).or_default().insert(at, node);
    }
}

impl Machine {
    /// `bpf_rbtree_add(root, node, less)`.
    pub(super) fn rbtree_add<K: Kernel>(&mut self, kernel: &mut K, a: [u64; 5]) -> Result<u64, Fault> {
        let [root, node, less, ..] = a;
        self.check_node("bpf_rbtree_add", root, node)?;
        if self.graph.owner.contains_key(&node) {
            return Ok(EINVAL as u64);
        }
        let (mut low, mut high) = (0, self.graph.len(root));
        self.work(high as u64 / 16)?;
        let changes = self.graph.changes;
        while low < high {
            let middle = (low + high) / 2;
            let other = self.graph.roots.get(&root).and_then(|nodes| nodes.get(middle)).copied().unwrap_or_default();
            // The kernel's callback returns a bool.
            if self.callback(kernel, less, [node, other, 0, 0, 0])? as u8 != 0 {
                high = middle;
            } else {
                low = middle + 1;
            }
            // The verifier: rbtree_remove, and what unlocks, is not allowed in such a callback.
            if self.graph.changes != changes {
                return Err(Fault::argument("bpf_rbtree_add", "a less() that does not change trees or lists"));
            }
        }
        // The callback may have released the object.
        self.check_node("bpf_rbtree_add", root, node)?;
        self.memory.charge(NODE_COST)?;
        self.graph.insert(root, low, node);
        Ok(0)
    }

    /// `bpf_rbtree_remove(root, node)`: the node, or 0 if it is not in this tree.
    pub(super) fn rbtree_remove(&mut self, root: u64, node: u64) -> Result<u64, Fault> {
        self.work(self.graph.len(root) as u64 / 4)?;
        let removed = self.graph.remove(root, node);
        self.discharge_node(removed);
        Ok(removed)
    }

    /// `bpf_list_push_front(head, node)`, `bpf_list_push_back()`.
    pub(super) fn list_push(&mut self, a: [u64; 5], front: bool) -> Result<u64, Fault> {
        let [root, node, ..] = a;
        self.check_node("bpf_list_push", root, node)?;
        if self.graph.owner.contains_key(&node) {
            return Ok(EINVAL as u64);
        }
        self.memory.charge(NODE_COST)?;
        let at = if front { 0 } else { self.graph.len(root) };
        self.graph.insert(root, at, node);
        Ok(0)
    }

    /// `bpf_list_pop_front(head)`, `bpf_list_pop_back()`: the node, or 0 if there is none.
    pub(super) fn list_pop(&mut self, root: u64, front: bool) -> u64 {
        let popped = self.graph.pop(root, front);
        self.discharge_node(popped);
        popped
    }

    fn discharge_node(&mut self, node: u64) {
        if node != 0 {
            self.memory.discharge(NODE_COST);
        }
    }

    fn check_node(&self, function: &str, root: u64, node: u64) -> Result<(), Fault> {
        self.memory.bytes(root, 16)?;
        self.memory.bytes(node, 24)?;
        // A node belongs to an object, which the tree has from now on.
        if !self.is_object(node & !0xffff_ffff) {
            return Err(Fault::argument(function, "a node of an object"));
        }
        Ok(())
    }
}
