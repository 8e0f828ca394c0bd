//! Interrupts that are none of their own. Timers of the kernel's tasks are in the timer wheel, which ticks run
//! (`run_local_timers()`); all are as if in its first level.

use crate::cpu::{Doing, Irq};
use crate::system::System;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

impl System<'_> {
    /// When a sleep of `time` ns that begins now ends, ns: the wheel rounds up (`calc_index()`, kernel/time/timer.c, 5.10). A task of
    /// the workload has a high-resolution timer. Without idle states nobody asks for the difference.
    pub fn expires(&self, task: TaskId, time: u64) -> u64 {
        let expires = self.now + time;
        if self.pm.is_none() || self.tasks[task.0 as usize].workload {
            return expires;
        }
        expires.next_multiple_of(self.model.tick_ns)
    }

    /// An idle CPU that waits in MWAIT sees the flag, and is not interrupted (`set_nr_if_polling()`).
    pub fn is_seen_without(&self, cpu: Cpu, irq: Irq) -> bool {
        let idle = self.cpus[cpu as usize].doing == Doing::Idle;
        irq == Irq::Resched && idle && self.pm_model().is_some_and(|model| model.wakes_by_write)
    }

    /// The interrupt is no other than the tick, which is counted by itself.
    pub fn is_in_tick(&self, cpu: Cpu, irq: Irq) -> bool {
        matches!(irq, Irq::Timer(task) if !self.tasks[task.0 as usize].workload)
            && !self.cpus[cpu as usize].tick_stopped
    }
}
