//! Removal of domains that say nothing their neighbours do not say.

use super::SdFlags;
use super::build::Sd;
use super::groups::Rings;
use super::options::GroupFlags;
use super::spans::Spans;

/// `sd_degenerate()`: nothing in the domain needs it.
fn sd_degenerate(sd: &Sd, spans: &Spans, rings: &Rings) -> bool {
    if spans.weight(sd.span) == 1 {
        return true;
    }
    if sd.flags.intersects(SdFlags::DEGENERATE_GROUPS_MASK) && rings.count(&sd.groups) > 1 {
        return false;
    }
    !sd.flags.contains(SdFlags::WAKE_AFFINE)
}

/// `sd_parent_degenerate()`: the parent adds nothing to its child.
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

/// The part of `cpu_attach_domain()` that removes domains of one CPU. Groups of shared rings are changed in place, as
/// in the kernel, so that CPUs must be attached in ascending order.
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
        // The kernel means to clear the flags of all groups, but its loop never advances: only the first group's go.
        if let Some(sd) = chain.first_mut()
            && let Some(group) = rings.first_mut(&mut sd.groups)
        {
            group.flags = SdFlags::empty();
        }
    }
}
