//! A search policy of your own in a program that is wakelab otherwise: docs/extending.md.

use std::process::ExitCode;
use wakelab_kernel::OwnFeature;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::select::policy::{
    HookContext, HookView, Hooks, Own, OwnPolicy, OwnState, Plan, SearchContext, Verdict, register,
};
use wakelab_sched::select::{Effects, SearchView};

/// The number of CPUs that are probed at most.
const PROBES: i32 = 2;

/// Each LLC has a mask of CPUs that have been idle since their last tick. The scan probes two of them.
#[derive(Debug)]
pub struct IdleMask;

impl OwnPolicy for IdleMask {
    fn feature(&self) -> OwnFeature {
        OwnFeature {
            name: "SIS_IDLE_MASK",
            doc: "Probe two of the CPUs that have been idle since their last tick.",
            source: "the guide of search policies",
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks::IDLE | Hooks::TICK
    }

    /// At first all CPUs of the LLC are idle.
    fn llc_state(&self, domains: &SchedDomains, cpu: Cpu) -> OwnState {
        let span = domains.sd_llc(cpu).map(|sd| (*sd.span).clone());
        OwnState::new(span.unwrap_or(CpuMask::new(domains.nr_cpus)))
    }

    fn on_idle(&self, cx: &HookContext<'_>, _: &dyn HookView, llc: &mut OwnState, _: &mut OwnState) {
        llc.get_mut::<CpuMask>().set(cx.cpu);
    }

    fn on_tick(&self, cx: &HookContext<'_>, view: &dyn HookView, llc: &mut OwnState, _: &mut OwnState) {
        llc.get_mut::<CpuMask>().assign(cx.cpu, view.available_idle_cpu(cx.cpu));
    }

    fn before_scan(&self, cx: &SearchContext<'_>, view: &dyn SearchView, plan: &mut Plan, _: &mut Effects) -> Verdict {
        // A scan for an idle core has no limit, and no mask from this policy either.
        if !cx.has_idle_core
            && let Some(states) = view.policies()
        {
            plan.restrict_to(states.llc::<Own>(cx.target).get::<CpuMask>());
            // The scan counts down before it probes.
            plan.nr = PROBES + 1;
        }
        Verdict::Scan
    }
}

/// Makes the policy known: from here on its name is a switch like any other.
pub fn add() {
    register(&IdleMask).expect("a name of its own, and one policy in a program");
}

#[allow(dead_code, reason = "the tests run the rest of this file")]
fn main() -> ExitCode {
    add();
    wakelab_cli::main()
}
