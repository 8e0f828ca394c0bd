//! Search policies, which limit, steer or replace the scan of the LLC in `select_idle_cpu()`.
//!
//! **A new policy is one file and one line.** The file has a type that implements [`SearchPolicy`] and declares
//! ([`SearchPolicy::ABOUT`]) which switches it has, what they do and what they read; the line is in the `registry!`
//! call below, whose order is the order in which the kernel's function evaluates them. A switch's name and source are
//! those of its feature, in `crates/kernel/src/feature/registry.rs`, which the crates below this one read, too. A
//! program that uses this crate can bring a policy along without changing the crate ([`register`]). What each does:
//!
//! | policy | file | before the scan | after it |
//! |---|---|---|---|
//! | SIS_EFF_BUSY | `sis_eff_busy.rs` | ends the search of an LLC that was searched in vain | |
//! | SIS_PROP | `sis_prop.rs` | limit from the average idle time and the average cost of a search | updates both |
//! | SIS_LIMIT | `sis_limit.rs` | SIS_PROP's limit within bounds; begins where the last scan ended | keeps its end |
//! | SIS_SHORT | `sis_short.rs` | the target, if its task and the wakee are short | |
//! | SIS_UTIL | `sis_util.rs` | limit from the LLC's utilisation; 0 ends the search | |
//! | SIS_PARAM | `sis_param.rs` | SIS_UTIL's number by parameters; the target, if both tasks are short | failures |
//! | SIS_SHORT_V6 | `sis_short_v6.rs` | the waking CPU, if both tasks are short and the scan would be small | |
//! | SIS_FILTER | `sis_filter.rs` | takes CPUs out that were overloaded at their last tick | |
//! | SIS_EFF_FILTER | `sis_eff_filter.rs` | leaves cores that have gone idle since the LLC was searched in vain | |
//! | SIS_CACHE | `sis_cache.rs` | the scan passes over idle CPUs that a short sleeper has left | |
//! | a program's own | `own.rs` | what the program declares | what the program declares |
//!
//! A policy that moves the start of the scan writes [`Plan::start`], one that narrows it calls [`Plan::restrict_to`] or
//! [`Plan::exclude`], and one that ends the search with a CPU of its own returns [`Verdict::Take`]. A policy that keeps
//! state between searches names its types and has hooks (`hooks.rs`). SIS_ORACLE (`sis_oracle.rs`) replaces the whole
//! search and is evaluated before it ([`best_idle_cpu`](super::best_idle_cpu)).

mod about;
mod hooks;

pub use about::{About, Recorded, Switch, all, switches};
pub use hooks::{Hook, HookContext, HookTask, HookView, Hooks, PolicyState, PolicyStates, StateChange};
pub use own::{OwnPolicy, OwnState, register, registered};
pub(super) use sis_cache::cache_hot_cpu;
pub use sis_cache::{CacheHotTimeout, SleepAvg};
pub use sis_eff_busy::LlcCpus;
pub(super) use sis_eff_busy::found_nothing;
pub use sis_param::{FailedSearches, SisParamRules};
pub use sis_prop::SisPropRun;
pub use sis_short::DurAvg;
pub(super) use sis_short::is_short_task;
pub(super) use sis_short_v6::is_short_v6;

use super::decision::{Decision, Effects, Reason};
use super::{Event, Observer, Rules, SearchView, Wakeup};
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::{SchedDomain, SchedDomains};
use wakelab_kernel::Feature;

/// The facts about the search that a policy knows.
#[derive(Clone, Copy, Debug)]
pub struct SearchContext<'a> {
    /// The rules of the decision.
    pub rules: &'a Rules<'a>,
    /// Who wakes whom.
    pub wakeup: &'a Wakeup<'a>,
    /// The LLC's domain of the target: `sd_llc`.
    pub sd: &'a SchedDomain,
    /// The CPU around which the search is made.
    pub target: Cpu,
    /// Whether the scan is for an idle core.
    pub has_idle_core: bool,
    /// How many probes the decision has made so far.
    pub probes: u32,
}

/// How the scan will be made.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kernel's `nr`: the scan ends when this, counted down at each CPU, reaches 0; so `nr - 1` CPUs are probed.
    /// A scan for an idle core ignores it.
    pub nr: i32,
    /// Where the scan begins.
    pub start: Cpu,
    /// The state of SIS_PROP between its two halves.
    pub sis_prop: Option<SisPropRun>,
    /// A policy needs the CPU at which the scan ends ([`SearchPolicy::scan_ended`]), so that it is made CPU by CPU.
    pub report_last: bool,
    /// Whether `mask` restricts the scan. The mask itself keeps its memory from search to search.
    masked: bool,
    mask: CpuMask,
}

impl Plan {
    /// A scan from `start` on, of all CPUs of the LLC that the wakee may use, without a limit.
    pub fn new(start: Cpu) -> Self {
        Plan { nr: i32::MAX, start, sis_prop: None, report_last: false, masked: false, mask: CpuMask::new(0) }
    }

