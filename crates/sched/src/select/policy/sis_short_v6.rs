//! SIS_SHORT_V6: SIS_SHORT as last posted under this name, which looks at the waker.
//!
//! ```text
//! short(p) = p.wakee_flips == 0 && p.dur_avg != 0 && p.dur_avg * 8 < sysctl_sched_min_granularity
//!
//! wake_affine_idle(), last:
//!     if rq(this_cpu).nr_running == 1 && short(rq(this_cpu).curr): return this_cpu
//! select_idle_cpu(), in SIS_UTIL's block, after nr = nr_idle_scan + 1:
//!     if !has_idle_core && this_cpu == target && 5 * nr < 3 * sd->span_weight
//!        && rq(target).nr_running <= 1 && short(p) && short(rq(target).curr): return target
//! ```
//!
//! In both places `rq(this_cpu).curr` is `current`, so that its flips are those of the wake-up. The condition on `nr`
//! holds where SIS_UTIL would scan less than 60% of the LLC.
//!
//! "[PATCH v6 2/2] sched/fair: Introduce SIS_SHORT to wake up short task on current CPU", Chen Yu, 22 February 2023, on
//! 6.2-rc6. v3 of the same series is [`SisShort`](super::SisShort), v8 is SIS_CURRENT (`wake_on_current.rs`).

use super::about::{About, Recorded, Switch};
use super::{Plan, SearchContext, SearchPolicy, SisUtil, Verdict};
use crate::select::decision::{Effects, Reason};
use crate::select::{Rules, SearchView};
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisShortV6;

impl SearchPolicy for SisShortV6 {
    const FEATURE: Feature = Feature::SIS_SHORT_V6;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_SHORT_V6,
            does: "stays on the waking CPU if its only task is short, in wake_affine_idle(), and in select_idle_cpu() \
                   if it is the target, the wakee is short, too, no core is idle and SIS_UTIL would scan less than 60% \
                   of the LLC. Short is no wakee_flips and dur_avg × 8 < sysctl_sched_min_granularity",
            recorded: Recorded::Not("how long tasks run between two sleeps (dur_avg)"),
        }],
        tunables: &["min_granularity", "base_slice"],
    };

    type LlcState = ();
    type CpuState = ();

    #[inline]
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Verdict {
        let (rules, waker, wakee) = (cx.rules, &cx.wakeup.waker, &cx.wakeup.wakee);
        let stays = SisUtil::is_on(rules)
            && !cx.has_idle_core
            && waker.cpu == cx.target
            && 5 * i64::from(plan.nr) < 3 * i64::from(cx.sd.span_weight)
            && view.target_nr_running(cx.target) <= 1
            && is_short_v6(rules, wakee.dur_avg, wakee.wakee_flips)
            && is_short_v6(rules, view.curr_dur_avg(cx.target), waker.wakee_flips);
        if stays { Verdict::Take(cx.target, Reason::Short) } else { Verdict::Scan }
    }
}

/// `is_short_task()` of v6, of a task with this average and these flips. The caller checks the feature.
#[inline]
pub(in crate::select) fn is_short_v6(rules: &Rules<'_>, dur_avg: u64, wakee_flips: u32) -> bool {
    wakee_flips == 0 && dur_avg != 0 && dur_avg.wrapping_mul(8) < rules.min_granularity
}
