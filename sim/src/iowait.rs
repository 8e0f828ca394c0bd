//! Waits for I/O: a sleep of which governors know.

use crate::engine::{Later, Sim};
use crate::system::System;
use crate::task::{IoWait, Wait};
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::Work;

impl<S: Sink> Sim<'_, '_, S> {
    /// `io_schedule()`. Returns whether the task sleeps.
    pub fn io_schedule(&mut self, cpu: Cpu, id: TaskId, time: Work) -> bool {
        let time = self.random.work(time);
        if time == 0 {
            return false;
        }
        self.sys.tasks[id.0 as usize].iowait = IoWait::Waits(cpu);
        self.sys.cpus[cpu as usize].nr_iowait += 1;
        self.at(self.sys.now + time, Later::Timer(id));
        self.block(cpu, id, Wait::Timer);
        true
    }
}

impl System<'_> {
    /// The I/O is done: the CPU where the task slept waits no more (`try_to_wake_up()`).
    pub fn io_done(&mut self, id: TaskId) {
        let task = &mut self.tasks[id.0 as usize];
        // Not the task's CPU of now: balancing moves sleepers whose dequeue is delayed.
        if let IoWait::Waits(cpu) = task.iowait {
            task.iowait = IoWait::Woken;
            self.cpus[cpu as usize].nr_iowait -= 1;
        }
    }

    /// A task joins a run queue: `enqueue_task_fair()` tells cpufreq at once if it comes from I/O. One that is still on its queue
    /// (delayed dequeue) does not come here, as in the kernel.
    #[inline]
    pub fn io_enqueue(&mut self, cpu: Cpu, id: TaskId) {
        let woken = std::mem::take(&mut self.tasks[id.0 as usize].iowait) == IoWait::Woken;
        if woken && self.pm.is_some() {
            self.cpufreq_update_util(cpu, true);
        }
    }
}
