//! Control groups: what the run queues of all groups share, and the operations that need it.

use crate::SimError;
use crate::system::System;
use crate::task::{State, Task};
use wakelab_kernel::Preset;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::{CfsRqPelt, UpdateFlags, init_entity_runnable_average, task_h_load};
use wakelab_sched::runqueue::{Entities, FairRq, FairRules, GroupedCfsRq, TaskGroup, TaskId};
use wakelab_workload::{Group, Workload};

/// What the CPUs' run queues of a group share.
#[derive(Debug)]
pub struct TaskGroups {
    /// By group: the load of all CPUs (`tg->load_avg`).
    load_avg: Vec<i64>,
}

/// Whether the groups of a workload can be simulated under a kernel.
///
/// # Errors
/// [`SimError::Kernel`], with what is not modelled and what was expected.
pub fn check(kernel: &Preset, rules: &FairRules, workload: &Workload, softirq_util: bool) -> Result<(), SimError> {
    let Some(first) = workload.groups.first() else { return Ok(()) };
    let refused = |what: &str| Err(SimError::Kernel(format!("{}: group {:?}: {what}", kernel.name, first.name)));
    let FairRules::Cfs(_, form) = rules else {
        return refused("control groups are modelled of CFS only; expected a kernel from v5.10 to v6.1");
    };
    if kernel.pelt.runnable_load {
        return refused("the averages of groups are modelled since 5.10; expected a kernel from v5.10 to v6.1");
    }
    if !form.cpu_idle && workload.groups.iter().any(|group| group.idle) {
        return refused("groups with idle = true came with 5.15 (cpu.idle); expected a kernel from v5.15 to v6.1");
    }
    if !softirq_util {
        return refused("utilisation without softirq time is not modelled with groups; expected softirq_util on");
    }
    Ok(())
}

impl System<'_> {
    /// Gives each CPU a run queue for each group.
    pub fn add_task_groups(&mut self, groups: &[Group]) {
        if groups.is_empty() {
            return;
        }
        let task_group = |group: &Group| TaskGroup { parent: group.parent, shares: group.shares(), idle: group.idle };
        let groups: Vec<TaskGroup> = groups.iter().map(task_group).collect();
        for cpu in &mut self.cpus {
            let FairRq::Cfs(root) = &cpu.rq else { unreachable!("task_group::check() refused it") };
            cpu.rq = FairRq::Groups(Box::new(GroupedCfsRq::new(root, &groups, self.model.pelt, &mut self.es)));
            // The groups' entities have numbers among those of tasks.
            for _ in &groups {
                let mut none = Task::new(0, &[], 0, true, init_entity_runnable_average(0));
                (none.workload, none.state) = (false, State::Dead);
                self.tasks.push(none);
            }
        }
        self.task_groups = Some(Box::new(TaskGroups { load_avg: vec![0; groups.len() + 1] }));
    }

    /// An operation on a CPU's run queue, at the present time of its clock.
    #[inline]
    pub fn on_rq<R>(&mut self, cpu: Cpu, op: impl FnOnce(&mut FairRq, &mut Entities, u64) -> R) -> R {
        let now = self.clock_task(cpu);
        if self.task_groups.is_some() {
            return self.on_groups(cpu, |rq, es| op(rq, es, now));
        }
        op(&mut self.cpus[cpu as usize].rq, &mut self.es, now)
    }

    #[cold]
    #[inline(never)]
    fn on_groups<R>(&mut self, cpu: Cpu, op: impl FnOnce(&mut FairRq, &mut Entities) -> R) -> R {
        let clock_pelt = self.clock_pelt(cpu);
        let shared = &mut self.task_groups.as_mut().expect("there are groups").load_avg;
        let c = &mut self.cpus[cpu as usize];
        grouped(&mut c.rq).enter(c.pelt, std::mem::take(shared), clock_pelt);
        let result = op(&mut c.rq, &mut self.es);
        let changed;
        (c.pelt, *shared, changed) = grouped(&mut c.rq).leave();
        self.util_change(cpu, changed);
        result
    }

    /// `update_load_avg()` of a task, with groups.
    #[cold]
    pub fn group_update_load(&mut self, cpu: Cpu, task: TaskId, flags: UpdateFlags) {
        let mut avg = self.tasks[task.0 as usize].avg;
        self.on_groups(cpu, |rq, es| grouped(rq).update_task_load_avg(es, task, &mut avg, flags, false));
        self.tasks[task.0 as usize].avg = avg;
    }

    /// What `set_next_entity()` does to the averages of a task, with groups.
    #[cold]
    pub fn group_set_next(&mut self, cpu: Cpu, task: TaskId) {
        let mut avg = self.tasks[task.0 as usize].avg;
        let flags = UpdateFlags::empty();
        self.on_groups(cpu, |rq, es| grouped(rq).update_task_load_avg(es, task, &mut avg, flags, true));
        self.tasks[task.0 as usize].avg = avg;
    }

    /// `update_blocked_averages()`, with groups.
    #[cold]
    pub fn group_update_blocked(&mut self, cpu: Cpu) {
        self.on_groups(cpu, |rq, es| grouped(rq).update_blocked_averages(es));
    }

    /// The averages of the run queue that a task of `cpu` is on.
    #[inline]
    pub fn cfs_rq_of<R>(&mut self, cpu: Cpu, task: TaskId, of: impl FnOnce(&mut CfsRqPelt, &mut Task) -> R) -> R {
        let group = self.es[task].group;
        let (c, task) = (&mut self.cpus[cpu as usize], &mut self.tasks[task.0 as usize]);
        match &mut c.rq {
            FairRq::Groups(rq) if group != 0 => of(rq.pelt(group), task),
            _ => of(&mut c.pelt, task),
        }
    }

    /// `task_h_load()`.
    #[inline]
    pub fn h_load(&mut self, task: TaskId) -> u64 {
        if self.task_groups.is_some() {
            return self.group_h_load(task);
        }
        let t = &self.tasks[task.0 as usize];
        task_h_load(&t.avg, &mut self.cpus[t.cpu as usize].pelt, self.jiffies)
    }

    #[cold]
    fn group_h_load(&mut self, task: TaskId) -> u64 {
        let (cpu, jiffies, group) = (self.tasks[task.0 as usize].cpu, self.jiffies, self.es[task].group);
        self.on_groups(cpu, |rq, _| grouped(rq).update_cfs_rq_h_load(group, jiffies));
        self.cfs_rq_of(cpu, task, |cfs_rq, task| task_h_load(&task.avg, cfs_rq, jiffies))
    }

    /// The same by the averages of this moment, not by those of the last jiffy.
    #[inline]
    pub fn h_load_now(&self, task: TaskId) -> u64 {
        let t = &self.tasks[task.0 as usize];
        let c = &self.cpus[t.cpu as usize];
        match &c.rq {
            FairRq::Groups(rq) => rq.h_load_now(self.es[task].group, t.avg.load_avg, &c.pelt),
            // Without groups the share of the run queue's load is the task's own, but for rounding.
            _ => t.avg.load_avg,
        }
    }
}

/// A CPU's run queues, of a system with groups.
fn grouped(rq: &mut FairRq) -> &mut GroupedCfsRq {
    match rq {
        FairRq::Groups(rq) => rq,
        _ => unreachable!("each CPU has the groups' run queues"),
    }
}
