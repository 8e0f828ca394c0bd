//! State of search policies, and the hooks that keep it up to date.
//!
//! A policy keeps one value for each LLC and one for each CPU
//! ([`SearchPolicy::LlcState`](super::SearchPolicy::LlcState) and `CpuState`), where the kernel would have fields of
//! `sched_domain_shared` and of `struct rq`. All of them are in one place, [`PolicyStates`], which the owner of the
//! system keeps, and which a search reads through [`PolicyView::policies`](crate::select::PolicyView::policies).
//!
//! Only hooks change them. The owner calls a hook where the kernel's function would, if a policy that is on has it:
//! that is one test of a mask of bits ([`PolicyStates::hooks`]) that is computed once.
//!
//! ```text
//! hook         called
//! ──────────   ────────────────────────────────────────────────────────────────────────────────────────
//! on_tick      at the end of scheduler_tick(), before the balance softirq; an idle CPU whose tick is stopped has none
//! on_idle      when the idle task is picked: set_next_task_idle(), after update_idle_core()
//! on_busy      when another task is picked on an idle CPU: put_prev_task_idle()
//! on_enqueue   at the end of enqueue_task_fair()
//! on_dequeue   when a task has left the run queue: the end of dequeue_task_fair(), later if the dequeue is delayed
//! on_decision  when a search has ended and the kernel would have written what it keeps, for the target's CPU and LLC
//! ```
//!
//! A hook gets copies of the two states of its CPU, and [`PolicyStates::hook`] returns them as a [`StateChange`] if
//! they differ. So a simulator in which searches take time can bring the searches that depend on the states up to the
//! present moment before it applies the change.

use super::{CpuStates, LlcStates, Registered};
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::{SchedDomain, SchedDomains};
use crate::select::{AsymView, Decision, IdleView, RqView, Rules, UtilView};
use std::fmt::Debug;

bitflags::bitflags! {
    /// The hooks that a policy has.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Hooks: u8 {
        /// [`SearchPolicy::on_tick`](super::SearchPolicy::on_tick).
        const TICK = 1;
        /// [`SearchPolicy::on_idle`](super::SearchPolicy::on_idle).
        const IDLE = 2;
        /// [`SearchPolicy::on_busy`](super::SearchPolicy::on_busy).
        const BUSY = 4;
        /// [`SearchPolicy::on_enqueue`](super::SearchPolicy::on_enqueue).
        const ENQUEUE = 8;
        /// [`SearchPolicy::on_dequeue`](super::SearchPolicy::on_dequeue).
        const DEQUEUE = 16;
        /// [`SearchPolicy::on_decision`](super::SearchPolicy::on_decision).
        const DECISION = 32;
    }
}

/// A hook that reads the system, with what it passes.
#[derive(Clone, Copy, Debug)]
pub enum Hook {
    /// [`SearchPolicy::on_tick`](super::SearchPolicy::on_tick).
    Tick,
    /// [`SearchPolicy::on_idle`](super::SearchPolicy::on_idle).
    Idle,
    /// [`SearchPolicy::on_busy`](super::SearchPolicy::on_busy).
    Busy,
    /// [`SearchPolicy::on_enqueue`](super::SearchPolicy::on_enqueue).
    Enqueue(HookTask),
    /// [`SearchPolicy::on_dequeue`](super::SearchPolicy::on_dequeue).
    Dequeue(HookTask),
}

impl Hook {
    /// The hook's bit.
    #[inline]
    pub const fn bit(&self) -> Hooks {
        match self {
            Hook::Tick => Hooks::TICK,
            Hook::Idle => Hooks::IDLE,
            Hook::Busy => Hooks::BUSY,
            Hook::Enqueue(_) => Hooks::ENQUEUE,
            Hook::Dequeue(_) => Hooks::DEQUEUE,
        }
    }
}

/// A task that joins or leaves a run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookTask {
    /// A number that identifies the task.
    pub task: u64,
    /// `ENQUEUE_WAKEUP`: it wakes up; `DEQUEUE_SLEEP`: it goes to sleep. False if it is moved, forked or exits.
    pub sleep: bool,
    /// `task_has_idle_policy()`: SCHED_IDLE.
    pub idle_policy: bool,
    /// `se.sum_exec_runtime`, ns.
    pub sum_exec_runtime: u64,
    /// `sis_rsv_avg`: for how long it sleeps on average if it sleeps shortly, ns. Known with SIS_CACHE on.
    pub sis_rsv_avg: u64,
}

/// Where a hook is called.
#[derive(Clone, Copy, Debug)]
pub struct HookContext<'a> {
    /// The rules of the system.
    pub rules: &'a Rules<'a>,
    /// The CPU.
    pub cpu: Cpu,
    /// Its `sd_llc`. No hook is called for a CPU without one: it is never searched.
    pub sd: &'a SchedDomain,
}

/// The view of the system that a hook reads.
pub trait HookView: IdleView + RqView + UtilView + AsymView {
    /// `rq->cfs.idle_h_nr_running` (`h_nr_idle` since 6.12): tasks of policy SCHED_IDLE.
    fn idle_h_nr_running(&self, cpu: Cpu) -> u32;

