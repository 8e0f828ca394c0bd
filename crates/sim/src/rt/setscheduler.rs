//! `__sched_setscheduler()` of the running task: between the classes, and within the realtime and the deadline class.

use super::deadline::params;
use super::{DlEnqueue, RtTask};
use crate::SimError;
use crate::engine::Sim;
use crate::system::System;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::rt::NO_RT_PRIO;
use wakelab_sched::runqueue::{EnqueueFlags, Entity, Policy, Prev, TaskId};
use wakelab_workload::{Deadline, Realtime};

impl System<'_> {
    /// The deadline of a task of the workload that is one of SCHED_DEADLINE from its start.
    pub fn deadline_from_start(&self, id: TaskId) -> Option<Deadline> {
        self.rt.as_ref()?;
        let number = id.0.checked_sub(self.nr_background())?;
        match self.model.workload.tasks.get(number as usize)?.realtime {
            Some(Realtime::Deadline(deadline)) => Some(deadline),
            _ => None,
        }
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// The run cannot go on because of what a task asks for. Always true: the CPU does not go on with the task.
    pub fn fails(&mut self, id: TaskId, what: &str) -> bool {
        let name = self.sys.task_name(id);
        self.failed = Some(SimError::Workload(format!("task {name} {what}")));
        true
    }

    /// A task of the workload that is forked as a fair task, as `fork()` cannot do otherwise, becomes one of
    /// SCHED_DEADLINE before it runs, if it is to be one. Returns false, with the run's failure, if it cannot.
    pub fn starts_as_dl(&mut self, id: TaskId) -> bool {
        let Some(deadline) = self.sys.deadline_from_start(id) else { return true };
        let asked = params(deadline);
        let admitted = self.admit_dl(id, asked);
        if admitted {
            self.set_dl(id, asked);
        }
        admitted
    }

    /// The running task gets a policy above the fair class. Returns whether the CPU has begun something else.
    pub fn set_realtime(&mut self, cpu: Cpu, id: TaskId, to: Realtime) -> bool {
        let Some(rt) = &self.sys.rt else { return false };
        let old = rt.task(id).copied();
        let (was_rt, was_dl) = (old.is_some(), rt.dl_task(id).copied());
        let same = match to {
            Realtime::Fifo(priority) => {
                old.is_some_and(|old| old.prio == NO_RT_PRIO - priority && old.time_slice.is_none())
            }
            Realtime::Rr(priority) => {
                old.is_some_and(|old| old.prio == NO_RT_PRIO - priority && old.time_slice.is_some())
            }
            Realtime::Deadline(deadline) => was_dl.is_some_and(|task| task.entity.params == params(deadline)),
        };
        if same {
            return false;
        }
        if let Realtime::Deadline(deadline) = to
            && !self.admit_dl(id, params(deadline))
        {
            return true;
        }
        self.account_fair_server(cpu);
        let to_dl = matches!(to, Realtime::Deadline(_));
        if was_dl.is_some() {
            self.leave_dl(cpu, id, !to_dl);
        } else if was_rt {
            self.sys.update_curr_rt(cpu);
            self.sys.update_rt_avg(cpu, true);
            self.sys.dequeue_rt(cpu, id);
        } else if self.sys.scx_enabled() {
            self.ext_switched_from(cpu, id, to);
        } else {
            // switched_from_fair(): it leaves the averages, too.
            self.detach(cpu, id);
            self.sys.on_rq(cpu, |rq, es, now| rq.put_prev_task(es, now, Prev::Runs));
        }
        let now = self.sys.clock_task(cpu);
        let Some(rt) = &mut self.sys.rt else { return false };
        rt.set(id, None);
        match to {
            Realtime::Deadline(deadline) => {
                self.set_dl(id, params(deadline));
                self.enqueue_dl(cpu, id, DlEnqueue::Restore);
                self.sys.update_dl_avg(cpu, false);
            }
            Realtime::Fifo(_) | Realtime::Rr(_) => {
                rt.add(id, to);
                let new = rt.task(id).copied();
                self.enqueue_rt(cpu, id);
                // A task that is lowered runs before others of its priority (ENQUEUE_HEAD).
                if let (Some(new), Some(rt)) = (new, &mut self.sys.rt)
                    && old.is_some_and(|old| old.prio < new.prio)
                {
                    rt.cpus[cpu].rq.requeue(id, new.prio, true);
                }
                self.sys.update_rt_avg(cpu, false);
            }
        }
        self.sys.es[id].exec_start = now;
        if self.sys.scx_enabled() && (was_rt || was_dl.is_some()) {
            self.ext_set_priorities(id);
        }
        self.update_idle(cpu);
        self.preempted_by_change(cpu, id, old, was_dl.is_some())
    }

    /// `prio_changed_rt()`, `switched_from_dl()`: a task that is less urgent now may have to make way, and others may
    /// come.
    fn preempted_by_change(&mut self, cpu: Cpu, id: TaskId, old: Option<RtTask>, was_dl: bool) -> bool {
        let Some(rt) = &self.sys.rt else { return false };
        let new = rt.task(id).map(|task| task.prio);
        let lower = was_dl && new.is_some() || old.zip(new).is_some_and(|(old, new)| old.prio < new);
        if lower {
            self.pull_dl_task(cpu);
            self.pull_rt_task(cpu);
        }
        let Some(rt) = &self.sys.rt else { return false };
        let of = &rt.cpus[cpu];
        let first = of.dl.pick().map(|(_, task)| task).or_else(|| of.rq.pick());
        if first != Some(id) && (lower || new.is_none()) {
            self.reschedule(cpu, id);
            return true;
        }
        false
    }

    /// The running task, which is above the fair class, becomes a fair one. Returns whether the CPU has begun something
    /// else: it always reschedules (`switched_to_fair()`).
    pub fn set_fair(&mut self, cpu: Cpu, id: TaskId, idle: bool) -> bool {
        self.account_fair_server(cpu);
        if self.sys.is_dl(id) {
            self.leave_dl(cpu, id, true);
        } else {
            self.sys.update_curr_rt(cpu);
            self.sys.update_rt_avg(cpu, true);
            self.sys.dequeue_rt(cpu, id);
        }
        if let Some(rt) = &mut self.sys.rt {
            rt.set(id, None);
        }
        let e = &mut self.sys.es[id];
        let policy = if idle { Policy::Idle } else { Policy::Normal };
        let plain = Entity::new(policy, e.nice, 0);
        (e.policy, e.load) = (plain.policy, plain.load);
        if self.sys.scx_enabled() {
            self.ext_switching_to(cpu, id);
        } else {
            // It joins the averages as one that balancing has brought (switched_to_fair()).
            self.sys.tasks[id].avg.last_update_time = 0;
            self.sys.es[id].exec_start = 0;
            let _ = self.enqueue(cpu, id, EnqueueFlags::empty());
            self.sys.es[id].exec_start = self.sys.clock_task(cpu);
        }
        self.update_idle(cpu);
        self.pull_dl_task(cpu);
        self.pull_rt_task(cpu);
        self.reschedule(cpu, id);
        true
    }
}
