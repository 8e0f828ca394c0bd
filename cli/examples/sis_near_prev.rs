//! A search policy of your own in a program that is wakelab otherwise: docs/guides/a-search-policy.md.

use std::process::ExitCode;
use wakelab_kernel::OwnFeature;
use wakelab_sched::select::policy::{OwnPolicy, Plan, SearchContext, Verdict, register};
use wakelab_sched::select::{Effects, SearchView};

/// The number of CPUs that are probed at most.
const PROBES: i32 = 2;

/// Begins at the CPU after the previous one, and probes two.
#[derive(Debug)]
pub struct NearPrev;

impl OwnPolicy for NearPrev {
    fn feature(&self) -> OwnFeature {
        OwnFeature {
            name: "SIS_NEAR_PREV",
            doc: "Probe two CPUs from the one after the previous CPU on.",
            source: "the guide of search policies",
        }
    }

    fn before_scan(&self, cx: &SearchContext<'_>, _: &dyn SearchView, plan: &mut Plan, _: &mut Effects) -> Verdict {
        // A scan for an idle core has no limit, and none from this policy either.
        if cx.has_idle_core {
            return Verdict::Scan;
        }
        let prev = cx.wakeup.wakee.prev_cpu;
        if cx.sd.span.test(prev) {
            plan.start = prev + 1;
        }
        // The scan counts down before it probes.
        plan.nr = PROBES + 1;
        Verdict::Scan
    }
}

/// Makes the policy known: from here on its name is a switch like any other.
pub fn add() {
    register(&NearPrev).expect("a name of its own, and one policy in a program");
}

#[allow(dead_code, reason = "the tests run the rest of this file")]
fn main() -> ExitCode {
    add();
    wakelab_cli::main()
}
