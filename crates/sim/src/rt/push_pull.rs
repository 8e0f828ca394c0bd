//! Realtime tasks between CPUs: where one wakes, and how CPUs push and pull those that wait.
//!
//! The choice of a wake-up takes `wakeup`, which is added to the waker's time; a push takes what a remote enqueue does.

use crate::cpu::Irq;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::system::System;
use wakelab_events::sim::{Event, Sink};
use wakelab_machine::Distance;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::rt::{LowestRq, NO_RT_PRIO, find_lowest_rq, select_task_rq_rt};
use wakelab_sched::runqueue::TaskId;

impl System<'_> {
    /// Calls `search` for a realtime task with what is known of all CPUs.
    fn with_lowest_rq<T>(
        &mut self,
        this_cpu: Cpu,
        task: TaskId,
        search: impl FnOnce(&LowestRq<'_>, &dyn Fn(Cpu) -> u8, Option<&mut Cpu>) -> T,
    ) -> T {
        let rt = self.rt.as_mut().expect("there are realtime tasks");
        let mut distributed = rt.cpus[this_cpu].distributed;
        let of = &self.tasks[task];
        let lowest = LowestRq {
            task_cpu: of.cpu,
            this_cpu,
            prio: rt.task(task).expect("a realtime task").prio,
            allowed: &self.model.masks[of.mask],
            domains: self.model.domains,
        };
        let turn = rt.distributes.then_some(&mut distributed);
        // Where a deadline task is queued, no realtime task can be as urgent (`CPUPRI_HIGHER`).
        let higher = |cpu: Cpu| rt.dl_is_higher && rt.earliest_dl(cpu).is_some();
        let highest = |cpu: Cpu| if higher(cpu) { 0 } else { rt.cpus[cpu].rq.highest_prio() };
        let found = search(&lowest, &highest, turn);
        rt.cpus[this_cpu].distributed = distributed;
        found
    }

    /// `select_task_rq_rt()` of a wake-up or fork by `this_cpu`.
    pub fn select_rt(&mut self, this_cpu: Cpu, task: TaskId) -> Cpu {
        let cpu = self.tasks[task].cpu;
        let pinned = self.cpus[cpu].curr.is_some_and(|curr| self.tasks[curr].pinned);
        let curr = self.curr_rt_prio(cpu).map(|prio| (pinned, prio));
        let dest =
            self.with_lowest_rq(this_cpu, task, |search, highest, turn| select_task_rq_rt(search, curr, highest, turn));
        self.allowed_or_fallback(task, dest)
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// `push_rt_tasks()`: sends tasks that wait here to CPUs that run less urgent ones.
    pub fn push_rt_tasks(&mut self, cpu: Cpu) {
        while self.push_rt_task(cpu) {}
    }

    /// `push_rt_task()`. Returns whether a task was moved.
    fn push_rt_task(&mut self, cpu: Cpu) -> bool {
        let Some(rt) = &self.sys.rt else { return false };
        let Some(task) = rt.cpus[cpu].rq.pick_pushable() else { return false };
        let prio = rt.task(task).expect("a realtime task").prio;
        if self.sys.tasks[task].on_cpu {
            // The switch from it holds the lock; the CPU pushes when it is over.
            return false;
        }
        if prio < self.sys.curr_rt_prio(cpu).unwrap_or(NO_RT_PRIO) {
            // It runs next, unless its class is throttled or the fair server comes first.
            if !self.sys.cpus[cpu].need_resched {
                self.kick_unless_held(cpu);
            }
            return false;
        }
        let lowest = self.sys.with_lowest_rq(cpu, task, |search, highest, turn| find_lowest_rq(search, highest, turn));
        let Some(dest) = lowest.filter(|&dest| dest != cpu) else { return false };
        // find_lock_lowest_rq()
        let highest = self.sys.rt.as_ref().map(|rt| rt.cpus[dest].rq.highest_prio());
        if highest.is_none_or(|highest| highest <= prio) {
            return false;
        }
        self.sys.cpus[cpu].debt += self.sys.model.costs.enqueue.at(Distance::Llc);
        self.move_rt(cpu, dest, task);
        true
    }

    /// A reschedule that can give the CPU to a realtime task: not one whose class is throttled, or waits for the fair
    /// server.
    fn kick_unless_held(&mut self, cpu: Cpu) {
        let of = self.sys.rt.as_ref().map(|rt| &rt.cpus[cpu]);
        if of.is_some_and(|of| !of.rq.throttled() && !of.server.is_queued()) {
            self.kick(cpu);
        }
    }

    /// Moves a waiting realtime task, which then preempts what runs there.
    fn move_rt(&mut self, src: Cpu, dst: Cpu, task: TaskId) {
        self.sys.dequeue_rt(src, task);
        self.sys.tasks[task].cpu = dst;
        self.ext_set_task_cpu(task, dst);
        self.emit(|_| Event::Migrate { task: task.0, from: src, to: dst });
        self.update_idle(src);
        self.update_only_task(src);
        self.enqueue_rt(dst, task);
        self.update_idle(dst);
        self.kick(dst);
    }

    /// `pull_rt_task()`: a CPU whose realtime task has left gets one that waits elsewhere.
    pub fn pull_rt_task(&mut self, cpu: Cpu) {
        let Some(rt) = &self.sys.rt else { return };
        let overloaded = rt.overloaded();
        if overloaded.iter().all(|&other| other == cpu) {
            return;
        }
        if rt.push_ipi {
            return self.tell_cpu_to_push(cpu);
        }
        for src in overloaded.into_iter().filter(|&src| src != cpu) {
            let Some(rt) = &self.sys.rt else { return };
            let highest = rt.cpus[cpu].rq.highest_prio();
            let from = &rt.cpus[src].rq;
            if from.highest_pushable_prio() >= highest {
                continue;
            }
            // A task that its CPU is switching from is not to be had before the switch is over.
            let may = |id: TaskId| {
                let task = &self.sys.tasks[id];
                !task.on_cpu && self.sys.model.masks[task.mask].test(cpu)
            };
            let Some(task) = from.pick_highest_pushable(may) else { continue };
            let prio = rt.task(task).expect("a realtime task").prio;
            // One that is more urgent than what runs there is about to run there.
            if prio < highest && prio >= self.sys.curr_rt_prio(src).unwrap_or(NO_RT_PRIO) {
                self.move_rt(src, cpu, task);
            }
        }
    }

    /// `tell_cpu_to_push()`: begins a walk over the overloaded CPUs, or has the present one begin again.
    fn tell_cpu_to_push(&mut self, cpu: Cpu) {
        let Some(rt) = &mut self.sys.rt else { return };
        if rt.rto.cpu.is_some() {
            rt.rto.again = true;
            return;
        }
        let Some(&first) = rt.overloaded().first() else { return };
        rt.rto.cpu = Some(first);
        let ipi = self.ipi(cpu, first);
        self.at(self.sys.now + ipi, TimedEvent::RtoPush(first));
    }

    /// `rto_push_irq_work_func()`, in an interrupt.
    pub fn rto_push(&mut self, cpu: Cpu) {
        self.push_rt_tasks(cpu);
        // rto_next_cpu()
        let Some(rt) = &mut self.sys.rt else { return };
        let overloaded = rt.overloaded();
        let mut next = overloaded.iter().copied().find(|&other| other > cpu);
        if next.is_none() && std::mem::take(&mut rt.rto.again) {
            next = overloaded.first().copied();
        }
        rt.rto.cpu = next;
        if let Some(next) = next {
            let ipi = self.ipi(cpu, next);
            self.at(self.sys.now + ipi, TimedEvent::RtoPush(next));
        }
    }

    /// The IPI of the walk arrives.
    pub fn rto_push_arrives(&mut self, cpu: Cpu) {
        self.interrupt(cpu, Irq::RtoPush);
    }
}
