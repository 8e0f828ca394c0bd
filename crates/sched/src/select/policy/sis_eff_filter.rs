//! SIS_EFF_FILTER: scan only the CPUs of an LLC by which an idle core was told of since the LLC was searched in vain.
//!
//! The mask takes the place of the domain's span in `select_idle_cpu()`, with SMT. One CPU of a core stands for it: the
//! search for an idle core looks at all siblings of a CPU in the mask. Limits and order remain. CPUs that have become
//! busy stay in the mask until it is emptied, and it starts with all: it narrows the scan only after the LLC was busy.
//!
//! `sis_eff_busy.rs` keeps the mask. Patch 5 of "[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS", Abel Wu,
//! 9 September 2022, posted as SIS_FILTER. It is not the SIS_FILTER of v4 ([`SisFilter`](super::SisFilter)).

use super::about::{About, Recorded, Switch};
use super::{Plan, SearchContext, SearchPolicy, SisEffBusy, Verdict};
use crate::select::SearchView;
use crate::select::decision::Effects;
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisEffFilter;

impl SearchPolicy for SisEffFilter {
    const FEATURE: Feature = Feature::SIS_EFF_FILTER;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_EFF_FILTER,
            does: "with SMT: SIS_EFF_BUSY, and scans only CPUs of cores that reported an idle CPU since a search of \
                   the LLC failed",
            recorded: Recorded::Not("which CPUs of the LLC have gone idle since a search of it failed (icpus)"),
        }],
        tunables: &[],
    };

    type LlcState = ();
    type CpuState = ();

    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Verdict {
        if cx.rules.domains.smt_active
            && let Some(states) = view.policies()
        {
            plan.restrict_to(&states.llc::<SisEffBusy>(cx.target).icpus);
        }
        Verdict::Scan
    }
}
