//! Semaphores of the kernel (kernel/locking/semaphore.c): `up()` hands one over to the first task that waits for it.

use crate::engine::Sim;
use crate::futex::Phase;
use crate::task::Wait;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

impl<S: Sink> Sim<'_, '_, S> {
    /// `down()`. Returns whether the task sleeps.
    pub fn down(&mut self, cpu: Cpu, id: TaskId, semaphore: u32) -> bool {
        let (sync, task) = (&mut self.sys.syncs[semaphore], &mut self.sys.tasks[id]);
        // `waiter.up`: whoever called up() handed it over.
        let handed_over = task.calls.phase == Phase::Woken;
        if !handed_over && sync.count == 0 {
            sync.queue.push_back(id);
            self.block(cpu, id, Wait::Semaphore(semaphore));
            return true;
        }
        sync.count -= u32::from(!handed_over);
        task.calls.phase = Phase::Fresh;
        task.pc += 1;
        false
    }

    /// `up()`: the first waiter has the semaphore now, and is noted to be woken.
    pub fn up(&mut self, id: TaskId, semaphore: u32) {
        let sync = &mut self.sys.syncs[semaphore];
        let first = sync.queue.pop_front();
        sync.count = sync.count.saturating_add(u32::from(first.is_none()));
        self.sys.tasks[id].pc += 1;
        if let Some(waiter) = first {
            self.sys.tasks[waiter].calls.phase = Phase::Woken;
            self.sys.tasks[id].add_to_wake([(waiter, false)]);
        }
    }
}
