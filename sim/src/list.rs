//! Lists of tasks that wait to be answered, as schbench has them (`xlist_add()`, `xlist_splice()`, `fpost()`, `fwait()`).

use crate::engine::Sim;
use crate::sync::Phase;
use crate::task::{State, Wait};
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::Work;

impl<S: Sink> Sim<'_, '_, S> {
    /// Goes to the head of the list, wakes who awaits it, and waits to be answered. Returns whether the task sleeps.
    pub fn ask(&mut self, cpu: Cpu, id: TaskId, list: u32) -> bool {
        match self.sys.tasks[id.0 as usize].calls.phase {
            Phase::Fresh => {
                let sync = &mut self.sys.syncs[list as usize];
                sync.queue.push_front(id);
                let awaits = sync.owner.take();
                let calls = &mut self.sys.tasks[id.0 as usize].calls;
                calls.phase = Phase::Queued;
                // Whoever awaits the list is woken before it sleeps.
                calls.to_wake.extend(awaits.map(|task| (task, false)));
                false
            }
            Phase::Queued => {
                self.block(cpu, id, Wait::Answer(list));
                true
            }
            Phase::Woken => {
                let task = &mut self.sys.tasks[id.0 as usize];
                task.calls.phase = Phase::Fresh;
                task.pc += 1;
                false
            }
        }
    }

    /// Waits until somebody is on the list. Returns whether the task sleeps.
    pub fn await_list(&mut self, cpu: Cpu, id: TaskId, list: u32) -> bool {
        let sync = &mut self.sys.syncs[list as usize];
        if sync.queue.is_empty() {
            sync.owner = Some(id);
            self.block(cpu, id, Wait::Asker(list));
            return true;
        }
        self.sys.tasks[id.0 as usize].pc += 1;
        false
    }

    /// Takes all off the list at one moment, from which their transactions count, and wakes one after another.
    pub fn serve(&mut self, id: TaskId, list: u32, each: Work) {
        if self.sys.tasks[id.0 as usize].calls.phase == Phase::Fresh {
            let asked = std::mem::take(&mut self.sys.syncs[list as usize].queue);
            for task in &asked {
                self.sys.tasks[task.0 as usize].begun = self.sys.now;
            }
            let calls = &mut self.sys.tasks[id.0 as usize].calls;
            calls.serving = asked;
            calls.phase = Phase::Queued;
        } else if let Some(first) = self.sys.tasks[id.0 as usize].calls.serving.pop_front() {
            let asked = &mut self.sys.tasks[first.0 as usize];
            asked.calls.phase = Phase::Woken;
            // Who has not gone to sleep yet sees the futex's new value, and does not.
            if let State::Sleeping(_) = asked.state {
                self.sys.tasks[id.0 as usize].calls.to_wake.push_back((first, false));
            }
        }
        let more = !self.sys.tasks[id.0 as usize].calls.serving.is_empty();
        let cost = if more { self.random.work(each) } else { 0 };
        let task = &mut self.sys.tasks[id.0 as usize];
        task.left += cost;
        if !more {
            task.calls.phase = Phase::Fresh;
            task.pc += 1;
        }
    }
}
