//! SIS_UTIL: search in proportion to how much of the LLC is unused.
//!
//! Load balancing writes `nr_idle_scan` ([`IdleScanRules::nr_idle_scan`]) for all CPUs of the LLC. At 0 (from about 85%
//! utilisation) the search ends before it begins, and with it the walk for an idle core: `has_idle_cores` then stays as it
//! is. The number is as old as the last periodic balance, tens of milliseconds, so a burst meets yesterday's number.
//!
//! As merged for 6.0 (70fb5ccf2ebb). Its earlier versions (`SIS_UTIL_V1` to `_V3`) differ in the number alone, and read
//! it as this one does.
//!
//! [`IdleScanRules::nr_idle_scan`]: crate::select::IdleScanRules::nr_idle_scan

use super::{Before, Plan, SearchContext, SearchPolicy};
use crate::select::decision::Effects;
use crate::select::{IdleScanForm, Rules, View};
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisUtil;

impl SearchPolicy for SisUtil {
    const FEATURE: Feature = Feature::SIS_UTIL;

    #[inline]
    fn is_on(rules: &Rules<'_>) -> bool {
        IdleScanForm::of(rules.features).is_some()
    }

    #[inline]
    fn before<V: View>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Before {
        // One more than the number, because the walk counts down before it looks.
        plan.nr = view.nr_idle_scan(cx.target).wrapping_add(1);
        if plan.nr == 1 { Before::Overloaded } else { Before::Walk }
    }
}
