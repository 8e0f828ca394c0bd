//! What a policy says of itself: its switches, what they do, and what they read. Programs that switch policies, ask recordings
//! about them or print them go by this, so that a policy is known everywhere by its file.

use super::OF_THE_WALK;
use crate::select::{oracle, sibling};
use wakelab_kernel::Feature;

/// What a policy says of itself.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its switches, the one that turns it on first. Each acts on every kernel: not yet, never, or no longer released there.
    pub switches: &'static [Switch],
    /// The tunables that it reads, by the names that a side of a comparison sets.
    pub tunables: &'static [&'static str],
}

/// One switch. Its source is the feature's ([`Feature::source`]).
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// The feature.
    pub feature: Feature,
    /// What it does, for the table of docs/policies.md.
    pub does: &'static str,
    /// Whether recorded decisions can be asked about it.
    pub recorded: Recorded,
}

/// Whether recordings hold what a switch reads when a CPU is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// They do.
    Yes,
    /// They do where their kernel has it: this.
    IfThere(&'static str),
    /// They do not hold this.
    Not(&'static str),
    /// It is not read when a CPU is chosen.
    NotRead,
}

/// The two switches of the search around the walk.
const AROUND: [&About; 2] = [&sibling::SIS_CORE, &oracle::ABOUT];

/// All policies: those of the walk, in the order in which they are asked, and those around it.
pub fn all() -> impl Iterator<Item = &'static About> {
    OF_THE_WALK.iter().copied().chain(AROUND)
}

/// All switches of all policies.
pub fn switches() -> impl Iterator<Item = &'static Switch> {
    all().flat_map(|about| about.switches)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists are sorted and cut: what a source stands after is not there to be looked at.
    #[test]
    fn every_source_stands_by_itself() {
        for switch in switches() {
            let source = switch.feature.source();
            assert!(!source.contains("the same") && !source.contains("above"), "{}: {source}", switch.feature);
        }
    }

    /// A switch that no policy names would be refused on kernels that do not list it.
    #[test]
    fn every_search_feature_belongs_to_one_policy() {
        for &feature in Feature::ALL {
            let named = switches().filter(|switch| switch.feature == feature).count();
            let searches = feature == Feature::OWN || (feature.name().starts_with("SIS_") && feature.modelled());
            assert_eq!(named, usize::from(searches), "{feature}");
        }
    }
}