    /// Becomes [`Plan::new`].
    #[inline]
    pub(super) fn reset(&mut self, start: Cpu) {
        (self.nr, self.start, self.sis_prop) = (i32::MAX, start, None);
        (self.report_last, self.masked) = (false, false);
    }

    /// Restricts the scan to these CPUs, and to those of masks before: it is made over domain & allowed & mask. As the
    /// mask is taken before the scan, [`Plan::nr`] counts only CPUs that are left in it.
    pub fn restrict_to(&mut self, cpus: &CpuMask) {
        if self.masked {
            self.mask.and_with(cpus);
        } else {
            self.mask.clone_from(cpus);
        }
        self.masked = true;
    }

    /// Takes these CPUs out of the scan.
    pub fn exclude(&mut self, cpus: &CpuMask) {
        if self.masked {
            self.mask.andnot_with(cpus);
        } else {
            self.mask.set_not(cpus);
        }
        self.masked = true;
    }

    /// The mask, if a policy has set one.
    #[inline]
    pub fn mask(&self) -> Option<&CpuMask> {
        self.masked.then_some(&self.mask)
    }
}

/// A policy's verdict before the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next policy is evaluated; after the last one the scan is made.
    Scan,
    /// No scan: there is hardly an idle CPU.
    Overloaded,
    /// No scan: this CPU is taken, for this reason.
    Take(Cpu, Reason),
}

/// One search policy. What it keeps between its two halves is in the [`Plan`]. What it keeps between searches is its
/// state of the LLC and of the CPU; a search reads it ([`PolicyView::policies`](super::PolicyView::policies)), hooks
/// change it.
pub trait SearchPolicy {
    /// The feature that switches it.
    const FEATURE: Feature;

    /// The policy's declaration: [`SearchPolicy::FEATURE`] is the first of its switches.
    const ABOUT: About;

    /// Its state for each LLC (a field of `sched_domain_shared` in the kernel); `()` for nothing.
    type LlcState: PolicyState;

    /// Its state for each CPU (a field of `struct rq`, or a per-CPU variable); `()` for nothing.
    type CpuState: PolicyState;

