//! Search policies: what limits, steers or replaces the scan of the LLC in `select_idle_cpu()`.
//!
//! **A new policy is one file and one line.** The file has a type that implements [`SearchPolicy`] and declares
//! ([`SearchPolicy::ABOUT`]) which switches it has, what they do and what they read; the line is in the `registry!`
//! call below, whose order is the order in which the kernel's function evaluates them. A switch's name and source are
//! those of its feature, in `kernel/src/feature/registry.rs`. A program that uses this crate can bring a policy along
//! without changing the crate ([`register`]). What each does:
//!
//! | policy | file | before the scan | after it |
//! |---|---|---|---|
//! | SIS_PROP | `sis_prop.rs` | limit from the average idle time and the average cost of a search | updates both |
//! | SIS_LIMIT | `sis_limit.rs` | SIS_PROP's limit within bounds; starts where the last ended | keeps where it ended |
//! | SIS_SHORT | `sis_short.rs` | the target, if its task and the wakee are short | |
//! | SIS_UTIL | `sis_util.rs` | limit from the LLC's utilisation; 0 ends the search | |
//! | a program's own | `own.rs` | what the program declares | what the program declares |
//!
//! A policy that moves the start of the scan writes [`Plan::start`]; one that ends the search with a CPU of its own
//! returns [`Verdict::Take`]. SIS_ORACLE (`sis_oracle.rs`) replaces the whole search and is evaluated before it
//! ([`best_idle_cpu`](super::best_idle_cpu)).

mod about;
mod own;
mod sis_limit;
pub(super) mod sis_oracle;
mod sis_prop;
mod sis_short;
pub(super) mod sis_util;

pub use about::{About, Recorded, Switch, all, switches};
pub use own::{Own, OwnPolicy, register, registered};
pub use sis_limit::SisLimit;
pub use sis_prop::{SisProp, SisPropRun};
pub(super) use sis_short::is_short_task;
pub use sis_short::{DurAvg, SisShort};
pub use sis_util::SisUtil;

use super::decision::{Effects, Reason};
use super::{Event, Observer, Rules, SearchView, Wakeup};
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedDomain;
use wakelab_kernel::Feature;

/// What a policy knows about the search.
#[derive(Clone, Copy, Debug)]
pub struct SearchContext<'a> {
    /// The rules of the decision.
    pub rules: &'a Rules<'a>,
    /// Who wakes whom.
    pub wakeup: &'a Wakeup<'a>,
    /// The LLC's domain of the target: `sd_llc`.
    pub sd: &'a SchedDomain,
    /// The CPU around which the search is made.
    pub target: Cpu,
    /// Whether the scan is for an idle core.
    pub has_idle_core: bool,
    /// How many probes the decision has made so far.
    pub probes: u32,
}

/// How the scan will be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The kernel's `nr`: the scan ends when this, counted down at each CPU, reaches 0; so `nr - 1` CPUs are probed.
    /// A scan for an idle core ignores it.
    pub nr: i32,
    /// Where the scan begins.
    pub start: Cpu,
    /// What SIS_PROP keeps between its two halves.
    pub sis_prop: Option<SisPropRun>,
    /// A policy needs the CPU at which the scan ends ([`SearchPolicy::scan_ended`]), so that it is made CPU by CPU.
    pub report_last: bool,
}

impl Plan {
    /// A scan from `start` on, without a limit.
    pub fn new(start: Cpu) -> Self {
        Plan { nr: i32::MAX, start, sis_prop: None, report_last: false }
    }

    /// Becomes [`Plan::new`].
    #[inline]
    pub(super) fn reset(&mut self, start: Cpu) {
        *self = Plan::new(start);
    }

    #[inline]
    pub(super) fn mask(&self) -> Option<&CpuMask> {
        None
    }
}

/// A policy's verdict before the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next policy is evaluated; after the last one the scan is made.
    Scan,
    /// No scan: there is hardly an idle CPU.
    Overloaded,
    /// No scan: this CPU is taken, for this reason.
    Take(Cpu, Reason),
}

/// One search policy. It has no state of its own: what it keeps between its two halves is in the [`Plan`], what it
/// keeps between searches comes through the [`SearchView`] and goes out through the [`Effects`].
pub trait SearchPolicy {
    /// The feature that switches it.
    const FEATURE: Feature;

    /// What the policy declares about itself: [`SearchPolicy::FEATURE`] is the first of its switches.
    const ABOUT: About;

    /// Called once before the scan.
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects) -> Verdict;

    /// Called once after a scan that found an idle CPU or reached its end; a scan that its limit ended, or that found
    /// an idle core, returns without this call, as in the kernel.
    fn after_scan<V: SearchView>(_cx: &SearchContext<'_>, _view: &V, _plan: &Plan, _effects: &mut Effects) {}

    /// Called at the end of every scan for a CPU, however it ended, if [`Plan::report_last`] was set: with the CPU that
    /// it reached last, if it reached one.
    fn scan_ended(_cx: &SearchContext<'_>, _last: Option<Cpu>, _effects: &mut Effects) {}

    /// Whether the policy takes part.
    fn is_on(rules: &Rules<'_>) -> bool {
        rules.features.has(Self::FEATURE)
    }
}

macro_rules! registry {
    ($($policy:ty),* $(,)?) => {
        /// Calls each policy that is on before the scan, in the kernel's order.
        #[inline]
        pub(super) fn before_scan<V: SearchView, O: Observer>(
            cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects, observer: &mut O,
        ) -> Verdict {
            $(if <$policy>::is_on(cx.rules) {
                let nr = plan.nr;
                let verdict = <$policy>::before_scan(cx, view, plan, effects);
                if let Verdict::Take(cpu, _) = verdict {
                    observer.event(Event::Taken { by: <$policy>::FEATURE, cpu });
                } else if plan.nr != nr || verdict != Verdict::Scan {
                    observer.event(Event::Limit { by: <$policy>::FEATURE, nr: plan.nr });
                }
                if verdict != Verdict::Scan {
                    return verdict;
                }
            })*
            Verdict::Scan
        }

        /// Calls each policy that is on after the scan.
        #[inline]
        pub(super) fn after_scan<V: SearchView>(
            cx: &SearchContext<'_>, view: &V, plan: &Plan, effects: &mut Effects,
        ) {
            $(if <$policy>::is_on(cx.rules) {
                <$policy>::after_scan(cx, view, plan, effects);
            })*
        }

        /// What the policies of the scan declare, in the order in which they act.
        const OF_THE_SCAN: &[&About] = &[$(&<$policy>::ABOUT),*];

        /// Calls each policy that is on with the CPU at which the scan ended.
        #[cold]
        pub(super) fn scan_ended(cx: &SearchContext<'_>, last: Option<Cpu>, effects: &mut Effects) {
            $(if <$policy>::is_on(cx.rules) {
                <$policy>::scan_ended(cx, last, effects);
            })*
        }
    };
}

registry!(SisProp, SisLimit, SisShort, SisUtil, Own);
