//! Bound workqueues: items that tasks queue, and the kworkers that do them (kernel/workqueue.c).
//!
//! A workqueue has one kworker on each CPU, as one with `max_active` 1 has at most. It may use no other CPU, so that an
//! item waits for a task that runs there, unless the kworker preempts it. The kernel's pools, which wake no kworker
//! while another of theirs runs on the CPU, are left out.

use crate::engine::Sim;
use crate::model::Model;
use crate::numbered::PerCpu;
use crate::system::System;
use crate::task::{Of, State, Wait};
use smallvec::SmallVec;
use std::collections::VecDeque;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::{Call, Kind, Op};

/// An item of work.
#[derive(Clone, Debug)]
struct Item {
    program: u32,
    /// The resources of the task that queued it.
    channels: SmallVec<[u32; 2]>,
}

/// The items of a CPU.
#[derive(Clone, Debug, Default)]
struct Items {
    /// Those that the kworker does next, the present one at the front.
    taken: VecDeque<Item>,
    /// Those that have been queued since it took these.
    queued: VecDeque<Item>,
}

/// A workqueue.
#[derive(Clone, Debug)]
pub struct Workqueue {
    /// Its number among the workload's resources.
    resource: u32,
    /// How many items are queued on a CPU before its kworker takes them.
    batch: usize,
    /// The kworker of CPU 0. Those of the others follow.
    first: TaskId,
    items: PerCpu<Items>,
}

impl Workqueue {
    fn cpu_of(&self, kworker: TaskId) -> Option<Cpu> {
        let cpu = kworker.0.checked_sub(self.first.0)?;
        (cpu < self.items.len() as u32).then_some(cpu)
    }

    /// Takes what is queued on a CPU, if it is enough. Returns the first item.
    fn take(&mut self, cpu: Cpu) -> Option<Item> {
        let items = &mut self.items[cpu];
        if items.taken.is_empty() && items.queued.len() >= self.batch {
            items.taken = std::mem::take(&mut items.queued);
        }
        items.taken.front().cloned()
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Adds the kworkers of the workload's workqueues.
    pub fn add_workqueues(&mut self) {
        let model = self.sys.model;
        for resource in workqueues(model) {
            let batch = model.workload.channels[resource as usize].capacity as usize;
            let first = TaskId(self.sys.tasks.len() as u32);
            for cpu in 0..model.nr_cpus() {
                self.add_sleeping(0, (cpu, true), Of::Workqueue, Wait::Work(resource));
            }
            let items = vec![Items::default(); model.nr_cpus() as usize].into();
            self.sys.workqueues.push(Workqueue { resource, batch, first, items });
            (0..model.nr_cpus()).for_each(|cpu| self.emit_task(TaskId(first.0 + cpu)));
        }
    }

    /// `queue_work()`: queues an item on the CPU of the running task, and notes the kworker to be woken if it sleeps
    /// and there are enough.
    pub fn queue_work(&mut self, cpu: Cpu, id: TaskId, resource: u32, program: u32) {
        let channels = self.sys.tasks[id].channels.clone();
        let queues = &mut self.sys.workqueues;
        let queue = queues.iter_mut().find(|queue| queue.resource == resource).expect("it was added");
        queue.items[cpu].queued.push_back(Item { program, channels });
        let kworker = TaskId(queue.first.0 + cpu);
        let sleeps = matches!(self.sys.tasks[kworker].state, State::Sleeping(Wait::Work(_)));
        // With items that it has taken, its wake-up is under way.
        if !sleeps || !queue.items[cpu].taken.is_empty() {
            return;
        }
        if let Some(first) = queue.take(cpu) {
            self.sys.begin_item(kworker, first);
            self.sys.tasks[id].add_to_wake([(kworker, false)]);
        }
    }

    /// `worker_thread()`: a kworker whose item is done begins the next, or sleeps. Returns whether it goes on.
    pub fn item_ends(&mut self, cpu: Cpu, id: TaskId) -> bool {
        let mut queues = self.sys.workqueues.iter_mut();
        let (queue, of) =
            queues.find_map(|queue| queue.cpu_of(id).map(|cpu| (queue, cpu))).expect("it has a workqueue");
        queue.items[of].taken.pop_front();
        if let Some(next) = queue.take(of) {
            self.sys.begin_item(id, next);
            return true;
        }
        let resource = queue.resource;
        self.block(cpu, id, Wait::Work(resource));
        false
    }
}

impl System<'_> {
    fn begin_item(&mut self, kworker: TaskId, item: Item) {
        let task = &mut self.tasks[kworker];
        (task.program, task.pc, task.channels) = (item.program, 0, item.channels);
        task.in_softirq = false;
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