    /// Called once before the scan. A search may read the states of the target's LLC and of its CPUs.
    ///
    /// In simulated time it is called on a prediction, and again if a state changes before the scan begins. So its
    /// result must depend on its arguments only.
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects) -> Verdict;

    /// Called once after a scan that found an idle CPU or reached its end; a scan that its limit ended, or that found
    /// an idle core, returns without this call, as in the kernel.
    fn after_scan<V: SearchView>(_cx: &SearchContext<'_>, _view: &V, _plan: &Plan, _effects: &mut Effects) {}

    /// Called at the end of every scan for a CPU, however it ended, if [`Plan::report_last`] was set: with the CPU that
    /// it reached last, if it reached one.
    fn scan_ended(_cx: &SearchContext<'_>, _last: Option<Cpu>, _effects: &mut Effects) {}

    /// Whether the policy takes part.
    fn is_on(rules: &Rules<'_>) -> bool {
        rules.features.has(Self::FEATURE)
    }

    /// The hooks that it has. The others are not called.
    fn hooks() -> Hooks {
        Hooks::empty()
    }

    /// Its state of an LLC, of which `cpu` is one of the CPUs, when the domains are built.
    fn llc_state(domains: &SchedDomains, cpu: Cpu) -> Self::LlcState {
        Self::LlcState::new(domains, cpu)
    }

    /// Its state of a CPU when the domains are built.
    fn cpu_state(domains: &SchedDomains, cpu: Cpu) -> Self::CpuState {
        Self::CpuState::new(domains, cpu)
    }

    /// Called at the end of `scheduler_tick()`, before the balance softirq.
    fn on_tick(_: &HookContext<'_>, _: &impl HookView, _llc: &mut Self::LlcState, _cpu: &mut Self::CpuState) {}

    /// Called when the idle task has been picked.
    fn on_idle(_: &HookContext<'_>, _: &impl HookView, _llc: &mut Self::LlcState, _cpu: &mut Self::CpuState) {}

    /// Called when another task has been picked on an idle CPU.
    fn on_busy(_: &HookContext<'_>, _: &impl HookView, _llc: &mut Self::LlcState, _cpu: &mut Self::CpuState) {}

    /// Called when a task has been enqueued.
    fn on_enqueue(
        _: &HookContext<'_>,
        _: &impl HookView,
        _: HookTask,
        _llc: &mut Self::LlcState,
        _cpu: &mut Self::CpuState,
    ) {
    }

    /// Called when a task has left the run queue.
    fn on_dequeue(
        _: &HookContext<'_>,
        _: &impl HookView,
        _: HookTask,
        _llc: &mut Self::LlcState,
        _cpu: &mut Self::CpuState,
    ) {
    }

    /// Called when a search has ended, with the states of the target and its LLC.
    fn on_decision(_: &HookContext<'_>, _: &Decision, _llc: &mut Self::LlcState, _cpu: &mut Self::CpuState) {}
}

/// A policy of the registry: where its states are among those of all policies.
pub trait Registered: SearchPolicy {
    /// Its state of an LLC.
    fn of_llc(states: &LlcStates) -> &Self::LlcState;

    /// Its state of a CPU.
    fn of_cpu(states: &CpuStates) -> &Self::CpuState;
}

macro_rules! registry {
    ($($file:ident::$policy:ident),* $(,)?) => {
        $(pub(super) mod $file;
        pub use $file::$policy;

        impl Registered for $policy {
            #[inline]
            fn of_llc(states: &LlcStates) -> &Self::LlcState {
                &states.$file
            }

            #[inline]
            fn of_cpu(states: &CpuStates) -> &Self::CpuState {
                &states.$file
            }
        })*

        /// The states that all policies keep of one LLC.
        #[derive(Clone, Debug, PartialEq)]
        pub struct LlcStates { $($file: <$policy as SearchPolicy>::LlcState),* }

        /// The states that all policies keep of one CPU.
        #[derive(Clone, Debug, PartialEq)]
        pub struct CpuStates { $($file: <$policy as SearchPolicy>::CpuState),* }

        impl LlcStates {
            fn new(domains: &SchedDomains, cpu: Cpu) -> Self {
                LlcStates { $($file: $policy::llc_state(domains, cpu)),* }
            }
        }

        impl CpuStates {
            fn new(domains: &SchedDomains, cpu: Cpu) -> Self {
                CpuStates { $($file: $policy::cpu_state(domains, cpu)),* }
            }
        }

        /// What the policies of the scan declare, in the order in which they act.
        const OF_THE_SCAN: &[&About] = &[$(&$policy::ABOUT),*];

        /// The hooks of the policies that are on.
        fn hooks_of(rules: &Rules<'_>) -> Hooks {
            let mut hooks = Hooks::empty();
            $(if $policy::is_on(rules) {
                hooks |= $policy::hooks();
            })*
            hooks
        }

        /// Calls a hook of each policy that is on.
        fn call_hook(
            hook: Hook, cx: &HookContext<'_>, view: &impl HookView, llc: &mut LlcStates, cpu: &mut CpuStates,
        ) {
            $(if $policy::is_on(cx.rules) {
                let (llc, cpu) = (&mut llc.$file, &mut cpu.$file);
                match hook {
                    Hook::Tick => $policy::on_tick(cx, view, llc, cpu),
                    Hook::Idle => $policy::on_idle(cx, view, llc, cpu),
                    Hook::Busy => $policy::on_busy(cx, view, llc, cpu),
                    Hook::Enqueue(task) => $policy::on_enqueue(cx, view, task, llc, cpu),
                    Hook::Dequeue(task) => $policy::on_dequeue(cx, view, task, llc, cpu),
                }
            })*
        }

        /// Calls [`SearchPolicy::on_decision`] of each policy that is on.
        fn on_decision(cx: &HookContext<'_>, decision: &Decision, llc: &mut LlcStates, cpu: &mut CpuStates) {
            $(if $policy::is_on(cx.rules) {
                $policy::on_decision(cx, decision, &mut llc.$file, &mut cpu.$file);
            })*
        }

        /// Calls each policy that is on before the scan, in the kernel's order.
        #[inline]
        pub(super) fn before_scan<V: SearchView, O: Observer>(
            cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects, observer: &mut O,
        ) -> Verdict {
            $(if $policy::is_on(cx.rules) {
                let nr = plan.nr;
                let verdict = $policy::before_scan(cx, view, plan, effects);
                if let Verdict::Take(cpu, _) = verdict {
                    observer.event(Event::Taken { by: $policy::FEATURE, cpu });
                } else if plan.nr != nr || verdict != Verdict::Scan {
                    observer.event(Event::Limit { by: $policy::FEATURE, nr: plan.nr });
                }
                if verdict != Verdict::Scan {
                    return verdict;
                }
            })*
            Verdict::Scan
        }

        /// Calls each policy that is on after the scan.
        #[inline]
        pub(super) fn after_scan<V: SearchView>(
            cx: &SearchContext<'_>, view: &V, plan: &Plan, effects: &mut Effects,
        ) {
            $(if $policy::is_on(cx.rules) {
                $policy::after_scan(cx, view, plan, effects);
            })*
        }

        /// Calls each policy that is on with the CPU at which the scan ended.
        #[cold]
        pub(super) fn scan_ended(cx: &SearchContext<'_>, last: Option<Cpu>, effects: &mut Effects) {
            $(if $policy::is_on(cx.rules) {
                $policy::scan_ended(cx, last, effects);
            })*
        }
    };
}

pub(super) mod sis_oracle;

registry! {
    sis_eff_busy::SisEffBusy,
    sis_prop::SisProp,
    sis_limit::SisLimit,
    sis_short::SisShort,
    sis_util::SisUtil,
    sis_param::SisParam,
    sis_short_v6::SisShortV6,
    sis_filter::SisFilter,
    sis_eff_filter::SisEffFilter,
    sis_cache::SisCache,
    own::Own,
}
