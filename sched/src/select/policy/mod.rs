//! Search policies: what limits, steers or replaces the walk over the LLC in `select_idle_cpu()`.
//!
//! **A new policy is one file and one line.** The file has a type that implements [`SearchPolicy`] and says of itself
//! ([`SearchPolicy::ABOUT`]) which switches it has, what they do and what they read; the line is in the `registry!` call
//! below, whose order is the order in which the kernel's function asks them. A switch's name and source are those of its
//! feature, in `kernel/src/feature/registry.rs`. A program that uses this crate can bring a policy along without changing
//! it ([`register`]). What each does:
//!
//! | policy | file | before the walk | after it |
//! |---|---|---|---|
//! | SIS_PROP | `sis_prop.rs` | limit from the average idle time and the average cost of a search | updates both |
//! | SIS_LIMIT | `sis_limit.rs` | SIS_PROP's limit within bounds; begins where the last walk ended | keeps where it ended |
//! | SIS_SHORT | `sis_short.rs` | the target, if its task and the wakee are short | |
//! | SIS_UTIL | `sis_util.rs` | limit from the LLC's utilisation; 0 ends the search | |
//! | a program's own | `own.rs` | what it says | what it says |
//!
//! A policy that moves the walk's start writes [`Plan::start`]; one that ends the search with a CPU of its own returns
//! [`Before::Take`]. SIS_ORACLE stands in place of the whole search and is asked before it
//! ([`best_idle_cpu`](super::best_idle_cpu)).

mod about;
mod own;
mod sis_limit;
mod sis_prop;
mod sis_short;
mod sis_util;

pub use about::{About, Recorded, Switch, all, switches};
pub use own::{Own, OwnPolicy, register, registered};
pub use sis_limit::SisLimit;
pub use sis_prop::{SisProp, SisPropRun};
pub(super) use sis_short::is_short_task;
pub use sis_short::{DurAvg, SisShort};
pub use sis_util::SisUtil;

use super::decision::{Effects, Reason};
use super::{Event, Observer, Rules, View, Wakeup};
use crate::cpumask::Cpu;
use crate::domain::SchedDomain;
use wakelab_kernel::Feature;

/// What a policy knows when it is asked.
#[derive(Clone, Copy, Debug)]
pub struct SearchContext<'a> {
    /// The rules of the decision.
    pub rules: &'a Rules<'a>,
    /// Who wakes whom.
    pub wakeup: &'a Wakeup<'a>,
    /// The LLC's domain of the target: `sd_llc`.
    pub sd: &'a SchedDomain,
    /// The CPU around which the search walks.
    pub target: Cpu,
    /// Whether the walk looks for an idle core.
    pub has_idle_core: bool,
    /// How many looks the decision has made so far.
    pub looks: u32,
}

/// How the walk will go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The kernel's `nr`: the walk ends when, counted down at each CPU, it comes to 0; so `nr - 1` CPUs are looked at.
    /// A walk for an idle core ignores it.
    pub nr: i32,
    /// Where the walk begins.
    pub start: Cpu,
    /// What SIS_PROP keeps between its two halves.
    pub sis_prop: Option<SisPropRun>,
    /// A policy wants to know where the walk ends, so that it is walked CPU by CPU.
    pub tells_last: bool,
}

impl Plan {
    /// A walk without a limit.
    pub(super) fn unlimited(start: Cpu) -> Self {
        Plan { nr: i32::MAX, start, sis_prop: None, tells_last: false }
    }
}

/// A policy's word before the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Go on: the next policy, or the walk.
    Walk,
    /// Do not search: there is hardly anything idle.
    Overloaded,
    /// Do not search: take this CPU, for this reason.
    Take(Cpu, Reason),
}

/// One search policy. It has no state of its own: what it keeps between its two halves is in the [`Plan`], what it
/// keeps between searches comes through the [`View`] and goes out through the [`Effects`].
pub trait SearchPolicy {
    /// The feature that switches it.
    const FEATURE: Feature;

    /// What it says of itself: [`SearchPolicy::FEATURE`] is the first of its switches.
    const ABOUT: About;

    /// Asked once before the walk.
    fn before<V: View>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects) -> Before;

    /// Asked once after a walk that found an idle CPU or came to its end; a walk that its limit ended, or that found
    /// an idle core, returns without coming here, as in the kernel.
    fn after<V: View>(_cx: &SearchContext<'_>, _view: &V, _plan: &Plan, _effects: &mut Effects) {}

    /// Told at the end of every walk for a CPU, however it ended, where [`Plan::tells_last`] was set: the CPU that it came
    /// to last, if it came to one.
    fn ended(_cx: &SearchContext<'_>, _last: Option<Cpu>, _effects: &mut Effects) {}

    /// Whether it takes part.
    fn is_on(rules: &Rules<'_>) -> bool {
        rules.features.has(Self::FEATURE)
    }
}

macro_rules! registry {
    ($($policy:ty),* $(,)?) => {
        /// Asks each policy that is on, in the kernel's order.
        #[inline]
        pub(super) fn before<V: View, O: Observer>(
            cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects, observer: &mut O,
        ) -> Before {
            $(if <$policy>::is_on(cx.rules) {
                let nr = plan.nr;
                let word = <$policy>::before(cx, view, plan, effects);
                if let Before::Take(cpu, _) = word {
                    observer.event(Event::Taken { by: <$policy>::FEATURE, cpu });
                } else if plan.nr != nr || word != Before::Walk {
                    observer.event(Event::Limit { by: <$policy>::FEATURE, nr: plan.nr });
                }
                if word != Before::Walk {
                    return word;
                }
            })*
            Before::Walk
        }

        /// Tells each policy that is on that the walk is over.
        #[inline]
        pub(super) fn after<V: View>(cx: &SearchContext<'_>, view: &V, plan: &Plan, effects: &mut Effects) {
            $(if <$policy>::is_on(cx.rules) {
                <$policy>::after(cx, view, plan, effects);
            })*
        }

        /// What the policies of the walk say of themselves, in the order in which they are asked.
        const OF_THE_WALK: &[&About] = &[$(&<$policy>::ABOUT),*];

        /// Tells each policy that is on where the walk has ended.
        #[cold]
        pub(super) fn ended(cx: &SearchContext<'_>, last: Option<Cpu>, effects: &mut Effects) {
            $(if <$policy>::is_on(cx.rules) {
                <$policy>::ended(cx, last, effects);
            })*
        }
    };
}

registry!(SisProp, SisLimit, SisShort, SisUtil, Own);