    /// `sched_clock_cpu()`, ns.
    fn sched_clock_cpu(&self, cpu: Cpu) -> u64;

    /// `cpu_util_cfs()` (`cpu_util()` in 5.19): `util_avg`, raised to the estimate with UTIL_EST, up to the CPU's
    /// capacity.
    fn cpu_util_cfs(&self, cpu: Cpu) -> u64 {
        let util = self.cpu_util_avg(cpu).max(self.cpu_util_est(cpu).unwrap_or(0));
        util.min(self.arch_scale_cpu_capacity(cpu))
    }
}

/// The state that a policy keeps for an LLC or a CPU. A policy without state has `()`.
pub trait PolicyState: Clone + Debug + PartialEq {
    /// The state when the domains are built. `cpu` is the CPU, or a CPU of the LLC.
    fn new(domains: &SchedDomains, cpu: Cpu) -> Self;
}

impl PolicyState for () {
    fn new(_: &SchedDomains, _: Cpu) -> Self {}
}

/// No CPU is in the mask at first.
impl PolicyState for CpuMask {
    fn new(domains: &SchedDomains, _: Cpu) -> Self {
        CpuMask::new(domains.nr_cpus)
    }
}

/// `None` at first.
impl<T: Clone + Debug + PartialEq> PolicyState for Option<T> {
    fn new(_: &SchedDomains, _: Cpu) -> Self {
        None
    }
}

/// The state of all policies of one system.
#[derive(Clone, Debug)]
pub struct PolicyStates {
    hooks: Hooks,
    /// By CPU: the index of its LLC.
    llc_of: Vec<u32>,
    llcs: Vec<LlcStates>,
    cpus: Vec<CpuStates>,
}

/// The change that a hook makes to the states of its CPU and of that CPU's LLC.
#[derive(Clone, Debug)]
pub struct StateChange {
    at: Cpu,
    llc: LlcStates,
    cpu: CpuStates,
}

impl PolicyStates {
    /// The states when the domains are built, and the hooks of the policies that are on.
    pub fn new(rules: &Rules<'_>) -> Self {
        let domains = rules.domains;
        let mut first: Vec<Cpu> = domains.sd_llc_id.clone();
        first.sort_unstable();
        first.dedup();
        let index = |id: &Cpu| first.binary_search(id).expect("it is one of them") as u32;
        PolicyStates {
            hooks: super::hooks_of(rules),
            llc_of: domains.sd_llc_id.iter().map(index).collect(),
            llcs: first.iter().map(|&cpu| LlcStates::new(domains, cpu)).collect(),
            cpus: (0..domains.nr_cpus).map(|cpu| CpuStates::new(domains, cpu)).collect(),
        }
    }

    /// The hooks that have to be called.
    #[inline]
    pub fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// Returns the policy's state for the LLC of this CPU.
    #[inline]
    pub fn llc<P: Registered>(&self, cpu: Cpu) -> &P::LlcState {
        P::of_llc(&self.llcs[self.llc_of[cpu as usize] as usize])
    }

    /// Returns the policy's state for this CPU.
    #[inline]
    pub fn cpu<P: Registered>(&self, cpu: Cpu) -> &P::CpuState {
        P::of_cpu(&self.cpus[cpu as usize])
    }

    /// Calls a hook of each policy that is on. `None` if none of them changes a state.
    #[must_use = "the change has to be applied"]
    pub fn hook(&self, hook: Hook, cpu: Cpu, rules: &Rules<'_>, view: &impl HookView) -> Option<StateChange> {
        self.changed(cpu, rules, |cx, llc, of_cpu| super::call_hook(hook, cx, view, llc, of_cpu))
    }

    /// Calls [`SearchPolicy::on_decision`](super::SearchPolicy::on_decision) of each policy that is on. `None` if none
    /// of them changes a state.
    #[must_use = "the change has to be applied"]
    pub fn decided(&self, decision: &Decision, rules: &Rules<'_>) -> Option<StateChange> {
        self.changed(decision.target, rules, |cx, llc, of_cpu| super::on_decision(cx, decision, llc, of_cpu))
    }

    fn changed(
        &self,
        cpu: Cpu,
        rules: &Rules<'_>,
        call: impl FnOnce(&HookContext<'_>, &mut LlcStates, &mut CpuStates),
    ) -> Option<StateChange> {
        let sd = rules.domains.sd_llc(cpu)?;
        let (llc, of_cpu) = (&self.llcs[self.llc_of[cpu as usize] as usize], &self.cpus[cpu as usize]);
        let mut change = StateChange { at: cpu, llc: llc.clone(), cpu: of_cpu.clone() };
        call(&HookContext { rules, cpu, sd }, &mut change.llc, &mut change.cpu);
        (change.llc != *llc || change.cpu != *of_cpu).then_some(change)
    }

    /// Applies what a hook has changed.
    pub fn apply(&mut self, change: StateChange) {
        self.llcs[self.llc_of[change.at as usize] as usize] = change.llc;
        self.cpus[change.at as usize] = change.cpu;
    }
}
