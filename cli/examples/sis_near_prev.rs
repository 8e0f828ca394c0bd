//! A search policy of one's own, and the whole of wakelab with it: docs/guides/a-search-policy.md.

use std::process::ExitCode;
use wakelab_kernel::OwnFeature;
use wakelab_sched::select::policy::{Before, OwnPolicy, Plan, SearchContext, register};
use wakelab_sched::select::{Effects, View};

/// Looks at no more than this many CPUs.
const LOOKS: i32 = 2;

/// Begins at the CPU after the previous one, and looks at two.
#[derive(Debug)]
pub struct NearPrev;

impl OwnPolicy for NearPrev {
    fn feature(&self) -> OwnFeature {
        OwnFeature {
            name: "SIS_NEAR_PREV",
            doc: "Look at two CPUs from the one after the previous CPU on.",
            source: "the guide of search policies",
        }
    }

    fn before(&self, cx: &SearchContext<'_>, _: &dyn View, plan: &mut Plan, _: &mut Effects) -> Before {
        // The walk for an idle core knows no limit, and neither does this policy there.
        if cx.has_idle_core {
            return Before::Walk;
        }
        let prev = cx.wakeup.wakee.prev_cpu;
        if cx.sd.span.test(prev) {
            plan.start = prev + 1;
        }
        // The walk counts down before it looks.
        plan.nr = LOOKS + 1;
        Before::Walk
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
