//! SIS_SHORT: wake to a CPU whose task will have gone to sleep before an idle CPU could be found, woken and warmed up.
//!
//! A task is short if it runs for a short time between two voluntary sleeps: [`dur_avg`](DurAvg::update), the running
//! average of that time, is known and at most an eighth of `sysctl_sched_min_granularity` (375 us on 8 CPUs and more).
//!
//! - `wake_affine_idle()`, last: the waking CPU, if the only task there is short.
//! - `select_idle_cpu()`, before SIS_UTIL's check: the target, if no core is idle and both the only task there and the
//!   wakee are short. The search has then found a CPU: it has not failed.
//!
//! "[PATCH v3 2/2] sched/fair: Choose the CPU where short task is running during wake up", Chen Yu, December 2022,
//! against 6.1-rc6. EEVDF kernels have no `sysctl_sched_min_granularity`; there its successor `sysctl_sched_base_slice`
//! is read.

use super::about::{About, Recorded, Switch};
use super::{Plan, SearchContext, SearchPolicy, Verdict};
use crate::select::decision::{Effects, Reason};
use crate::select::{Rules, SearchView};
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisShort;

impl SearchPolicy for SisShort {
    const FEATURE: Feature = Feature::SIS_SHORT;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_SHORT,
            does: "stays on a CPU whose only task runs only briefly between its sleeps: the waking CPU in \
                   wake_affine_idle(), the target (if no core is idle and the wakee is short, too) in \
                   select_idle_cpu(). Short is dur_avg × 8 ≤ sysctl_sched_min_granularity",
            recorded: Recorded::Not("how long tasks run between two sleeps (dur_avg)"),
        }],
        tunables: &["min_granularity", "base_slice"],
    };

    type LlcState = ();
    type CpuState = ();

    #[inline]
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, _: &mut Plan, _: &mut Effects) -> Verdict {
        let short = !cx.has_idle_core
            && view.target_nr_running(cx.target) == 1
            && is_short_task(cx.rules, view.curr_dur_avg(cx.target))
            && is_short_task(cx.rules, cx.wakeup.wakee.dur_avg);
        if short { Verdict::Take(cx.target, Reason::Short) } else { Verdict::Scan }
    }
}

/// `is_short_task()` of a task with this average. The caller checks the feature.
#[inline]
pub(in crate::select) fn is_short_task(rules: &Rules<'_>, dur_avg: u64) -> bool {
    dur_avg != 0 && dur_avg.wrapping_mul(8) <= rules.min_granularity
}

/// The average of a task's run times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurAvg {
    /// `se.dur_avg`, ns.
    pub dur_avg: u64,
    /// `se.prev_sum_exec_runtime_vol`: its run time at the last voluntary sleep, ns.
    pub prev_sum_exec_runtime_vol: u64,
}

impl DurAvg {
    /// `dur_avg_update()`: the task goes to sleep and has run for `sum_exec_runtime` ns since its fork. Only time that
    /// it ran between two sleeps counts; `update_avg()` moves an eighth of the way.
    pub fn update(&mut self, sum_exec_runtime: u64) {
        let dur = sum_exec_runtime.wrapping_sub(self.prev_sum_exec_runtime_vol);
        self.prev_sum_exec_runtime_vol = sum_exec_runtime;
        self.dur_avg = super::sis_prop::update_avg(self.dur_avg, dur);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_takes_an_eighth_of_each_run() {
        let mut avg = DurAvg::default();
        avg.update(8_000);
        assert_eq!(avg.dur_avg, 1_000);
        avg.update(8_000 + 9_000);
        assert_eq!(avg, DurAvg { dur_avg: 2_000, prev_sum_exec_runtime_vol: 17_000 });
        // Less than the average: rounded toward it, as signed division does.
        avg.update(17_000 + 1_993);
        assert_eq!(avg.dur_avg, 2_000);
    }
}
