//! `sd_degenerate()`, `sd_parent_degenerate()` and `cpu_attach_domain()` (`kernel/sched/topology.c`): the removal of
//! domains that add nothing to their neighbours.

use super::GroupFlags;
use super::SdFlags;
use super::build_sched_domains::{Sd, Spans};
use super::build_sched_groups::Rings;

/// `sd_degenerate()`: whether the domain has no use: it spans one CPU, or none of its flags has an effect.
fn sd_degenerate(sd: &Sd, spans: &Spans, rings: &Rings) -> bool {
    if spans.weight(sd.span) == 1 {
        return true;
    }
    if sd.flags.intersects(SdFlags::DEGENERATE_GROUPS_MASK) && rings.count(&sd.groups) > 1 {
        return false;
    }
    !sd.flags.contains(SdFlags::WAKE_AFFINE)
}

/// `sd_parent_degenerate()`: whether the parent adds nothing to its child.
fn sd_parent_degenerate(sd: &Sd, parent: &Sd, spans: &Spans, rings: &Rings) -> bool {
    if sd_degenerate(parent, spans, rings) {
        return true;
    }
    if sd.span != parent.span {
        return false;
    }
    let mut needed = parent.flags;
    if rings.count(&parent.groups) == 1 {
        needed -= SdFlags::DEGENERATE_GROUPS_MASK;
    }
    sd.flags.contains(needed)
}

/// `cpu_attach_domain()`: removes the degenerate domains of one CPU. As in the kernel, groups of shared rings are
/// modified in place, so CPUs have to be attached in ascending order.
pub(super) fn cpu_attach_domain(chain: &mut Vec<Sd>, spans: &Spans, rings: &mut Rings, variant: GroupFlags) {
    let mut at = 0;
    while at + 1 < chain.len() {
        if !sd_parent_degenerate(&chain[at], &chain[at + 1], spans, rings) {
            at += 1;
            continue;
        }
        let parent = chain.remove(at + 1);
        let flags = chain[at].flags;
        if variant == GroupFlags::FollowRemoval
            && let Some(above) = chain.get_mut(at + 1)
            && let Some(group) = rings.first_mut(&mut above.groups)
        {
            group.flags = flags;
        }
        chain[at].flags |= parent.flags & SdFlags::PREFER_SIBLING;
    }
    if chain.first().is_some_and(|sd| sd_degenerate(sd, spans, rings)) {
        chain.remove(0);
        // The kernel's loop is meant to clear the flags of all groups but never advances: it clears the first group's
        // only.
        if let Some(sd) = chain.first_mut()
            && let Some(group) = rings.first_mut(&mut sd.groups)
        {
            group.flags = SdFlags::empty();
        }
    }
}
