//! Search policies with state: calls their hooks where the kernel's functions would, and predicts anew the searches
//! that depend on a state that has changed.
//!
//! A search reads the states once, before its scan begins. One that has not come that far when a state changes is
//! brought up to that moment first, as with any change ([`Sim::change_seen_by_searches`]).

use crate::engine::Sim;
use crate::system::{BOOT_NS, System};
use crate::task::State;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::Decision;
use wakelab_sched::select::policy::{Hook, HookTask, HookView, Hooks, StateChange};

impl HookView for System<'_> {
    fn idle_h_nr_running(&self, cpu: Cpu) -> u32 {
        self.cpus[cpu].rq.nr_idle()
    }

    fn sched_clock_cpu(&self, _: Cpu) -> u64 {
        BOOT_NS + self.now
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Calls a hook, if a policy that is on has it.
    #[inline]
    pub fn hook(&mut self, hook: Hook, cpu: Cpu) {
        if self.sys.policies.hooks().contains(hook.bit()) {
            self.call_hook(hook, cpu);
        }
    }

    /// The end of `enqueue_task_fair()`.
    #[inline]
    pub fn hook_enqueue(&mut self, cpu: Cpu, task: TaskId, wakes: bool) {
        if self.sys.policies.hooks().contains(Hooks::ENQUEUE) {
            self.call_hook(Hook::Enqueue(self.hook_task(task, wakes)), cpu);
        }
    }

    /// Tasks may have left run queues: those that went to sleep or exited, or one that is being moved.
    #[inline]
    pub fn hook_dequeue(&mut self, moved: bool) {
        if self.sys.policies.hooks().contains(Hooks::DEQUEUE) {
            for (cpu, task) in std::mem::take(&mut self.sys.dequeued) {
                let sleeps = !moved && matches!(self.sys.tasks[task].state, State::Sleeping(_));
                self.call_hook(Hook::Dequeue(self.hook_task(task, sleeps)), cpu);
            }
        }
    }

    /// The end of a search.
    #[inline]
    pub fn hook_decision(&mut self, decision: &Decision) {
        if self.sys.policies.hooks().contains(Hooks::DECISION) {
            let change = self.sys.policies.decided(decision, &self.sys.rules);
            self.apply_change(decision.target, change);
        }
    }

    #[cold]
    #[inline(never)]
    fn call_hook(&mut self, hook: Hook, cpu: Cpu) {
        let change = self.sys.policies.hook(hook, cpu, &self.sys.rules, &self.sys);
        self.apply_change(cpu, change);
    }

    fn apply_change(&mut self, cpu: Cpu, change: Option<StateChange>) {
        let Some(change) = change else { return };
        let llc = self.sys.model.searches_of[cpu];
        self.change_seen_by_policies(llc, |_, _| true, |sys| sys.policies.apply(change));
    }

    fn hook_task(&self, task: TaskId, sleep: bool) -> HookTask {
        let entity = &self.sys.es[task];
        HookTask {
            task: u64::from(task.0),
            sleep,
            idle_policy: entity.is_idle(),
            sum_exec_runtime: entity.sum_exec_runtime,
            sis_rsv_avg: self.sys.tasks[task].sleep.sis_rsv_avg,
        }
    }
}
