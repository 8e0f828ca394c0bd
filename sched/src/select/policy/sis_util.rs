//! SIS_UTIL: search in proportion to how much of the LLC is unused.
//!
//! Load balancing writes `nr_idle_scan` ([`update_idle_cpu_scan`](crate::select::update_idle_cpu_scan)) for all CPUs of
//! the LLC. At 0 (from about 85% utilisation) the search ends before it begins, and with it the walk for an idle core:
//! `has_idle_cores` then stays as it is. The number is as old as the last periodic balance, tens of milliseconds, so a
//! burst meets yesterday's number.
//!
//! As merged for 6.0 (70fb5ccf2ebb).

use super::{Before, Plan, SearchContext, SearchPolicy};
use crate::select::View;
use crate::select::decision::Effects;
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisUtil;

impl SearchPolicy for SisUtil {
    const FEATURE: Feature = Feature::SIS_UTIL;

    #[inline]
    fn before<V: View>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Before {
        // One more than the number, because the walk counts down before it looks.
        plan.nr = view.nr_idle_scan(cx.target).wrapping_add(1);
        if plan.nr == 1 { Before::Overloaded } else { Before::Walk }
    }
}
