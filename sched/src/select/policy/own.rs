//! A policy that a program brings along, which uses wakelab as a library. docs/guides/a-search-policy.md adds one.

use super::about::{About, Recorded, Switch};
use super::{Plan, SearchContext, SearchPolicy, Verdict};
use crate::cpumask::Cpu;
use crate::select::SearchView;
use crate::select::decision::Effects;
use std::fmt::Debug;
use std::sync::OnceLock;
use wakelab_kernel::{Feature, OwnFeature, OwnFeatureError, add_own};

/// A search policy of a program's own: a [`SearchPolicy`] that may have data and is called through a pointer. It comes
/// after all others, and is not called if one of them ended the search.
///
/// Its debug text describes it: finished runs are kept under that text, so that it has to contain all data on which a
/// decision depends. `#[derive(Debug)]` does that, unless such data is in a file or behind a pointer to a function.
pub trait OwnPolicy: Debug + Sync {
    /// The feature that switches the policy.
    fn feature(&self) -> OwnFeature;

    /// Called once before the scan, as [`SearchPolicy::before_scan`] is.
    fn before_scan(
        &self,
        cx: &SearchContext<'_>,
        view: &dyn SearchView,
        plan: &mut Plan,
        effects: &mut Effects,
    ) -> Verdict;

    /// Called once after the scan, when [`SearchPolicy::after_scan`] is.
    fn after_scan(&self, _cx: &SearchContext<'_>, _view: &dyn SearchView, _plan: &Plan, _effects: &mut Effects) {}

    /// Called with the CPU at which the scan ended, when [`SearchPolicy::scan_ended`] is.
    fn scan_ended(&self, _cx: &SearchContext<'_>, _last: Option<Cpu>, _effects: &mut Effects) {}
}

static POLICY: OnceLock<&'static dyn OwnPolicy> = OnceLock::new();

/// Adds a policy, once in a program, before any switch is read. Adding the same policy again changes nothing.
///
/// # Errors
/// If its name cannot be that of a feature or is taken, or if there is another policy already, even one of the same
/// name.
pub fn register(policy: &'static dyn OwnPolicy) -> Result<(), OwnFeatureError> {
    let feature = policy.feature();
    add_own(feature)?;
    let first = *POLICY.get_or_init(|| policy);
    // Two policies without data can have one address: then their texts tell them apart.
    let same = std::ptr::addr_eq(first, policy) && format!("{first:?}") == format!("{policy:?}");
    if same { Ok(()) } else { Err(OwnFeatureError::Second(feature.name)) }
}

/// The policy that was registered; `None` if there is none.
pub fn registered() -> Option<&'static dyn OwnPolicy> {
    POLICY.get().copied()
}

/// The policy that was registered, if one was, as a member of the registry.
#[derive(Debug)]
pub struct Own;

impl SearchPolicy for Own {
    const FEATURE: Feature = Feature::OWN;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::OWN,
            does: "what the program that brings it declares",
            recorded: Recorded::Not("what only its program knows"),
        }],
        tunables: &[],
    };

    #[inline]
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects) -> Verdict {
        POLICY.get().map_or(Verdict::Scan, |policy| policy.before_scan(cx, view, plan, effects))
    }

    #[inline]
    fn after_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &Plan, effects: &mut Effects) {
        if let Some(policy) = POLICY.get() {
            policy.after_scan(cx, view, plan, effects);
        }
    }

    #[inline]
    fn scan_ended(cx: &SearchContext<'_>, last: Option<Cpu>, effects: &mut Effects) {
        if let Some(policy) = POLICY.get() {
            policy.scan_ended(cx, last, effects);
        }
    }
}
