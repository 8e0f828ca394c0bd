//! The declaration of a policy: its switches, what they do, and what they read. Programs that switch policies, put
//! them to recordings or print them use this, so that a policy is known everywhere by its file.

use super::{OF_THE_SCAN, sis_oracle};
use crate::select::{cluster, select_idle_core, select_idle_node, update_idle_core, wake_on_current};
use wakelab_kernel::Feature;

/// The declaration of a policy.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The switches, first the one that turns the policy on. Each acts on every kernel, whether that kernel was
    /// released with it or not.
    pub switches: &'static [Switch],
    /// The tunables that the policy reads, by the names that a side of a comparison sets.
    pub tunables: &'static [&'static str],
}

/// One switch of a policy. Its source is the feature's ([`Feature::source`]).
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// The feature.
    pub feature: Feature,
    /// The effect of the switch, for the table of docs/policies.md.
    pub does: &'static str,
    /// Whether recorded decisions can be made again with it.
    pub recorded: Recorded,
}

/// Whether recordings hold what a switch reads when a CPU is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// They hold it.
    Yes,
    /// They hold this if their kernel has it.
    IfThere(&'static str),
    /// They do not hold this.
    Not(&'static str),
    /// The switch is not read when a CPU is chosen.
    NotRead,
}

/// The policies that act outside the scan.
const AROUND_THE_SCAN: [&About; 7] = [
    &wake_on_current::ABOUT,
    &select_idle_core::SIS_CORE,
    &select_idle_core::SIS_SINGLE_PASS,
    &update_idle_core::SIS_EFF_PENDING,
    &cluster::ABOUT,
    &select_idle_node::ABOUT,
    &sis_oracle::ABOUT,
];

/// All policies: those of the scan, in the order in which they act, and those around it.
pub fn all() -> impl Iterator<Item = &'static About> {
    OF_THE_SCAN.iter().copied().chain(AROUND_THE_SCAN)
}

/// All switches of all policies.
pub fn switches() -> impl Iterator<Item = &'static Switch> {
    all().flat_map(|about| about.switches)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists are sorted and filtered, so that a source cannot refer to the one before it.
    #[test]
    fn every_source_is_complete_by_itself() {
        for switch in switches() {
            let source = switch.feature.source();
            assert!(!source.contains("the same") && !source.contains("above"), "{}: {source}", switch.feature);
        }
    }

    /// A switch that no policy declares would be refused on kernels that do not list it.
    #[test]
    fn every_search_feature_belongs_to_one_policy() {
        for &feature in Feature::ALL {
            let named = switches().filter(|switch| switch.feature == feature).count();
            let searches = feature == Feature::OWN || (feature.name().starts_with("SIS_") && feature.modelled());
            assert_eq!(named, usize::from(searches), "{feature}");
        }
    }
}
