//! `build_sched_groups()` and `build_overlap_sched_groups()` (`kernel/sched/topology.c`): the groups of a domain.
//!
//! A domain's groups are the spans of its CPUs' child domains, linked as a ring. Below NUMA they are disjoint, and all
//! CPUs of the domain share one ring. NUMA domains of one level can overlap, so each CPU has a ring of its own.

use super::GroupFlags;
use super::SdFlags;
use super::build_sched_domains::{Sd, SpanId, Spans};
use super::options::DomainOptions;
use crate::cpumask::{Cpu, CpuMask};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A group while domains are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Group {
    pub(super) span: SpanId,
    pub(super) balance_mask: SpanId,
    pub(super) flags: SdFlags,
}

/// A domain's groups while domains are built.
#[derive(Clone, Debug)]
pub(super) enum Groups {
    /// They are not built yet.
    None,
    /// The ring that all CPUs of the span share.
    Shared {
        /// Index in [`Rings::rings`].
        ring: usize,
        /// Index of this CPU's own group in the ring.
        first: usize,
    },
    /// A ring of an overlapping domain's own, which starts with this CPU's group.
    Own(Vec<Group>),
}

/// The rings that CPUs share.
#[derive(Default)]
pub(super) struct Rings {
    /// Each ring starts with the group of its lowest CPU.
    pub(super) rings: Vec<Vec<Group>>,
    /// By span of a domain: the levels that have a ring for it, and the rings.
    by_span: Vec<SmallVec<[(usize, usize); 1]>>,
    /// By ring: the spans of its groups in ascending order, and the index of each.
    index_of: Vec<Vec<(SpanId, usize)>>,
}

impl Rings {
    /// Returns the number of groups of a domain.
    pub(super) fn count(&self, groups: &Groups) -> usize {
        match groups {
            Groups::None => 0,
            Groups::Shared { ring, .. } => self.rings[*ring].len(),
            Groups::Own(groups) => groups.len(),
        }
    }

    /// Returns the ring of the domains with this span at a level.
    fn ring_of(&self, tl: usize, span: SpanId) -> Option<usize> {
        let of_span = self.by_span.get(span as usize)?;
        of_span.iter().find(|(level, _)| *level == tl).map(|&(_, ring)| ring)
    }

    /// Adds the ring of the domains with this span at a level, and returns its number.
    fn add(&mut self, tl: usize, span: SpanId, groups: Vec<Group>) -> usize {
        let ring = self.rings.len();
        let mut index_of: Vec<(SpanId, usize)> = groups.iter().map(|group| group.span).zip(0..).collect();
        index_of.sort_unstable();
        self.index_of.push(index_of);
        self.rings.push(groups);
        if self.by_span.len() <= span as usize {
            self.by_span.resize(span as usize + 1, SmallVec::new());
        }
        self.by_span[span as usize].push((tl, ring));
        ring
    }

    /// Returns the index of the group with this span in a ring, which has it.
    fn index_of(&self, ring: usize, span: SpanId) -> usize {
        let index_of = &self.index_of[ring];
        let at = index_of.binary_search_by_key(&span, |&(span, _)| span).expect("the ring has the CPU's group");
        index_of[at].1
    }

    /// `sd->groups`: the first group from this CPU's point of view.
    pub(super) fn first_mut<'a>(&'a mut self, groups: &'a mut Groups) -> Option<&'a mut Group> {
        match groups {
            Groups::None => None,
            Groups::Shared { ring, first } => self.rings[*ring].get_mut(*first),
            Groups::Own(groups) => groups.first_mut(),
        }
    }
}

/// Returns the flags of a group that is built from `child` (`get_group()`, `build_group_from_child_sched_domain()`).
fn group_flags(child: Option<&Sd>, variant: GroupFlags) -> SdFlags {
    match (child, variant) {
        (Some(child), GroupFlags::AsBuilt | GroupFlags::FollowRemoval) => child.flags,
        _ => SdFlags::empty(),
    }
}

