//! SIS_LIMIT: scan one or two cores only, each time the next ones.
//!
//! SIS_PROP's limit is kept between a floor, the number of SMT siblings but at least 2, and twice that. Such a short
//! scan would probe the same few CPUs each time; a per-CPU `next_cpu` of the target makes the next scan begin where the
//! last one ended, so that the window goes around the LLC. It moves with every CPU that the scan reaches, including the
//! one at which the limit ends it.
//!
//! The limit acts inside SIS_PROP: without it (NO_SIS_PROP) only the rotation remains. The scan for an idle core has
//! neither limit nor rotation.
//!
//! "[PATCH v3 0/7] Improve scheduler scalability for fast path", subhra mazumdar, June 2019; the posting, against 5.2,
//! has no switch for it. In later kernels, which begin one past the target, the first scan begins there, too.

use super::about::{About, Recorded, Switch};
use super::{HookContext, Hooks, Plan, SearchContext, SearchPolicy, Verdict};
use crate::cpumask::Cpu;
use crate::select::SearchView;
use crate::select::decision::{Decision, Effects};
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisLimit;

/// The smallest limit on a machine without SMT: the scan counts down before it probes, so that it probes one CPU.
const FLOOR_MIN: u64 = 2;

impl SearchPolicy for SisLimit {
    const FEATURE: Feature = Feature::SIS_LIMIT;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_LIMIT,
            does: "SIS_PROP's number is kept between the SMT siblings (at least 2) and twice that; each scan begins \
                where the last from this target ended. With `NO_SIS_PROP` only that rotation remains",
            recorded: Recorded::Not("next_cpu of the target"),
        }],
        tunables: &[],
    };

    type LlcState = ();

    /// `per_cpu(next_cpu, cpu)`; `None` (-1) before the first scan.
    type CpuState = Option<Cpu>;

    fn hooks() -> Hooks {
        Hooks::DECISION
    }

    #[inline]
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Verdict {
        if cx.has_idle_core {
            return Verdict::Scan;
        }
        if let Some(run) = &mut plan.sis_prop {
            let siblings = cx.rules.domains.smt_mask[cx.target as usize].weight();
            run.nr = limited(run.span_avg, run.avg_cost, siblings);
            plan.nr = run.nr;
        }
        if let Some(&Some(next)) = view.policies().map(|states| states.cpu::<Self>(cx.target)) {
            plan.start = next;
        }
        plan.report_last = true;
        Verdict::Scan
    }

    #[inline]
    fn scan_ended(cx: &SearchContext<'_>, last: Option<Cpu>, effects: &mut Effects) {
        if let Some(last) = last {
            effects.next_cpu = Some((cx.target, last));
        }
    }

    fn on_decision(_: &HookContext<'_>, decision: &Decision, (): &mut (), next_cpu: &mut Option<Cpu>) {
        if let Some((_, next)) = decision.effects.next_cpu {
            *next_cpu = Some(next);
        }
    }
}

/// The limit of a scan: how many CPUs it reaches, including the one that ends it.
fn limited(span_avg: u64, avg_cost: u64, siblings: u32) -> i32 {
    let floor = u64::from(siblings).max(FLOOR_MIN);
    let limit = floor << 1;
    let nr = if span_avg > floor.wrapping_mul(avg_cost) { (span_avg / avg_cost).min(limit) } else { floor };
    nr as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the posting: between the siblings of one core and twice as many, at least 2.
    #[test]
    fn the_limit_lies_between_one_core_and_two() {
        for (siblings, floor) in [(1, 2), (2, 2), (4, 4), (8, 8)] {
            assert_eq!(limited(0, 100, siblings), floor);
            assert_eq!(limited(100 * floor as u64, 100, siblings), floor, "not above the floor");
            assert_eq!(limited(100 * (floor as u64 + 1), 100, siblings), floor + 1);
            assert_eq!(limited(100_000, 100, siblings), 2 * floor);
        }
    }
}
