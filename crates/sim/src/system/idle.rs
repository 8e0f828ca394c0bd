//! The idle CPUs as wake-ups on other CPUs see them (`available_idle_cpu()`, `sched_idle_cpu()`), in the forms in which
//! searches read them: each CPU, a mask, cores, LLCs.

use crate::model::Model;
use crate::numbered::Numbered;
use crate::system::System;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{IdleChange, IdleCores, IdleView, LlcIdle, MaskView};

/// The idle CPUs.
#[derive(Debug)]
pub struct IdleCpus {
    /// CPUs for which `available_idle_cpu()` is true.
    available: CpuMask,
    /// The cores all of whose CPUs are idle.
    cores: IdleCores,
    /// The idle CPUs by LLC.
    llcs: Numbered<LlcIdle>,
    /// CPUs for which `sched_idle_cpu()` is true; `None` if no task can have policy SCHED_IDLE.
    sched_idle: Option<CpuMask>,
}

impl IdleCpus {
    /// All are.
    pub fn new(model: &Model<'_>) -> Self {
        let all = CpuMask::full(model.nr_cpus());
        IdleCpus {
            cores: IdleCores::new(&all, &model.domains.smt_mask),
            llcs: model.search_llcs.idle(&all).into(),
            sched_idle: model.may_be_sched_idle().then(|| CpuMask::new(model.nr_cpus())),
            available: all,
        }
    }

    /// Whether `sched_idle_cpu()` can be true of a CPU.
    #[inline]
    pub fn may_be_sched_idle(&self) -> bool {
        self.sched_idle.is_some()
    }

    /// The idle CPUs of an LLC.
    #[inline]
    pub fn of_llc(&self, llc: u32) -> &LlcIdle {
        &self.llcs[llc]
    }

    /// What would change for searches that are positions if the CPU became idle or busy.
    pub fn change(&self, model: &Model<'_>, cpu: Cpu, idle: bool) -> IdleChange {
        model.search_llcs.idle_change(&self.llcs, cpu, idle)
    }

    /// Sets what the two functions return of a CPU.
    pub fn set(&mut self, model: &Model<'_>, cpu: Cpu, idle: bool, sched_idle: bool) {
        self.available.assign(cpu, idle);
        if let Some(mask) = &mut self.sched_idle {
            mask.assign(cpu, sched_idle);
        }
        self.cores.update(&self.available, &model.siblings[cpu]);
        model.search_llcs.assign(&mut self.llcs, cpu, idle);
    }
}

impl System<'_> {
    /// Returns the result of `available_idle_cpu()` for the CPU's present state.
    #[inline]
    pub fn available_idle_now(&self, cpu: Cpu) -> bool {
        let c = &self.cpus[cpu];
        let claimed = !self.model.mechanisms.window && c.claims != 0;
        c.curr_idle && c.nr_running == 0 && !c.ttwu_pending && !claimed
    }
}

impl IdleView for System<'_> {
    #[inline]
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.available.test(cpu)
    }

    #[inline]
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.sched_idle.as_ref().is_some_and(|cpus| cpus.test(cpu))
    }
}

impl MaskView for System<'_> {
    #[inline]
    fn idle_mask(&self) -> Option<&CpuMask> {
        Some(&self.idle.available)
    }

    #[inline]
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        self.idle.sched_idle.as_ref()
    }

    #[inline]
    fn idle_cores(&self) -> Option<&IdleCores> {
        self.idle.sched_idle.is_none().then_some(&self.idle.cores)
    }
}
