//! Operations on `struct rq`: the fair run queue together with the CPU's counts, weight, list of tasks and averages.

use crate::engine::Sim;
use crate::rt::DlEnqueue;
use crate::system::System;
use crate::task::{IoWait, State};
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::CfsRqState;
use wakelab_sched::runqueue::{EnqueueFlags, Prev, Resched, TaskId};
use wakelab_sched::select::{RqView, WakeFlags};

impl System<'_> {
    /// Notes a request to reschedule a CPU (`__resched_curr()`). A lazy one waits, unless the CPU is idle. The caller
    /// has to deliver one that is [`Resched::Now`].
    pub fn note_resched(&mut self, cpu: Cpu, resched: Resched) -> Resched {
        let c = &mut self.cpus[cpu];
        match resched {
            Resched::Lazy if c.curr_idle => Resched::Now,
            Resched::Lazy => {
                c.need_resched_lazy |= !c.need_resched;
                Resched::Lazy
            }
            resched => resched,
        }
    }

    /// Picks the task that is to run next, and clears the requests to reschedule. The averages of a previous task that
    /// blocks or exits are up to date.
    pub fn pick_next(&mut self, cpu: Cpu, prev: Prev) -> Option<TaskId> {
        if self.rt.is_some()
            && let Some(next) = self.pick_rt(cpu, prev)
        {
            return Some(next);
        }
        self.account_mm_sched(cpu);
        let queue = self.queue_with_delayed(cpu);
        let c = &mut self.cpus[cpu];
        (c.need_resched, c.need_resched_lazy) = (false, false);
        let blocks = c.rq.curr().filter(|_| prev != Prev::Runs);
        let switch = self.on_rq(cpu, |rq, es, now| rq.schedule(es, now, prev));
        if let Some(task) = blocks.filter(|task| !self.es[*task].on_rq && !switch.reaped.contains(task)) {
            self.dequeued(cpu, task);
        }
        for &task in &switch.reaped {
            self.reaped(cpu, task, queue.as_ref());
        }
        switch.next
    }

    /// A task joins a run queue: `enqueue_task_fair()` notifies cpufreq at once if the task has waited for I/O. A task
    /// that is still queued (delayed dequeue) does not come here, as in the kernel.
    #[inline]
    pub fn io_enqueue(&mut self, cpu: Cpu, id: TaskId) {
        let woken = std::mem::take(&mut self.tasks[id].iowait) == IoWait::Woken;
        if woken && self.pm.is_some() {
            self.cpufreq_update_util(cpu, true);
        }
    }

    /// A task has joined the run queue.
    #[inline(always)]
    pub fn enqueued(&mut self, cpu: Cpu, task: TaskId) {
        let weight = u64::from(self.es[task].load.weight);
        let c = &mut self.cpus[cpu];
        c.nr_running = c.nr_running.wrapping_add(1);
        c.weight += weight;
        c.cfs_tasks.enqueue(task);
        self.rd.overload |= c.nr_running > 1;
        self.account_llc(cpu, task, true);
    }

    /// A task has left the run queue.
    pub fn dequeued(&mut self, cpu: Cpu, task: TaskId) {
        let weight = u64::from(self.es[task].load.weight);
        let c = &mut self.cpus[cpu];
        // With groups the count may be ahead of this, or behind (`Hierarchy::nr_hidden`).
        c.nr_running = c.nr_running.wrapping_sub(1);
        c.weight -= weight;
        c.cfs_tasks.dequeue(task);
        self.account_llc(cpu, task, false);
        self.touch(cpu);
        self.policies.task_has_left(cpu, task);
    }

    /// What [`load_reaped`](Self::load_reaped) needs of the run queue, if tasks are on it whose dequeue was delayed: no
    /// others are reaped.
    #[inline]
    fn queue_with_delayed(&self, cpu: Cpu) -> Option<CfsRqState> {
        (self.task_groups.is_none() && self.cpus[cpu].rq.nr_delayed() != 0).then(|| self.queue(cpu))
    }

    /// A task whose dequeue was delayed has left the run queue, whose state was `queue` up to now.
    fn reaped(&mut self, cpu: Cpu, task: TaskId, queue: Option<&CfsRqState>) {
        self.load_reaped(cpu, task, queue);
        self.dequeued(cpu, task);
    }
}

