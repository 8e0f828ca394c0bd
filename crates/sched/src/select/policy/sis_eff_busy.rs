//! SIS_EFF_BUSY: an LLC that was searched in vain is searched no more until one of its CPUs goes idle. With it, what
//! SIS_EFF_FILTER keeps of the LLC.
//!
//! The hint `has_idle_cores` becomes a state of three: `sd_has_icores`, `sd_has_icpus`, `sd_is_busy`.
//!
//! ```text
//! select_idle_cpu():  sd_is_busy: return -1, before anything else
//!                     after the walk, found nothing (at its end or at the limit):  sd_is_busy
//!                     after the walk, no idle core:                                sd_has_icpus
//! __update_idle_core(), a CPU goes idle:  the core is idle: sd_has_icores;  else sd_is_busy becomes sd_has_icpus
//! ```
//!
//! `sd_has_icores` is `has_idle_cores` here, and `sd_is_busy` is [`LlcCpus::is_busy`], with which `has_idle_cores` is
//! false. Without SMT the kernel never runs `__update_idle_core()`, and the state is not used.
//!
//! SIS_EFF_FILTER, with which the state becomes busy in the same way, keeps a mask of the LLC:
//!
//! ```text
//! becomes busy:    mask = empty, nobody is in it
//! __update_idle_core(core): unless this CPU, or an idle or SCHED_IDLE sibling, was put in since the mask was emptied:
//!                  put this CPU in
//! ```
//!
//! The kernel tells by a generation of the mask, of which a run queue keeps the one in which it was put in
//! (`last_idle_seq`). Here it is a second mask, because the first one starts with all CPUs.
//!
//! "[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS", Abel Wu, 9 September 2022, patches 4 and 5.

use super::about::{About, Recorded, Switch};
use super::{HookContext, HookView, Hooks, Plan, PolicyState, SearchContext, SearchPolicy, Verdict};
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedDomains;
use crate::select::decision::{Decision, Effects, Reason};
use crate::select::{Rules, SearchView};
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisEffBusy;

/// The state of an LLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlcCpus {
    /// `sd_is_busy`.
    pub is_busy: bool,
    /// SIS_EFF_FILTER, `icpus`: the CPUs that are scanned. All at first.
    pub icpus: CpuMask,
    /// CPUs that were put in since the mask was emptied (`last_idle_seq >= seq`). None at first.
    put_in: CpuMask,
}

impl PolicyState for LlcCpus {
    fn new(domains: &SchedDomains, cpu: Cpu) -> Self {
        let none = CpuMask::new(domains.nr_cpus);
        let icpus = domains.sd_llc(cpu).map_or(none.clone(), |sd| CpuMask::clone(&sd.span));
        LlcCpus { is_busy: false, icpus, put_in: none }
    }
}

impl SearchPolicy for SisEffBusy {
    const FEATURE: Feature = Feature::SIS_EFF_BUSY;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_EFF_BUSY,
            does: "with SMT: an LLC in which a search found no idle CPU is not searched until one of its CPUs goes \
                   idle",
            recorded: Recorded::Not("whether a search of the LLC has failed since a CPU went idle (sd_is_busy)"),
        }],
        tunables: &[],
    };

    type LlcState = LlcCpus;
    type CpuState = ();

    #[inline]
    fn is_on(rules: &Rules<'_>) -> bool {
        rules.domains.smt_active && rules.keeps_busy()
    }

    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, _: &mut Plan, _: &mut Effects) -> Verdict {
        let busy = view.policies().is_some_and(|states| states.llc::<Self>(cx.target).is_busy);
        if busy { Verdict::Overloaded } else { Verdict::Scan }
    }

    fn hooks() -> Hooks {
        Hooks::IDLE | Hooks::DECISION
    }

    /// `__update_idle_core()`, but for `has_idle_cores`, which [`update_idle_core`](crate::select::update_idle_core)
    /// sets.
    fn on_idle(cx: &HookContext<'_>, view: &impl HookView, llc: &mut LlcCpus, (): &mut ()) {
        let features = cx.rules.features;
        if features.has(Feature::SIS_EFF_PENDING) && view.ttwu_pending(cx.cpu) {
            return;
        }
        llc.is_busy = false;
        if features.has(Feature::SIS_EFF_FILTER) {
            let siblings = &cx.rules.domains.smt_mask[cx.cpu as usize];
            let counts = |cpu: Cpu| cpu == cx.cpu || view.available_idle_cpu(cpu) || view.sched_idle_cpu(cpu);
            if !siblings.iter().any(|cpu| llc.put_in.test(cpu) && counts(cpu)) {
                llc.icpus.set(cx.cpu);
                llc.put_in.set(cx.cpu);
            }
        }
    }

    /// `clear_idle_cpus()`, if the search has found nothing.
    fn on_decision(cx: &HookContext<'_>, decision: &Decision, llc: &mut LlcCpus, (): &mut ()) {
        if found_nothing(decision.reason) {
            llc.is_busy = true;
            if cx.rules.features.has(Feature::SIS_EFF_FILTER) {
                let none = CpuMask::new(cx.rules.domains.nr_cpus);
                (llc.icpus, llc.put_in) = (none.clone(), none);
            }
        }
    }
}

/// Whether a scan has come to its end, or to its limit, and found nothing.
pub(in crate::select) fn found_nothing(reason: Reason) -> bool {
    matches!(reason, Reason::Limit | Reason::None)
}
