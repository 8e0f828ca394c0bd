//! Trees and lists of objects (`bpf_rb_root`, `bpf_list_head`).
//!
//! What is in a tree or list, the machine keeps outside of the program's memory, which has only the addresses of roots
//! and nodes. A tree is a sorted row: the order is the kernel's, in which an equal node comes after those before it;
//! how often `less` is called to find the place differs, as it does not depend on how the tree is balanced.

use crate::fault::Fault;
use crate::machine::{Kernel, Machine};
use crate::maps::errno::EINVAL;
use std::collections::{BTreeMap, VecDeque};

/// All trees and lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// The nodes of each root, in order.
    roots: BTreeMap<u64, VecDeque<u64>>,
    /// The root of each node that is in a tree or list.
    owner: BTreeMap<u64, u64>,
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

    /// Takes a node away: it, or 0 if it is not in this tree.
    pub(super) fn remove(&mut self, root: u64, node: u64) -> u64 {
        if self.owner.get(&node) != Some(&root) {
            return 0;
        }
        self.owner.remove(&node);
        if let Some(nodes) = self.roots.get_mut(&root) {
            nodes.retain(|&other| other != node);
        }
        node
    }

    /// Takes the first or last node of a list away; 0 if there is none.
    pub(super) fn pop(&mut self, root: u64, front: bool) -> u64 {
        let nodes = self.roots.get_mut(&root);
        let node = nodes.and_then(|nodes| if front { nodes.pop_front() } else { nodes.pop_back() });
        node.inspect(|node| {
            self.owner.remove(node);
        })
        .unwrap_or_default()
    }

    /// Takes all nodes away of the roots in a range of memory.
    pub(super) fn drain_roots(&mut self, addr: u64, len: u64) -> Vec<u64> {
        let roots: Vec<u64> = self.roots.range(addr..addr + len).map(|(&root, _)| root).collect();
        let mut drained = Vec::new();
        for root in roots {
            drained.extend(self.roots.remove(&root).unwrap_or_default());
        }
        for node in &drained {
            self.owner.remove(node);
        }
        drained
    }

    fn insert(&mut self, root: u64, at: usize, node: u64) {
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
        let (mut low, mut high) = (0, self.graph.roots.get(&root).map_or(0, VecDeque::len));
        while low < high {
            let middle = (low + high) / 2;
            let other = self.graph.roots.get(&root).and_then(|nodes| nodes.get(middle)).copied().unwrap_or_default();
            // The kernel's callback returns a bool.
            if self.callback(kernel, less, [node, other, 0, 0, 0])? as u8 != 0 {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.graph.insert(root, low, node);
        Ok(0)
    }

    /// `bpf_list_push_front(head, node)`, `bpf_list_push_back()`.
    pub(super) fn list_push(&mut self, a: [u64; 5], front: bool) -> Result<u64, Fault> {
        let [root, node, ..] = a;
        self.check_node("bpf_list_push", root, node)?;
        if self.graph.owner.contains_key(&node) {
            return Ok(EINVAL as u64);
        }
        let at = if front { 0 } else { self.graph.roots.get(&root).map_or(0, VecDeque::len) };
        self.graph.insert(root, at, node);
        Ok(0)
    }

    fn check_node(&self, function: &str, root: u64, node: u64) -> Result<(), Fault> {
        self.memory.bytes(root, 16)?;
        self.memory.bytes(node, 24)?;
        // A node belongs to an object, which the tree has from now on.
        if self.memory.region_name(node).is_none() {
            return Err(Fault::argument(function, "a node of an object"));
        }
        Ok(())
    }
}