impl RqView for System<'_> {
    #[inline]
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.cpus[cpu].nr_running
    }

    #[inline]
    fn h_nr_delayed(&self, cpu: Cpu) -> u32 {
        self.cpus[cpu].rq.nr_delayed()
    }

    #[inline]
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.avg.load_avg
    }

    #[inline]
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.runnable_load.avg
    }

    #[inline]
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        match &self.rt {
            None => self.model.capacity[cpu],
            Some(rt) => rt.cpus[cpu].cpu_capacity,
        }
    }

    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].ttwu_pending
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Puts a task on a run queue, averages included. A task whose dequeue is delayed still sleeps after balancing has
    /// moved it.
    pub fn enqueue(&mut self, cpu: Cpu, task: TaskId, flags: EnqueueFlags) -> Resched {
        let wakes = flags.contains(EnqueueFlags::WAKEUP);
        if self.sys.rt.is_some() {
            if self.sys.is_dl(task) {
                let migrated = flags.contains(EnqueueFlags::MIGRATED);
                let why = if wakes { DlEnqueue::Wakeup { migrated } } else { DlEnqueue::Restore };
                self.enqueue_dl(cpu, task, why);
                return Resched::No;
            }
            if self.sys.rt_or_dl(task) {
                self.enqueue_rt(cpu, task);
                return Resched::No;
            }
            if self.sys.cpus[cpu].h_nr_queued() == 0 {
                self.start_fair_server(cpu);
            }
        }
        let uclamp_last = self.sys.uclamp_after_enqueue();
        if !uclamp_last {
            self.sys.uclamp_inc(cpu, task, wakes);
        }
        self.sys.io_enqueue(cpu, task);
        self.sys.load_enqueue(cpu, task, wakes);
        self.sys.account_mm_sched(cpu);
        let resched = self.sys.on_rq(cpu, |rq, es, now| rq.enqueue_task(es, now, task, flags));
        self.sys.enqueued(cpu, task);
        self.update_only_task(cpu);
        // Not for tasks that are new or that balancing moves (`task_new`).
        if wakes {
            self.sys.check_overutilized(cpu);
        }
        // A task that exits stays dead when it is preempted while it wakes its parent, and moved.
        let state = &mut self.sys.tasks[task].state;
        if *state != State::Dead && !self.sys.es[task].sched_delayed {
            *state = State::Runnable;
        }
        self.hook_enqueue(cpu, task, wakes);
        let resched = resched | self.hrtick_update(cpu);
        if uclamp_last {
            self.sys.uclamp_inc(cpu, task, wakes);
        }
        resched
    }

    /// `wakeup_preempt()`: whether a task that joined or woke is to preempt the current one. Tasks whose dequeue was
    /// delayed may leave the run queue meanwhile.
    pub fn wakeup_preempt(&mut self, cpu: Cpu, task: TaskId, flags: WakeFlags) -> Resched {
        if self.sys.rt.is_some()
            && let Some(preempted) = self.wakeup_preempt_class(cpu, task, flags)
        {
            return preempted.resched;
        }
        let (queue, need_resched) = (self.sys.queue_with_delayed(cpu), self.sys.cpus[cpu].need_resched);
        let preempted = self.sys.on_rq(cpu, |rq, es, now| rq.wakeup_preempt(es, now, task, flags, need_resched));
        for &task in &preempted.reaped {
            self.sys.reaped(cpu, task, queue.as_ref());
        }
        if !preempted.reaped.is_empty() {
            self.tasks_have_left(cpu);
            self.hook_dequeue(false);
        }
        preempted.resched
    }

    /// Whether the task reschedules on its way to user space because of a lazy request. It does not return to user
    /// space between two wake-ups of one system call, nor after it has exited.
    #[inline]
    pub fn returns_to_schedule(&self, cpu: Cpu, task: TaskId) -> bool {
        let returns = || {
            let task = &self.sys.tasks[task];
            !task.has_to_wake() && task.state != State::Dead
        };
        self.sys.cpus[cpu].need_resched_lazy && returns()
    }
}
