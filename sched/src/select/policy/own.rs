//! A policy that a program brings along, which uses wakelab as a library. docs/guides/a-search-policy.md adds one.

use super::about::{About, Recorded, Switch};
use super::{Before, Plan, SearchContext, SearchPolicy};
use crate::cpumask::Cpu;
use crate::select::View;
use crate::select::decision::Effects;
use std::fmt::Debug;
use std::sync::OnceLock;
use wakelab_kernel::{Feature, OwnFeature, OwnFeatureError, add_own};

/// A search policy of a program's own. As [`SearchPolicy`], but that it may have data and is called through a pointer. It is asked
/// after all others, and not at all where one of them ended the search.
///
/// Its debug text says what it does: runs are kept under it, so that it has to have all data that a decision depends on.
/// `#[derive(Debug)]` does, where that data is not behind a pointer to a function or in a file.
pub trait OwnPolicy: Debug + Sync {
    /// Its switch.
    fn feature(&self) -> OwnFeature;

    /// Asked once before the walk.
    fn before(&self, cx: &SearchContext<'_>, view: &dyn View, plan: &mut Plan, effects: &mut Effects) -> Before;

    /// As [`SearchPolicy::after`].
    fn after(&self, _cx: &SearchContext<'_>, _view: &dyn View, _plan: &Plan, _effects: &mut Effects) {}

    /// As [`SearchPolicy::ended`].
    fn ended(&self, _cx: &SearchContext<'_>, _last: Option<Cpu>, _effects: &mut Effects) {}
}

static POLICY: OnceLock<&'static dyn OwnPolicy> = OnceLock::new();

/// Adds a policy, once in a program, before any switch is read. The same policy again changes nothing.
///
/// # Errors
/// Where its name is no name of a feature, or taken, or there is another policy already, be it of the same name.
pub fn register(policy: &'static dyn OwnPolicy) -> Result<(), OwnFeatureError> {
    let feature = policy.feature();
    add_own(feature)?;
    let first = *POLICY.get_or_init(|| policy);
    // Of no size, two can have one address: then their texts tell them apart.
    let same = std::ptr::addr_eq(first, policy) && format!("{first:?}") == format!("{policy:?}");
    if same { Ok(()) } else { Err(OwnFeatureError::Second(feature.name)) }
}

/// The policy that was registered, if one was.
pub fn registered() -> Option<&'static dyn OwnPolicy> {
    POLICY.get().copied()
}

/// The policy that was registered, if one was.
#[derive(Debug)]
pub struct Own;

impl SearchPolicy for Own {
    const FEATURE: Feature = Feature::OWN;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::OWN,
            does: "what the program that brings it says",
            recorded: Recorded::Not("what only its program knows"),
        }],
        tunables: &[],
    };

    #[inline]
    fn before<V: View>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects) -> Before {
        POLICY.get().map_or(Before::Walk, |policy| policy.before(cx, view, plan, effects))
    }

    #[inline]
    fn after<V: View>(cx: &SearchContext<'_>, view: &V, plan: &Plan, effects: &mut Effects) {
        if let Some(policy) = POLICY.get() {
            policy.after(cx, view, plan, effects);
        }
    }

    #[inline]
    fn ended(cx: &SearchContext<'_>, last: Option<Cpu>, effects: &mut Effects) {
        if let Some(policy) = POLICY.get() {
            policy.ended(cx, last, effects);
        }
    }
}
