//! The groups of domains whose groups do not overlap.

use super::SdFlags;
use super::build::Sd;
use super::options::GroupFlags;
use super::spans::{SpanId, Spans};
use crate::cpumask::{Cpu, CpuMask};
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
    /// Not built yet.
    None,
    /// The ring that the CPUs of the span share, and where this CPU's own group is in it.
    Shared {
        /// Index in [`Rings::rings`].
        ring: usize,
        /// Index in the ring.
        first: usize,
    },
    /// An overlapping domain's own ring, its first group first.
    Own(Vec<Group>),
}

/// The shared rings.
#[derive(Default)]
pub(super) struct Rings {
    /// Each begins with the group of the lowest CPU.
    pub(super) rings: Vec<Vec<Group>>,
    by_span: HashMap<(usize, SpanId), usize>,
    index_of: HashMap<(usize, SpanId), usize>,
}

impl Rings {
    /// How many groups a domain has.
    pub(super) fn count(&self, groups: &Groups) -> usize {
        match groups {
            Groups::None => 0,
            Groups::Shared { ring, .. } => self.rings[*ring].len(),
            Groups::Own(groups) => groups.len(),
        }
    }

    /// `sd->groups`: the group that the CPU's walk begins with.
    pub(super) fn first_mut<'a>(&'a mut self, groups: &'a mut Groups) -> Option<&'a mut Group> {
        match groups {
            Groups::None => None,
            Groups::Shared { ring, first } => self.rings[*ring].get_mut(*first),
            Groups::Own(groups) => groups.first_mut(),
        }
    }
}

/// The flags that a group built from `child` gets (`get_group()`, `build_group_from_child_sched_domain()`).
pub(super) fn group_flags(child: Option<&Sd>, variant: GroupFlags) -> SdFlags {
    match (child, variant) {
        (Some(child), GroupFlags::AsBuilt | GroupFlags::FollowRemoval) => child.flags,
        _ => SdFlags::empty(),
    }
}

/// `build_sched_groups()` for the domain at level `tl` of a CPU.
///
/// The kernel links the same groups anew for each CPU of the span; what stays is the order that the last one leaves.
/// It walks from its own CPU around, so its group comes first and the others follow by their lowest CPU.
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
    let ring = match rings.by_span.get(&(tl, span)) {
        Some(&ring) => ring,
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
            let ring = rings.rings.len();
            for (i, group) in groups.iter().enumerate() {
                rings.index_of.insert((ring, group.span), i);
            }
            rings.rings.push(groups);
            rings.by_span.insert((tl, span), ring);
            ring
        }
    };
    Groups::Shared { ring, first: rings.index_of[&(ring, group_span(cpu))] }
}
