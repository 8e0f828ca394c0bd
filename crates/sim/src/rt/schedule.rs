//! Realtime tasks on their run queues, and who runs next: a CPU picks by class.

use super::RtState;
use crate::cpu::CpuState;
use crate::engine::Sim;
use crate::system::System;
use crate::task::State;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::rt::{Cpupri, update_rt_rq_load_avg};
use wakelab_sched::runqueue::{Preempted, Prev, Resched, TaskId};
use wakelab_sched::select::WakeFlags;

impl System<'_> {
    /// `update_curr_rt()`: charges the running realtime task, if one runs. It asks for a reschedule when its class may
    /// not go on.
    pub fn update_curr_rt(&mut self, cpu: Cpu) {
        let now = self.clock_task(cpu);
        let Some(rt) = &mut self.rt else { return };
        let c = &mut self.cpus[cpu];
        let Some(curr) = c.curr.filter(|&task| rt.task(task).is_some()) else { return };
        let e = &mut self.es[curr];
        let delta = now - e.exec_start;
        e.sum_exec_runtime += delta;
        e.exec_start = now;
        let Some(bandwidth) = rt.bandwidth.filter(|_| delta != 0) else { return };
        let rq = &mut rt.cpus[cpu].rq;
        let was = rq.throttled();
        rq.charge(delta);
        if !was {
            rt.balance_runtime(cpu);
        }
        let rq = &mut rt.cpus[cpu].rq;
        if rq.account(&bandwidth) {
            c.need_resched = true;
            if !was {
                // dequeue_top_rt_rq()
                c.nr_running -= rq.nr_running();
                c.nr_rt -= rq.nr_running();
            }
        }
    }

    /// `update_rt_rq_load_avg()`; `running`: a realtime task has run up to now.
    pub fn update_rt_avg(&mut self, cpu: Cpu, running: bool) {
        let now = self.clock_pelt(cpu);
        if let Some(rt) = &mut self.rt {
            let changed = update_rt_rq_load_avg(now, &mut rt.cpus[cpu].rq.avg, running);
            self.util_change(cpu, changed);
        }
    }

    /// The previous task of a schedule, if it is a realtime task: charges it, and takes it off if it sleeps or exits
    /// (`dequeue_task_rt()`, `put_prev_task_rt()`). Returns whether it is one.
    pub fn put_prev_rt(&mut self, cpu: Cpu, task: TaskId, prev: Prev) -> bool {
        if !self.is_rt(task) {
            return false;
        }
        self.update_curr_rt(cpu);
        self.update_rt_avg(cpu, true);
        if prev != Prev::Runs {
            self.dequeue_rt(cpu, task);
            return true;
        }
        let pinned = self.tasks[task].pinned;
        if let Some(rt) = self.rt.as_mut().filter(|_| !pinned)
            && let Some(prio) = rt.task(task).map(|rt| rt.prio)
        {
            rt.cpus[cpu].rq.enqueue_pushable(task, prio);
        }
        true
    }

    /// `dequeue_task_rt()`.
    pub fn dequeue_rt(&mut self, cpu: Cpu, task: TaskId) {
        self.uclamp_dec(cpu, task);
        let Some(rt) = &mut self.rt else { return };
        let prio = rt.task(task).expect("a realtime task").prio;
        let rq = &mut rt.cpus[cpu].rq;
        rq.dequeue(task, prio);
        self.es[task].on_rq = false;
        if !rq.throttled() {
            let c = &mut self.cpus[cpu];
            c.nr_running -= 1;
            c.nr_rt -= 1;
        }
        if self.pm.is_some() {
            self.cpufreq_update_util(cpu, false);
        }
    }

    /// The realtime task that a CPU is to run; `None` if none is. It takes the CPU from a fair task, and takes that off
    /// its queue if it blocks or exits.
    pub fn pick_rt(&mut self, cpu: Cpu, prev: Prev) -> Option<TaskId> {
        let rt = self.rt.as_mut()?;
        let of = &mut rt.cpus[cpu];
        let c = &mut self.cpus[cpu];
        let earliest = of.dl.pick();
        // The server is an entity of the deadline class (pick_task_dl()). Of equal deadlines the task's comes first.
        if of.server.is_queued() && earliest.is_none_or(|(deadline, _)| of.server.deadline() < deadline) {
            let leaves = u32::from(prev != Prev::Runs && c.rq.curr().is_some());
            // sched_ext's server asks its class, and is stopped if that has none.
            if c.rq.nr_runnable() > leaves || self.ext.is_some() {
                return None;
            }
            of.server.stop();
        }
        let dl = earliest.map(|(_, task)| task);
        let next = dl.or_else(|| of.rq.pick())?;
        of.dl.dequeue_pushable(next);
        of.rq.dequeue_pushable(next);
        (c.need_resched, c.need_resched_lazy) = (false, false);
        self.account_mm_sched(cpu);
        if let Some(fair) = self.cpus[cpu].rq.curr() {
            self.on_rq(cpu, |rq, es, now| rq.put_prev_task(es, now, prev));
            if prev != Prev::Runs && !self.es[fair].on_rq {
                self.dequeued(cpu, fair);
            }
        }
        // set_next_task_rt(): if the previous task was of the class, the average is up to date.
        if dl.is_some() {
            self.update_dl_avg(cpu, false);
        } else {
            self.update_rt_avg(cpu, false);
        }
        self.es[next].exec_start = self.clock_task(cpu);
        Some(next)
    }
}