/// `build_sched_groups()`: builds the groups of the domain of `cpu` at level `tl`.
///
/// The kernel links the same groups again for each CPU of the span, so the last CPU's order remains: its own group
/// first, the others in ascending order of their lowest CPU, wrapping around.
pub(super) fn build_sched_groups(
    tl: usize,
    cpu: Cpu,
    chains: &[Vec<Sd>],
    cpu_spans: &[SpanId],
    spans: &Spans,
    variant: GroupFlags,
    rings: &mut Rings,
) -> Groups {
    let group_span = |cpu: Cpu| match tl {
        0 => cpu_spans[cpu as usize],
        _ => chains[cpu as usize][tl - 1].span,
    };
    let span = chains[cpu as usize][tl].span;
    let ring = match rings.ring_of(tl, span) {
        Some(ring) => ring,
        None => {
            let mask = spans.mask(span);
            let last = mask.iter().last().unwrap_or(cpu);
            let mut covered = CpuMask::new(mask.room());
            let mut groups: Vec<Group> = Vec::new();
            for i in mask.iter_wrap(last) {
                if covered.test(i) {
                    continue;
                }
                let child = tl.checked_sub(1).map(|below| &chains[i as usize][below]);
                let span = group_span(i);
                covered.or_with(spans.mask(span));
                groups.push(Group { span, balance_mask: span, flags: group_flags(child, variant) });
            }
            let lowest = (0..groups.len()).min_by_key(|&i| spans.mask(groups[i].span).first());
            groups.rotate_left(lowest.unwrap_or(0));
            rings.add(tl, span, groups)
        }
    };
    Groups::Shared { ring, first: rings.index_of(ring, group_span(cpu)) }
}

/// Builds the groups of NUMA domains, and caches their balance masks.
pub(super) struct OverlapGroups<'a> {
    pub(super) chains: &'a [Vec<Sd>],
    pub(super) cpu_spans: &'a [SpanId],
    pub(super) options: &'a DomainOptions,
    pub(super) balance_masks: HashMap<(usize, SpanId), SpanId>,
}

impl OverlapGroups<'_> {
    /// `build_overlap_sched_groups()`: builds the groups of the domain of `cpu` at level `tl`. Iterating over the span
    /// from this CPU on, each CPU that no group covers yet contributes the span of its own child domain.
    pub(super) fn build(&mut self, tl: usize, cpu: Cpu, spans: &mut Spans) -> Vec<Group> {
        let span = spans.mask(self.chains[cpu as usize][tl].span).clone();
        let mut left = CpuMask::clone(&span);
        let mut groups = Vec::new();
        let mut from = cpu;
        let mut wrapped = false;
        loop {
            let Some(i) = left.next_from(from).filter(|&i| !wrapped || i < cpu) else {
                if wrapped {
                    break;
                }
                (from, wrapped) = (0, true);
                continue;
            };
            from = i + 1;
            // If nodes see different numbers of distances, this CPU may have no domain at the level: a lower domain
            // already spans the machine.
            let Some(mut sibling) = (self.chains[i as usize].len() > tl).then_some(tl) else { continue };
            if self.options.rules.find_descended_sibling
                && let Some(child) = self.child(i, sibling)
                && !spans.mask(child.span).is_subset(&span)
            {
                sibling = self.find_descended_sibling(i, sibling, &span, spans);
            }
            let child = self.child(i, sibling);
            let group_span = child.map_or(self.chains[i as usize][sibling].span, |child| child.span);
            let flags = group_flags(child, self.options.rules.group_flags);
            left.andnot_with(spans.mask(group_span));
            let level = if self.options.rules.find_descended_sibling { sibling } else { tl };
            let balance_mask = self.build_balance_mask(level, group_span, spans);
            groups.push(Group { span: group_span, balance_mask, flags });
        }
        groups
    }

    fn child(&self, cpu: Cpu, tl: usize) -> Option<&Sd> {
        tl.checked_sub(1).map(|below| &self.chains[cpu as usize][below])
    }

    /// `find_descended_sibling()`: returns the highest domain of a CPU whose child stays within `span`. Of several with
    /// the same span it is the lowest, because the others will be removed.
    fn find_descended_sibling(&self, cpu: Cpu, mut tl: usize, span: &CpuMask, spans: &Spans) -> usize {
        while self.child(cpu, tl).is_some_and(|child| !spans.mask(child.span).is_subset(span)) {
            tl -= 1;
        }
        while self.child(cpu, tl).is_some_and(|child| child.span == self.chains[cpu as usize][tl].span) {
            tl -= 1;
        }
        tl
    }

    /// `build_balance_mask()`: returns the CPUs of the group whose own child domain at this level is that group.
    fn build_balance_mask(&mut self, tl: usize, group: SpanId, spans: &mut Spans) -> SpanId {
        if let Some(&mask) = self.balance_masks.get(&(tl, group)) {
            return mask;
        }
        let cpus = spans.mask(group).clone();
        let mut mask = CpuMask::new(cpus.room());
        let has_it = |cpu: Cpu| {
            let chain = &self.chains[cpu as usize];
            chain.len() > tl && self.child(cpu, tl).map_or(self.cpu_spans[cpu as usize], |child| child.span) == group
        };
        cpus.iter().filter(|&cpu| has_it(cpu)).for_each(|cpu| mask.set(cpu));
        let mask = spans.intern(mask);
        self.balance_masks.insert((tl, group), mask);
        mask
    }
}
