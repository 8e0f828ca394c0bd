//! Utilisation clamps in simulated time.
//!
//! ```text
//! sched_setattr()                       the task's request; from the first on, all run queues keep clamps
//! enqueue, attach, delayed wake-up      uclamp_rq_inc()
//! dequeue, detach                       uclamp_rq_dec(), before the averages change
//! placement, balancing, schedutil       read the task's and the run queue's
//! ```
//!
//! There is none of it in a run in which nobody can set a clamp. Tasks with clamps of their own have them from their
//! fork on, as if the shell that forks them had set them.

use crate::engine::Sim;
use crate::model::Model;
use crate::numbered::{Numbered, PerCpu, PerTask};
use crate::system::System;
use crate::task::Task;
use crate::{Setup, SimError};
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::energy::RqUtil;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::Uclamp;
use wakelab_sched::uclamp::{GroupUclamp, RqUclamp, TaskUclamp, UclampSystem};
use wakelab_workload::{Call, Op};

/// The system's state of clamps.
#[derive(Clone, Debug)]
pub struct UclampState {
    system: UclampSystem,
    /// `sched_uclamp_used`.
    used: bool,
    /// The effective clamps of each group; the root's task, 0, and those of an autogroup are not restricted.
    groups: Numbered<Option<GroupUclamp>>,
    /// By number, as far as they have been forked.
    tasks: PerTask<TaskUclamp>,
    rqs: PerCpu<RqUclamp>,
}

/// The constant data of clamps.
#[derive(Clone, Debug)]
pub struct UclampModel {
    system: UclampSystem,
    /// [`CoreRules::uclamp_after_enqueue`](wakelab_kernel::CoreRules::uclamp_after_enqueue).
    pub after_enqueue: bool,
    /// By task of the workload: what it requests before it starts, minimum and maximum.
    tasks: Vec<[Option<u32>; 2]>,
    /// By group, the root first.
    groups: Numbered<Option<GroupUclamp>>,
    /// A group's clamps were set, which makes the kernel keep clamps.
    of_groups: bool,
}

impl UclampModel {
    /// The clamps of a run; `None` if none can be set.
    ///
    /// # Errors
    /// Where a side's clamps are for no task, `sched_setattr()` would refuse those of a task, or the kernel's clamps
    /// are not modelled.
    pub fn new(setup: &Setup<'_>) -> Result<Option<Self>, SimError> {
        let Setup { kernel, workload, .. } = *setup;
        let system = UclampSystem::of(&kernel.tunables);
        let mut tasks: Vec<_> = workload.tasks.iter().map(|task| [task.uclamp_min, task.uclamp_max]).collect();
        for clamp in &kernel.task_clamps {
            let mut found = false;
            for (_, given) in workload.tasks.iter().zip(&mut tasks).filter(|(task, _)| clamp.is_for(&task.name)) {
                (given[usize::from(clamp.max)], found) = (Some(clamp.value), true);
            }
            if !found {
                let some: Vec<&str> = workload.tasks.iter().map(|task| task.name.as_str()).take(8).collect();
                let what =
                    format!("{clamp}: the workload has no task of this name; its first tasks are {}", some.join(", "));
                return Err(SimError::Workload(what));
            }
        }
        for (task, [min, max]) in workload.tasks.iter().zip(&tasks) {
            let checked = TaskUclamp::default().request(*min, *max);
            checked.map_err(|error| SimError::Workload(format!("task {}: {error}", task.name)))?;
        }
        let sets = |op: &Op| matches!(op.call(), Some(Call::Uclamp { .. }));
        let set = tasks.iter().flatten().any(Option::is_some)
            || workload.programs.iter().any(|program| program.ops.iter().any(sets));
        let of_groups = workload.groups.iter().any(|group| group.uclamp_min.or(group.uclamp_max).is_some());
        let set = set || of_groups;
        let mut groups = Numbered::from(vec![None]);
        for group in &workload.groups {
            let of = || GroupUclamp::update_eff(group.uclamp_min, group.uclamp_max, groups[group.parent]);
            groups.push((!group.autogroup).then(of));
        }
        if !set && !system.is_changed() {
            return Ok(None);
        }
        if !kernel.core.uclamp {
            let name = kernel.name;
            let what = "utilisation clamps are set, but this kernel's are not modelled; expected v5.10 or later";
            return Err(SimError::Kernel(format!("{name}: {what}")));
        }
        Ok(Some(UclampModel { system, after_enqueue: kernel.core.uclamp_after_enqueue, tasks, groups, of_groups }))
    }
}

impl UclampState {
    /// A machine at rest; `None` where nobody sets a clamp.
    pub fn new(model: &Model<'_>) -> Option<Box<Self>> {
        let UclampModel { system, groups, of_groups, .. } = model.uclamp.as_ref()?;
        let (system, groups) = (*system, groups.clone());
        let rqs = vec![RqUclamp::default(); model.nr_cpus() as usize].into();
        let tasks = PerTask::default();
        Some(Box::new(UclampState { system, used: *of_groups || system.is_changed(), groups, tasks, rqs }))
    }

