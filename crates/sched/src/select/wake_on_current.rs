//! SIS_CURRENT, `wake_on_current()`: a short task that its short waker alone wakes is stacked on the waking CPU, before
//! anything else is asked.
//!
//! ```text
//! select_task_rq_fair(), wake-ups, where p may use this_cpu; before wake_affine() and the domains:
//!     if wake_on_current(this_cpu, p): return this_cpu
//!
//! wake_on_current(this_cpu, p):
//!     if rq(this_cpu)->nr_running > 1: return false
//!     if current->dur_avg == 0 || current->dur_avg * 8 >= sysctl_sched_migration_cost: return false
//!     if p->dur_avg == 0       || p->dur_avg * 8 >= sysctl_sched_migration_cost: return false
//!     if current->wakee_flips || p->wakee_flips: return false
//!     return current->last_wakee == p && p->last_wakee == current
//! ```
//!
//! Idle CPUs do not matter: a pair is stacked in an idle system, too.
//!
//! "[PATCH v8 2/2] sched/fair: Introduce SIS_CURRENT to wake up short task on current CPU", Chen Yu, 29 April 2023. v7
//! compares with `sysctl_sched_min_granularity`. That v8 reads the migration cost is from its changelog, and that the
//! call comes first from the description of the series.

use super::policy::{About, Recorded, Switch};
use super::select_task_rq_fair::Cx;
use super::{PolicyView, RqView};
use wakelab_kernel::Feature;

/// SIS_CURRENT.
pub(super) const ABOUT: About = About {
    switches: &[Switch {
        feature: Feature::SIS_CURRENT,
        does: "stacks the wakee on the waking CPU, before any search, if that CPU has no other task, waker and wakee \
            are short (dur_avg × 8 < sysctl_sched_migration_cost) and wake only each other",
        recorded: Recorded::Not("how long tasks run between two sleeps (dur_avg)"),
    }],
    tunables: &["migration_cost"],
};

/// `wake_on_current()`. `current->last_wakee` is the wakee since `record_wakee()`.
pub(super) fn wake_on_current<V: RqView + PolicyView>(cx: Cx<'_, V>) -> bool {
    let (waker, wakee) = (&cx.wakeup.waker, &cx.wakeup.wakee);
    let is_short = |dur_avg: u64| dur_avg != 0 && dur_avg.wrapping_mul(8) < cx.rules.migration_cost;
    cx.view.nr_running(waker.cpu) <= 1
        && is_short(cx.view.curr_dur_avg(waker.cpu))
        && is_short(wakee.dur_avg)
        && waker.wakee_flips == 0
        && wakee.wakee_flips == 0
        && wakee.wakes_waker
}
