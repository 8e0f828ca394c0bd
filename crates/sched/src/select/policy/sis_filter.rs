//! SIS_FILTER: leave CPUs out of the scan that were overloaded at their last tick.
//!
//! Each LLC has a mask `overloaded_cpus` (in `sched_domain_shared`). Only a CPU's own tick sets or clears its bit, at
//! the end of `scheduler_tick()` (`update_overloaded_rq()`), so that the bit lags by up to a tick. An idle CPU whose
//! tick is stopped keeps its bit for as long as it is idle, and the scan skips it.
//!
//! ```text
//! overloaded(cpu):                                            imbalance_pct is that of the LLC's domain
//!     nr_running - cfs.idle_h_nr_running > 1  and
//!     (   cpu_util_cfs() × imbalance_pct > 1024 × 100         util_avg above 1024 / 1.17
//!      or runnable_avg × 100 > 1024 × imbalance_pct)          runnable_avg above 1024 × 1.17
//!
//! select_idle_cpu():  SIS_PROP and SIS_UTIL as ever, then
//!     if !has_idle_core:  cpus &= ~overloaded_cpus            so that nr counts only CPUs that are left
//! ```
//!
//! The search for an idle core, `select_idle_smt()` and the checks of target, prev and recent_used_cpu ignore the mask.
//!
//! "[PATCH v4 6/7] sched/fair: skip busy cores in SIS search", Abel Wu, June 2022, in the form that Chen Yu measured on
//! 9 July 2022. It is not the SIS_FILTER of v5 (September 2022), which keeps a mask of idle CPUs.

use super::about::{About, Recorded, Switch};
use super::{HookContext, HookView, Hooks, Plan, SearchContext, SearchPolicy, Verdict};
use crate::cpumask::CpuMask;
use crate::select::SearchView;
use crate::select::decision::Effects;
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisFilter;

impl SearchPolicy for SisFilter {
    const FEATURE: Feature = Feature::SIS_FILTER;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_FILTER,
            does: "leaves CPUs that were overloaded at their last tick out of the scan for a CPU: more than one task \
                   that is not SCHED_IDLE, and util_avg above 85% or runnable_avg above 117%",
            recorded: Recorded::Not("which CPUs of the LLC were overloaded at their last tick (overloaded_cpus)"),
        }],
        tunables: &[],
    };

    /// `sd_llc->shared->overloaded_cpus`.
    type LlcState = CpuMask;
    type CpuState = ();

    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Verdict {
        if !cx.has_idle_core
            && let Some(states) = view.policies()
        {
            plan.exclude(states.llc::<Self>(cx.target));
        }
        Verdict::Scan
    }

    fn hooks() -> Hooks {
        Hooks::TICK
    }

    /// `update_overloaded_rq()`.
    fn on_tick(cx: &HookContext<'_>, view: &impl HookView, overloaded_cpus: &mut CpuMask, (): &mut ()) {
        overloaded_cpus.assign(cx.cpu, is_overloaded(cx, view));
    }
}