    /// `uclamp_is_used()`.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// The run queue of a CPU.
    pub fn rq(&self, cpu: Cpu) -> &RqUclamp {
        &self.rqs[cpu]
    }

    /// The clamps of a CPU's run queue.
    pub fn rq_uclamp(&self, cpu: Cpu) -> Uclamp {
        if !self.used {
            return Uclamp::UNUSED;
        }
        let RqUtil { uclamp_min: min, uclamp_max: max, .. } = self.rq(cpu).rq_util();
        Uclamp { used: true, min, max }
    }

    fn task(&mut self, id: TaskId) -> &mut TaskUclamp {
        self.tasks.reach(id, TaskUclamp::default())
    }

    /// `uclamp_eff_value()` of both clamps.
    pub fn task_uclamp(&self, id: TaskId, group: u32) -> Uclamp {
        if !self.used {
            return Uclamp::UNUSED;
        }
        self.tasks.get(id).copied().unwrap_or_default().uclamp(&self.system, self.groups[group])
    }

    fn inc(&mut self, cpu: Cpu, id: TaskId, group: u32) {
        self.task(id);
        if self.used {
            let group = self.groups[group];
            self.rqs[cpu].inc(&mut self.tasks[id], &self.system, group);
        }
    }

    fn dec(&mut self, cpu: Cpu, id: TaskId) {
        self.task(id);
        if self.used {
            self.rqs[cpu].dec(&mut self.tasks[id]);
        }
    }
}

impl System<'_> {
    /// Whether a task joins the clamps of its run queue only when the class has enqueued it.
    #[inline]
    pub fn uclamp_after_enqueue(&self) -> bool {
        self.model.uclamp.as_ref().is_some_and(|uclamp| uclamp.after_enqueue)
    }

    /// `uclamp_rq_inc()`. A task whose dequeue is delayed is not counted, unless it wakes up.
    #[inline]
    pub fn uclamp_inc(&mut self, cpu: Cpu, id: TaskId, wakes: bool) {
        if let Some(uclamp) = &mut self.uclamp
            && (wakes || !self.es[id].sched_delayed)
        {
            uclamp.inc(cpu, id, self.es[id].group);
        }
    }

    /// `uclamp_rq_dec()`.
    #[inline]
    pub fn uclamp_dec(&mut self, cpu: Cpu, id: TaskId) {
        if let Some(uclamp) = &mut self.uclamp
            && !self.es[id].sched_delayed
        {
            uclamp.dec(cpu, id);
        }
    }

    /// `uclamp_eff_value()` of both clamps of a task.
    #[inline]
    pub fn uclamp_of(&self, id: TaskId) -> Uclamp {
        self.uclamp.as_ref().map_or(Uclamp::UNUSED, |uclamp| uclamp.task_uclamp(id, self.es[id].group))
    }

    /// `uclamp_fork()`. A task of the workload that the shell forks has the clamps that the workload gives it.
    pub fn uclamp_fork(&mut self, id: TaskId, parent: Option<TaskId>) {
        let realtime = self.is_rt(id);
        let (Some(uclamp), Some(model)) = (&mut self.uclamp, &self.model.uclamp) else { return };
        if let Some(parent) = parent {
            *uclamp.task(id) = uclamp.task(parent).fork();
            return;
        }
        // The tasks of the workload follow each other.
        let first = self.tasks.iter().position(Task::workload).unwrap_or(0);
        let given = model.tasks.get((id.0 as usize).wrapping_sub(first));
        if let Some(&[min, max]) = given.filter(|given| given.iter().any(Option::is_some)) {
            uclamp.used = true;
            uclamp.task(id).request(min, max).expect("checked");
        }
        if realtime {
            // __setscheduler_uclamp(): a change to a realtime policy takes the system's minimum.
            let system = uclamp.system;
            uclamp.task(id).update_util_min_rt_default(&system);
        }
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// `sched_setattr()` of the running task with clamps. Returns whether the task reschedules.
    pub fn set_uclamp(&mut self, cpu: Cpu, id: TaskId, min: Option<u32>, max: Option<u32>) -> bool {
        let Some(uclamp) = &mut self.sys.uclamp else { return false };
        let mut requested = *uclamp.task(id);
        if let Err(error) = requested.request(min, max) {
            let text = format!("task {}: {error}", self.sys.task_name(id));
            self.failed = Some(SimError::Workload(text));
            return false;
        }
        // uclamp_validate() switches the key, so that the task leaves no bucket yet if it is the first.
        uclamp.used = true;
        self.sys.uclamp_dec(cpu, id);
        if let Some(uclamp) = &mut self.sys.uclamp {
            // It is on no run queue's count now.
            *uclamp.task(id) = requested.fork();
        }
        // The task leaves its run queue and comes back, though nothing of it changes there.
        let policy = self.sys.es[id].policy;
        let resched = self.reweight(cpu, id, |rq, es, now, _| rq.set_policy(es, now, id, policy));
        self.sys.uclamp_inc(cpu, id, false);
        resched
    }
}
