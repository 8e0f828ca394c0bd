//! Bound workqueues: items that tasks queue, and the kworkers that do them (kernel/workqueue.c).
//!
//! A workqueue has one kworker on each CPU, as one with `max_active` 1 has at most. It may use no other CPU, so that an
//! item waits for a task that runs there, unless the kworker preempts it.

use crate::boot::LAUNCHER;
use crate::engine::Sim;
use crate::model::Model;
use crate::system::System;
use crate::task::{State, Task, Wait};
use std::collections::VecDeque;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::init_entity_runnable_average;
use wakelab_sched::runqueue::{Entity, Policy, TaskId};
use wakelab_workload::{Call, Kind, Op};

/// A workqueue.
#[derive(Clone, Debug)]
pub struct Workqueue {
    /// Its number among the workload's resources.
    resource: u32,
    /// How many items are queued on a CPU before its kworker is woken.
    batch: usize,
    /// The kworker of CPU 0. Those of the others follow.
    first: TaskId,
    /// By CPU: the items that are not done, the one that the kworker does first: who queued it, and its program.
    items: Vec<VecDeque<(TaskId, u32)>>,
}

impl Workqueue {
    fn cpu_of(&self, kworker: TaskId) -> Option<Cpu> {
        let cpu = kworker.0.checked_sub(self.first.0)?;
        (cpu < self.items.len() as u32).then_some(cpu)
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Adds the kworkers of the workload's workqueues.
    pub fn add_workqueues(&mut self) {
        let model = self.sys.model;
        for resource in workqueues(model) {
            let batch = model.workload.channels[resource as usize].capacity as usize;
            let mut first = None;
            for cpu in 0..model.nr_cpus() {
                let new = Task::new(0, &[], 1 + cpu, true, init_entity_runnable_average(1024));
                let id = self.add(new, Entity::new(Policy::Normal, 0, 0));
                first.get_or_insert(id);
                let task = &mut self.sys.tasks[id.0 as usize];
                (task.workload, task.cpu, task.recent_used_cpu) = (false, cpu, cpu);
                task.state = State::Sleeping(Wait::Work(resource));
            }
            let items = vec![VecDeque::new(); model.nr_cpus() as usize];
            let first = first.unwrap_or(TaskId(LAUNCHER));
            self.sys.workqueues.push(Workqueue { resource, batch, first, items });
            for cpu in 0..model.nr_cpus() {
                self.emit_task(TaskId(first.0 + cpu));
            }
        }
    }

    /// `queue_work()`: queues an item on the CPU of the running task, and notes the kworker to be woken if it sleeps and
    /// there are enough.
    pub fn queue_work(&mut self, cpu: Cpu, id: TaskId, resource: u32, program: u32) {
        let queues = &mut self.sys.workqueues;
        let queue = queues.iter_mut().find(|queue| queue.resource == resource).expect("it was added");
        let items = &mut queue.items[cpu as usize];
        items.push_back((id, program));
        let kworker = TaskId(queue.first.0 + cpu);
        let sleeps = matches!(self.sys.tasks[kworker.0 as usize].state, State::Sleeping(Wait::Work(_)));
        // With more than that, its wake-up is under way.
        if sleeps && items.len() == queue.batch {
            let first = items[0];
            self.sys.begin_item(kworker, first);
            // Until it sleeps again, others may wait for what it does.
            self.nr_unblocked += 1;
            self.sys.tasks[id.0 as usize].add_to_wake([(kworker, false)]);
        }
    }

    /// `worker_thread()`: a kworker whose item is done takes the next, or sleeps. Returns `None` for a task that is no
    /// kworker of a workqueue, else whether it sleeps.
    pub fn item_ends(&mut self, cpu: Cpu, id: TaskId) -> Option<bool> {
        let mut queues = self.sys.workqueues.iter_mut();
        let (queue, of) = queues.find_map(|queue| queue.cpu_of(id).map(|cpu| (queue, cpu)))?;
        let items = &mut queue.items[of as usize];
        items.pop_front();
        let resource = queue.resource;
        if let Some(&next) = items.front() {
            self.sys.begin_item(id, next);
            return Some(false);
        }
        self.nr_unblocked -= 1;
        self.block(cpu, id, Wait::Work(resource));
        Some(true)
    }
}

impl System<'_> {
    fn begin_item(&mut self, kworker: TaskId, (queued_by, program): (TaskId, u32)) {
        let channels = self.tasks[queued_by.0 as usize].channels.clone();
        let task = &mut self.tasks[kworker.0 as usize];
        (task.program, task.pc, task.channels) = (program, 0, channels);
        task.loops.clear();
    }

    /// The kworker's name, as `ps` shows it: `kworker/3:1-NAME`.
    pub fn kworker_name(&self, id: TaskId) -> Option<String> {
        self.workqueues.iter().find_map(|queue| {
            let name = &self.model.workload.channels[queue.resource as usize].name;
            Some(format!("kworker/{}:1-{name}", queue.cpu_of(id)?))
        })
    }
}

/// The numbers of the resources that are workqueues.
fn workqueues(model: &Model<'_>) -> Vec<u32> {
    let queues = |op: &Op| matches!(op, Op::Call(Call::QueueWork { .. }));
    if !model.workload.programs.iter().any(|program| program.ops.iter().any(queues)) {
        return Vec::new();
    }
    let kinds = model.workload.kinds().expect("the workload was validated");
    (0..).zip(kinds).filter(|(_, kind)| *kind == Kind::Workqueue).map(|(number, _)| number).collect()
}
