//! SIS_PROP: search in proportion to how long this CPU is idle on average.
//!
//! `nr = span_weight × avg_idle / avg_cost`, at least 4: a search may take about as long as the CPU is idle between two
//! tasks. It fails if the average idle time shows little about the LLC: a busy waker with an idle LLC searches too
//! little, many wakers with short idle times search too much.
//!
//! There are two forms, both from `select_idle_cpu()`. Up to 5.13 the idle time is `rq->avg_idle / 512`. From 5.14 to
//! 6.4 it is `rq->wake_avg_idle`, which is halved at each jiffy since the last idle period, and from which each search
//! is subtracted. The first form updates the cost of a search whether SIS_PROP is on or not; here only if it is on.

use super::about::{About, Recorded, Switch};
use super::{Plan, SearchContext, SearchPolicy, Verdict};
use crate::select::SearchView;
use crate::select::decision::{Effects, ScanCost};
use wakelab_kernel::{Feature, SisProp as Form};

/// The state of SIS_PROP from before the scan to after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SisPropRun {
    /// `cpu_clock()` at the start, ns.
    pub start: u64,
    /// The limit, before SIS_UTIL replaces it.
    pub nr: i32,
    /// The idle time that the domain has for searches, ns: `span_weight × avg_idle`.
    pub span_avg: u64,
    /// The assumed cost of a search, ns.
    pub avg_cost: u64,
    /// The averages at the beginning of the scan (the idle time already aged).
    pub cost: ScanCost,
}

/// The policy.
#[derive(Debug)]
pub struct SisProp;

/// The inputs that the policy reads of the waking CPU and its LLC.
const INPUTS: &str = "the waking CPU's wake_avg_idle (avg_idle before 5.14) and its LLC's avg_scan_cost";

/// The smallest limit: the scan counts down before it probes, so that it probes three CPUs.
const NR_MIN: u64 = 4;

impl SearchPolicy for SisProp {
    const FEATURE: Feature = Feature::SIS_PROP;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_PROP,
            does: "scans span_weight × avg_idle / avg_cost CPUs, at least 4. The idle time is `avg_idle / 512` up to \
                5.13, `wake_avg_idle` from 5.14",
            recorded: Recorded::IfThere(INPUTS),
        }],
        tunables: &[],
    };

    type LlcState = ();
    type CpuState = ();

    #[inline]
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects) -> Verdict {
        // The scan for an idle core has no limit; the older form acts after that scan.
        if cx.has_idle_core {
            return Verdict::Scan;
        }
        let this_cpu = cx.wakeup.waker.cpu;
        if cx.rules.domains.sd_llc(this_cpu).is_none() {
            return Verdict::Overloaded;
        }
        let clock = view.scan_clock(this_cpu);
        // With SIS_NODE, the scan of the LLC before has written them.
        let mut cost = effects.scan_cost.unwrap_or(ScanCost {
            wake_stamp: clock.wake_stamp,
            wake_avg_idle: clock.wake_avg_idle,
            avg_scan_cost: clock.avg_scan_cost,
        });
        let avg_idle = match cx.rules.code.sis_prop {
            Form::AvgIdle => clock.avg_idle / 512,
            Form::WakeAvgIdle => {
                age(&mut cost, clock.jiffies);
                cost.wake_avg_idle
            }
        };
        let avg_cost = cost.avg_scan_cost.wrapping_add(1);
        let span_avg = u64::from(cx.sd.span_weight).wrapping_mul(avg_idle);
        let nr = if span_avg > avg_cost.wrapping_mul(NR_MIN) { span_avg / avg_cost } else { NR_MIN };
        // `nr` is an int in the kernel: a very long idle time may wrap it.
        plan.nr = nr as i32;
        plan.sis_prop =
            Some(SisPropRun { start: view.cpu_clock(this_cpu, cx.probes), nr: plan.nr, span_avg, avg_cost, cost });
        effects.scan_cost = Some(cost);
        Verdict::Scan
    }

    #[inline]
    fn after_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &Plan, effects: &mut Effects) {
        let Some(SisPropRun { start, mut cost, .. }) = plan.sis_prop else { return };
        let time = view.cpu_clock(cx.wakeup.waker.cpu, cx.probes).wrapping_sub(start);
        if cx.rules.code.sis_prop == Form::WakeAvgIdle {
            cost.wake_avg_idle -= cost.wake_avg_idle.min(time);
        }
        cost.avg_scan_cost = update_avg(cost.avg_scan_cost, time);
        effects.scan_cost = Some(cost);
    }
}

/// Halves the predicted idle time once for each jiffy since the last idle period.
#[inline]
fn age(cost: &mut ScanCost, jiffies: u64) {
    let gone = jiffies.saturating_sub(cost.wake_stamp);
    // The kernel loops over the jiffies and stops when nothing is left: after this many steps.
    let steps = gone.min(u64::from(u64::BITS - cost.wake_avg_idle.leading_zeros()));
    cost.wake_stamp += steps;
    cost.wake_avg_idle = cost.wake_avg_idle.checked_shr(steps as u32).unwrap_or(0);
}

/// `update_avg()`: moves an eighth of the way to the sample, in signed arithmetic that rounds toward zero.
#[inline]
pub(super) fn update_avg(avg: u64, sample: u64) -> u64 {
    let diff = sample.wrapping_sub(avg) as i64;
    avg.wrapping_add((diff / 8) as u64)
}
