//! The groups of NUMA domains, which may overlap.

use super::build::Sd;
use super::groups::{Group, group_flags};
use super::options::DomainOptions;
use super::spans::{SpanId, Spans};
use crate::cpumask::{Cpu, CpuMask};
use std::collections::HashMap;

/// Builds the groups of NUMA domains; keeps the balance masks it has found.
pub(super) struct OverlapGroups<'a> {
    pub(super) chains: &'a [Vec<Sd>],
    pub(super) cpu_spans: &'a [SpanId],
    pub(super) options: &'a DomainOptions,
    pub(super) balance_masks: HashMap<(usize, SpanId), SpanId>,
}

impl OverlapGroups<'_> {
    /// `build_overlap_sched_groups()` for the domain at level `tl` of a CPU: around the span from this CPU on, each CPU
    /// not yet covered gives the group of its own child domain.
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
            // Where node distances are asymmetric in depth, this CPU may have no domain at the level: a lower one
            // already spans the machine.
            let Some(mut sibling) = (self.chains[i as usize].len() > tl).then_some(tl) else { continue };
            if self.options.find_descended_sibling
                && let Some(child) = self.child(i, sibling)
                && !spans.mask(child.span).is_subset(&span)
            {
                sibling = self.find_descended_sibling(i, sibling, &span, spans);
            }
            let child = self.child(i, sibling);
            let group_span = child.map_or(self.chains[i as usize][sibling].span, |child| child.span);
            let flags = group_flags(child, self.options.group_flags);
            left.andnot_with(spans.mask(group_span));
            let level = if self.options.find_descended_sibling { sibling } else { tl };
            let balance_mask = self.build_balance_mask(level, group_span, spans);
            groups.push(Group { span: group_span, balance_mask, flags });
        }
        groups
    }

    fn child(&self, cpu: Cpu, tl: usize) -> Option<&Sd> {
        tl.checked_sub(1).map(|below| &self.chains[cpu as usize][below])
    }

    /// `find_descended_sibling()`: the highest domain of a CPU whose child stays within `span`, and of those with the
    /// same span the lowest, as the others will be removed.
    fn find_descended_sibling(&self, cpu: Cpu, mut tl: usize, span: &CpuMask, spans: &Spans) -> usize {
        while self.child(cpu, tl).is_some_and(|child| !spans.mask(child.span).is_subset(span)) {
            tl -= 1;
        }
        while self.child(cpu, tl).is_some_and(|child| child.span == self.chains[cpu as usize][tl].span) {
            tl -= 1;
        }
        tl
    }

    /// `build_balance_mask()`: the CPUs of the group whose own child domain at this level is the group.
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
