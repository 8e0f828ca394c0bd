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

use super::about::{About, Recorded, Switch};
use super::{Before, Plan, SearchContext, SearchPolicy};
use crate::select::decision::Effects;
use crate::select::{IdleScanForm, Rules, View};
use wakelab_kernel::Feature;

/// What the earlier versions would have needed.
const LLC_UTIL: &str = "an nr_idle_scan that is computed from the LLC's utilisation in its own way";

/// The policy.
#[derive(Debug)]
pub struct SisUtil;

impl SearchPolicy for SisUtil {
    const FEATURE: Feature = Feature::SIS_UTIL;

    const ABOUT: About = About {
        switches: &[
            Switch {
                feature: Feature::SIS_UTIL,
                does: "looks at nr_idle_scan run queues, which periodic balance of the LLC computes from its utilisation; at 0 nothing is searched",
                recorded: Recorded::Yes,
            },
            Switch {
                feature: Feature::SIS_UTIL_V1,
                does: "no limit up to 85% utilisation, no search above",
                recorded: Recorded::Not(LLC_UTIL),
            },
            Switch {
                feature: Feature::SIS_UTIL_V2,
                does: "falls in a line to 4 run queues at 50%; so the walk for an idle core is never stopped",
                recorded: Recorded::Not(LLC_UTIL),
            },
            Switch {
                feature: Feature::SIS_UTIL_V3,
                does: "100 − x²/72 per cent of the LLC at x per cent utilisation",
                recorded: Recorded::Not(LLC_UTIL),
            },
            Switch {
                feature: Feature::SIS_UTIL_SMALL_LLC,
                does: "with any of these: an LLC of up to 16 CPUs gets 32 / llc_weight times the number",
                recorded: Recorded::NotRead,
            },
            Switch {
                feature: Feature::SIS_UTIL_NEWIDLE,
                does: "with any of these: newly-idle passes update the number, too, which is then as fresh as the last CPU that went idle; the writes to a shared line have no cost here",
                recorded: Recorded::NotRead,
            },
        ],
        tunables: &["sis_util_pct", "sis_util_exponent"],
    };

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
