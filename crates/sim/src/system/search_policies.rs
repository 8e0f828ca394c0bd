//! Search policies with state: calls their hooks where the kernel's functions would, and predicts anew the searches
//! that depend on a state that has changed.
//!
//! A search reads the states once, before its scan begins. One that has not come that far when a state changes is
//! brought up to that moment first, as with any change ([`Sim::change_seen_by_searches`]).

use crate::engine::Sim;
use crate::model::Model;
use crate::numbered::PerCpu;
use crate::system::{BOOT_NS, System};
use crate::task::State;
use smallvec::SmallVec;
use wakelab_events::sim::Sink;
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::policy::{Hook, HookTask, HookView, Hooks, PolicyStates, StateChange};
use wakelab_sched::select::{Decision, PolicyView, Rules, ScanClock};

/// The values that SIS_SHORT reads of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnlyTask {
    /// `rq->nr_running`.
    pub nr_running: u32,
    /// `se.dur_avg` of the running task, ns; 0 if nothing runs.
    pub dur_avg: u64,
}

/// The state that search policies keep and read.
#[derive(Debug)]
pub struct SearchPolicies {
    /// Of LLCs and CPUs.
    states: PolicyStates,
    /// Tasks that have left run queues, and which, until the policies' hook is called; empty if no policy has it.
    dequeued: SmallVec<[(Cpu, TaskId); 2]>,
    /// With SIS_SHORT and its forms: the CPUs' tasks, as their searches see them. Nothing else reads it, so that a
    /// policy that is on changes nothing but its own decisions.
    only_tasks: Option<PerCpu<OnlyTask>>,
}

impl SearchPolicies {
    /// At the start.
    pub fn new(model: &Model<'_>, rules: &Rules<'_>) -> Self {
        let reads_tasks = [Feature::SIS_SHORT, Feature::SIS_SHORT_V6, Feature::SIS_PARAM];
        SearchPolicies {
            states: PolicyStates::new(rules),
            dequeued: SmallVec::new(),
            only_tasks: reads_tasks
                .iter()
                .any(|&feature| model.features.has(feature))
                .then(|| vec![OnlyTask::default(); model.nr_cpus() as usize].into()),
        }
    }

    /// The hooks that the policies that are on have.
    #[inline]
    pub fn hooks(&self) -> Hooks {
        self.states.hooks()
    }

    /// Notes a task that has left a run queue.
    #[inline]
    pub fn task_has_left(&mut self, cpu: Cpu, task: TaskId) {
        if self.hooks().contains(Hooks::DEQUEUE) {
            self.dequeued.push((cpu, task));
        }
    }
}

impl System<'_> {
    /// Returns the values that SIS_SHORT would read of the CPU in its present state.
    pub fn only_task_now(&self, cpu: Cpu) -> OnlyTask {
        let c = &self.cpus[cpu];
        let dur_avg = c.curr.map_or(0, |task| self.tasks[task].dur.dur_avg);
        OnlyTask { nr_running: c.nr_running, dur_avg }
    }
}

impl PolicyView for System<'_> {
    #[inline]
    fn policies(&self) -> Option<&PolicyStates> {
        Some(&self.policies.states)
    }

    #[inline]
    fn scan_clock(&self, cpu: Cpu) -> ScanClock {
        let c = &self.cpus[cpu];
        ScanClock {
            jiffies: self.jiffies,
            wake_stamp: c.wake_stamp,
            wake_avg_idle: c.wake_avg_idle,
            avg_idle: c.avg_idle,
            avg_scan_cost: c.avg_scan_cost,
        }
    }

    #[inline]
    fn cpu_clock(&self, _: Cpu, looks: u32) -> u64 {
        BOOT_NS + self.probing.0 + self.probing.1 * u64::from(looks)
    }

    fn target_nr_running(&self, cpu: Cpu) -> u32 {
        match &self.policies.only_tasks {
            Some(tasks) => tasks[cpu].nr_running,
            None => self.cpus[cpu].nr_running,
        }
    }

    fn curr_dur_avg(&self, cpu: Cpu) -> u64 {
        match &self.policies.only_tasks {
            Some(tasks) => tasks[cpu].dur_avg,
            None => self.only_task_now(cpu).dur_avg,
        }
    }

    fn claimed(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].claims != 0
    }
}

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
            for (cpu, task) in std::mem::take(&mut self.sys.policies.dequeued) {
                let sleeps = !moved && matches!(self.sys.tasks[task].state, State::Sleeping(_));
                self.call_hook(Hook::Dequeue(self.hook_task(task, sleeps)), cpu);
            }
        }
    }

    /// The end of a search.
    #[inline]
    pub fn hook_decision(&mut self, decision: &Decision) {
        if self.sys.policies.hooks().contains(Hooks::DECISION) {
            let change = self.sys.policies.states.decided(decision, &self.sys.rules);
            self.apply_change(decision.target, change);
        }
    }

    #[cold]
    #[inline(never)]
    fn call_hook(&mut self, hook: Hook, cpu: Cpu) {
        let change = self.sys.policies.states.hook(hook, cpu, &self.sys.rules, &self.sys);
        self.apply_change(cpu, change);
    }

    fn apply_change(&mut self, cpu: Cpu, change: Option<StateChange>) {
        let Some(change) = change else { return };
        let llc = self.sys.model.searches_of[cpu];
        self.change_seen_by_policies(llc, |_, _| true, |sys| sys.policies.states.apply(change));
    }

    /// With SIS_SHORT: the only task of a CPU may have changed, which the policy reads of the target.
    #[inline]
    pub fn update_only_task(&mut self, cpu: Cpu) {
        if self.sys.policies.only_tasks.is_some() {
            self.set_only_task(cpu, self.sys.only_task_now(cpu));
        }
    }

    /// Sets what SIS_SHORT reads of a CPU.
    pub fn set_only_task(&mut self, cpu: Cpu, task: OnlyTask) {
        let llc = self.sys.model.searches_of[cpu];
        let change = |sys: &mut System<'_>| {
            if let Some(tasks) = &mut sys.policies.only_tasks {
                tasks[cpu] = task;
            }
        };
        if self.sys.policies.only_tasks.as_ref().is_some_and(|tasks| tasks[cpu] != task) {
            self.change_seen_by_policies(llc, |_, search| search.target() == cpu, change);
        }
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