impl CpuState {
    /// `cfs.h_nr_queued`: the fair tasks among `nr_running`.
    #[inline]
    pub fn h_nr_queued(&self) -> u32 {
        self.nr_running - self.nr_rt
    }

    /// `sched_idle_rq()`.
    #[inline]
    pub fn sched_idle_rq(&self) -> bool {
        self.nr_rt == 0 && self.rq.sched_idle()
    }
}

impl RtState {
    /// `cpupri_find()` without a mask: whether some CPU that a task may use is less urgent than `prio`.
    fn cpupri_finds(&self, prio: u8, mut allowed: impl Iterator<Item = Cpu>) -> bool {
        allowed.any(|cpu| Cpupri::of(self.cpus[cpu].rq.highest_prio()) < Cpupri::of(prio))
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// `enqueue_task_rt()`.
    pub fn enqueue_rt(&mut self, cpu: Cpu, task: TaskId) {
        let uclamp_last = self.sys.uclamp_after_enqueue();
        if !uclamp_last {
            self.sys.uclamp_inc(cpu, task, true);
        }
        let runs = self.sys.cpus[cpu].curr == Some(task);
        let t = &mut self.sys.tasks[task];
        let pushable = !runs && !t.pinned;
        if t.state != State::Dead {
            t.state = State::Runnable;
        }
        t.iowait = Default::default();
        let Some(rt) = &mut self.sys.rt else { return };
        let prio = rt.task(task).expect("a realtime task").prio;
        let rq = &mut rt.cpus[cpu].rq;
        rq.enqueue(task, prio, pushable);
        self.sys.es[task].on_rq = true;
        if !rq.throttled() {
            let c = &mut self.sys.cpus[cpu];
            c.nr_running += 1;
            c.nr_rt += 1;
            self.sys.rd.overload |= c.nr_running > 1;
        }
        self.start_rt_bandwidth();
        self.update_only_task(cpu);
        if self.sys.pm.is_some() {
            self.sys.cpufreq_update_util(cpu, false);
        }
        if uclamp_last {
            self.sys.uclamp_inc(cpu, task, true);
        }
    }

    /// The previous task of a schedule, if it is above the fair class: charges it, takes it off if it sleeps or exits,
    /// and pulls a task if that leaves the CPU without one of the class (`put_prev_task_balance()`). Returns whether it
    /// is one.
    pub fn put_prev_above_fair(&mut self, cpu: Cpu, task: TaskId, prev: Prev) -> bool {
        if self.sys.is_dl(task) {
            self.put_prev_dl(cpu, task, prev);
            let queued = |sim: &Self| sim.sys.rt.as_ref().is_some_and(|rt| rt.cpus[cpu].dl.has(task));
            if !queued(self) {
                self.pull_dl_task(cpu);
                if self.sys.rt.as_ref().is_some_and(|rt| rt.earliest_dl(cpu).is_none()) {
                    self.pull_rt_task(cpu);
                }
            }
            return true;
        }
        let is_rt = self.sys.put_prev_rt(cpu, task, prev);
        if is_rt && prev != Prev::Runs {
            self.pull_rt_task(cpu);
        }
        is_rt
    }

    /// `wakeup_preempt()` between the classes, and `task_woken_rt()`. Returns `None` if both tasks are fair.
    pub fn wakeup_preempt_class(&mut self, cpu: Cpu, task: TaskId, flags: WakeFlags) -> Option<Preempted> {
        if self.sys.is_dl(task) {
            return Some(self.wakeup_preempt_dl(cpu, task, flags).into());
        }
        let under_dl = self.sys.cpus[cpu].curr.is_some_and(|curr| self.sys.is_dl(curr));
        let curr = self.sys.curr_rt_prio(cpu);
        let prio = self.sys.rt.as_ref().and_then(|rt| rt.task(task)).map(|rt| rt.prio);
        let resched = match (prio, curr) {
            (None, None) => return None,
            (None, Some(_)) => Resched::No,
            (Some(_), None) => Resched::Now,
            (Some(_), Some(_)) if under_dl => Resched::No,
            (Some(prio), Some(curr)) if prio < curr => Resched::Now,
            (Some(prio), Some(curr)) => self.check_preempt_equal_prio(cpu, task, prio, curr),
        };
        let (Some(prio), Some(curr), Resched::No) = (prio, curr, resched) else { return Some(resched.into()) };
        let c = &self.sys.cpus[cpu];
        let pinned = |id: TaskId| self.sys.tasks[id].pinned;
        let keeps = c.curr.is_some_and(pinned) || curr <= prio;
        let waits = !self.sys.tasks[task].on_cpu && !c.need_resched;
        if !flags.is_empty() && waits && keeps && !pinned(task) {
            self.push_rt_tasks(cpu);
        }
        Some(resched.into())
    }

    /// `check_preempt_equal_prio()`: if the running task can go elsewhere and the woken one cannot, the latter runs.
    fn check_preempt_equal_prio(&mut self, cpu: Cpu, task: TaskId, prio: u8, curr_prio: u8) -> Resched {
        let sys = &self.sys;
        let c = &sys.cpus[cpu];
        let (Some(rt), Some(curr)) = (&sys.rt, c.curr) else { return Resched::No };
        if prio != curr_prio || c.need_resched {
            return Resched::No;
        }
        let pinned = |id: TaskId| sys.tasks[id].pinned;
        let finds = |id: TaskId| rt.cpupri_finds(prio, sys.model.masks[sys.tasks[id].mask].iter());
        if pinned(curr) || !finds(curr) || (!pinned(task) && finds(task)) {
            return Resched::No;
        }
        if let Some(rt) = &mut self.sys.rt {
            rt.cpus[cpu].rq.requeue(task, prio, true);
        }
        Resched::Now
    }

    /// `task_tick_rt()` and `task_tick_dl()`, the fair server's part of a tick, and the average of hardware pressure.
    pub fn tick_rt(&mut self, cpu: Cpu) {
        self.sys.update_hw_avg(cpu);
        self.account_fair_server(cpu);
        if self.sys.cpus[cpu].curr.is_some_and(|task| self.sys.is_dl(task)) {
            return self.tick_dl(cpu);
        }
        let Some(curr) = self.sys.cpus[cpu].curr.filter(|&task| self.sys.is_rt(task)) else { return };
        self.sys.update_curr_rt(cpu);
        self.sys.update_rt_avg(cpu, true);
        let Some(rt) = &mut self.sys.rt else { return };
        let slice = rt.rr_timeslice;
        let Some(task) = rt.task_mut(curr) else { return };
        let prio = task.prio;
        let Some(left) = &mut task.time_slice else { return };
        *left -= 1;
        if *left != 0 {
            return;
        }
        *left = slice;
        let rq = &mut rt.cpus[cpu].rq;
        if self.sys.es[curr].on_rq && !rq.is_alone(prio) {
            rq.requeue(curr, prio, false);
            self.sys.cpus[cpu].need_resched = true;
        }
    }

    /// `yield_task_rt()` or `yield_task_dl()`. Returns whether another task is to run.
    pub fn yield_rt(&mut self, cpu: Cpu, task: TaskId) -> bool {
        if self.sys.is_dl(task) {
            return self.yield_dl(cpu, task);
        }
        let need_resched = self.sys.cpus[cpu].need_resched;
        let Some(rt) = &mut self.sys.rt else { return false };
        let prio = rt.task(task).expect("a realtime task").prio;
        let rq = &mut rt.cpus[cpu].rq;
        rq.requeue(task, prio, false);
        need_resched || !rq.is_alone(prio)
    }
}