fn is_overloaded(cx: &HookContext<'_>, view: &impl HookView) -> bool {
    const SCHED_CAPACITY_SCALE: u64 = 1024;
    let imbalance_pct = u64::from(cx.sd.imbalance_pct);
    // SCHED_IDLE tasks do not count.
    view.nr_running(cx.cpu).saturating_sub(view.idle_h_nr_running(cx.cpu)) > 1
        && (view.cpu_util_cfs(cx.cpu) * imbalance_pct > SCHED_CAPACITY_SCALE * 100
            || view.cpu_runnable(cx.cpu) * 100 > SCHED_CAPACITY_SCALE * imbalance_pct)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpumask::Cpu;
    use crate::domain::{DomainOptions, SchedDomains, Uniform, build_sched_domains};
    use crate::select::policy::{Hook, PolicyStates};
    use crate::select::{
        AsymView, Cx, Decision, IdleView, LlcView, MaskView, PolicyView, Reason, RqView, Rules, Select, UtilView,
        WakeFlags, Wakee, Waker, Wakeup, select_idle_sibling,
    };
    use wakelab_kernel::Preset;

    /// The values that the tick of a CPU reads.
    #[derive(Clone, Copy, Default)]
    struct Rq {
        nr_running: u32,
        idle_h_nr_running: u32,
        util_avg: u64,
        util_est: u64,
        runnable_avg: u64,
    }

    /// At each limit, but not above it.
    const NOT_OVERLOADED: Rq =
        Rq { nr_running: 2, idle_h_nr_running: 0, util_avg: 875, util_est: 875, runnable_avg: 1198 };
    const OVERLOADED: Rq = Rq { util_avg: 876, ..NOT_OVERLOADED };

    /// Eight cores below one cache. A CPU is idle if it has no task.
    struct System {
        domains: SchedDomains,
        switches: &'static str,
        rqs: Vec<Rq>,
        has_idle_cores: bool,
        nr_idle_scan: i32,
        states: Option<PolicyStates>,
    }

    impl IdleView for System {
        fn available_idle_cpu(&self, cpu: Cpu) -> bool {
            self.nr_running(cpu) == 0
        }
        fn sched_idle_cpu(&self, _: Cpu) -> bool {
            false
        }
    }

    impl RqView for System {
        fn nr_running(&self, cpu: Cpu) -> u32 {
            self.rqs[cpu as usize].nr_running
        }
        fn cpu_load(&self, _: Cpu) -> u64 {
            0
        }
        fn cpu_runnable_load(&self, _: Cpu) -> u64 {
            0
        }
        fn capacity_of(&self, _: Cpu) -> u64 {
            1024
        }
    }

    impl LlcView for System {
        fn has_idle_cores(&self, _: Cpu) -> bool {
            self.has_idle_cores
        }
        fn nr_idle_scan(&self, _: Cpu) -> i32 {
            self.nr_idle_scan
        }
    }

    impl UtilView for System {
        fn cpu_runnable(&self, cpu: Cpu) -> u64 {
            self.rqs[cpu as usize].runnable_avg
        }
        fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
            self.rqs[cpu as usize].util_avg
        }
        fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
            Some(self.rqs[cpu as usize].util_est)
        }
    }

    impl HookView for System {
        fn idle_h_nr_running(&self, cpu: Cpu) -> u32 {
            self.rqs[cpu as usize].idle_h_nr_running
        }
        fn sched_clock_cpu(&self, _: Cpu) -> u64 {
            0
        }
    }

    impl PolicyView for System {
        fn policies(&self) -> Option<&PolicyStates> {
            self.states.as_ref()
        }
    }

    impl AsymView for System {}
    impl MaskView for System {}

    impl System {
        /// All CPUs busy with one task each.
        fn new(threads: u32) -> Self {
            let topology = Uniform::new(8 / threads, threads).topology();
            let kernel = Preset::get("v5.19-rc2-tip").expect("a preset");
            let domains = build_sched_domains(&topology, &DomainOptions::of(kernel)).expect("a machine");
            let mut system = System {
                domains,
                switches: "SIS_UTIL,NO_SIS_PROP,SIS_FILTER",
                rqs: vec![Rq { nr_running: 1, ..Rq::default() }; 8],
                has_idle_cores: false,
                nr_idle_scan: 8,
                states: None,
            };
            system.states = Some(PolicyStates::new(&system.rules()));
            system
        }

        fn rules(&self) -> Rules<'_> {
            let kernel = Preset::get("v5.19-rc2-tip").expect("a preset");
            let features = kernel.switched(&self.switches.parse().expect("switches")).expect("they fit the kernel");
            Rules::new(kernel, features, &self.domains).expect("is modelled")
        }

        fn call(&mut self, hook: Hook, cpu: Cpu) {
            let states = self.states.as_ref().expect("the system has states");
            if states.hooks().contains(hook.bit()) {
                let change = states.hook(hook, cpu, &self.rules(), self);
                let states = self.states.as_mut().expect("the system has states");
                change.into_iter().for_each(|change| states.apply(change));
            }
        }

        fn tick(&mut self) {
            (0..8).for_each(|cpu| self.call(Hook::Tick, cpu));
        }

        fn overloaded(&self) -> String {
            self.states.as_ref().expect("the system has states").llc::<SisFilter>(0).to_string()
        }

        /// CPU 0 wakes a task that ran there last.
        fn wake(&self) -> Decision {
            let (rules, allowed) = (self.rules(), CpuMask::full(8));
            let wakeup = Wakeup { waker: Waker::new(0), wakee: Wakee::new(0, &allowed), flags: WakeFlags::TTWU };
            select_idle_sibling(&mut Select::default(), Cx { rules: &rules, wakeup: &wakeup, view: self }, 0, &mut ())
        }
    }

    #[test]
    fn a_cpu_is_overloaded_above_each_limit_and_not_at_it() {
        let mut system = System::new(1);
        assert_eq!(system.domains.sd_llc(0).expect("an LLC").imbalance_pct, 117);
        system.rqs = vec![
            NOT_OVERLOADED,
            OVERLOADED,
            Rq { util_est: 876, ..NOT_OVERLOADED },
            Rq { runnable_avg: 1199, ..NOT_OVERLOADED },
            // One task, however busy.
            Rq { nr_running: 1, util_avg: 1024, runnable_avg: 4096, ..Rq::default() },
            // Two tasks, of which one is SCHED_IDLE.
            Rq { idle_h_nr_running: 1, ..OVERLOADED },
            // Three, of which one is.
            Rq { nr_running: 3, idle_h_nr_running: 1, ..OVERLOADED },
            Rq::default(),
        ];
        system.tick();
        assert_eq!(system.overloaded(), "1-3,6");
    }

    #[test]
    fn an_idle_cpu_is_skipped_until_its_next_tick() {
        let mut system = System::new(1);
        system.rqs[4] = OVERLOADED;
        assert_eq!(system.overloaded(), "", "the mask is empty when the domains are built");
        system.tick();
        system.rqs[4] = Rq::default();
        // Nothing but the tick clears the bit.
        system.call(Hook::Idle, 4);
        assert_eq!((system.overloaded().as_str(), system.wake().reason), ("4", Reason::None));
        system.call(Hook::Tick, 3);
        assert_eq!(system.overloaded(), "4", "the tick of another CPU");
        system.call(Hook::Tick, 4);
        assert_eq!((system.overloaded().as_str(), system.wake().cpu), ("", 4));
    }

    #[test]
    fn the_limit_counts_only_cpus_that_are_left() {
        let mut system = System::new(1);
        for cpu in 1..6 {
            system.rqs[cpu] = OVERLOADED;
        }
        system.rqs[7] = Rq::default();
        system.nr_idle_scan = 2;
        let decision = system.wake();
        assert_eq!((decision.reason, decision.count.scanned), (Reason::Limit, 1 + 2), "1 and 2 are probed");
        system.tick();
        let decision = system.wake();
        assert_eq!((decision.reason, decision.cpu, decision.count.scanned), (Reason::Scan, 7, 1 + 2), "6 and 7 are");
    }

    #[test]
    fn fast_paths_siblings_and_the_scan_for_a_core_ignore_the_mask() {
        let idle_but_overloaded = |threads, idle: &[usize], has_idle_cores| {
            let mut system = System::new(threads);
            system.rqs.fill(OVERLOADED);
            system.tick();
            idle.iter().for_each(|&cpu| system.rqs[cpu] = Rq::default());
            System { has_idle_cores, ..system }.wake()
        };
        let at = |decision: Decision| (decision.reason, decision.cpu);
        assert_eq!(at(idle_but_overloaded(2, &[0], false)), (Reason::Target, 0));
        assert_eq!(at(idle_but_overloaded(2, &[1], false)), (Reason::Smt, 1));
        assert_eq!(at(idle_but_overloaded(2, &[4, 5], true)), (Reason::Core, 4));
        assert_eq!(at(idle_but_overloaded(2, &[5], true)), (Reason::CoreCpu, 5));
        assert_eq!(at(idle_but_overloaded(2, &[4, 5], false)), (Reason::None, 0), "the scan for a CPU does not");
    }

    #[test]
    fn switched_off_it_has_no_hook_and_changes_no_decision() {
        for idle in 0..8 {
            let mut with = System::new(2);
            with.rqs.fill(OVERLOADED);
            with.tick();
            with.rqs[idle] = Rq::default();
            with.switches = "SIS_UTIL,NO_SIS_PROP";
            assert_eq!(PolicyStates::new(&with.rules()).hooks(), Hooks::empty());
            let decision = with.wake();
            assert_eq!(decision.cpu, idle as Cpu);
            with.states = None;
            assert_eq!(with.wake(), decision);
        }
    }
}
