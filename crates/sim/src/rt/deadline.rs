//! Deadline tasks on their run queues: CBS, EDF, admission, and how CPUs push and pull those that wait.
//!
//! Replenishment and 0-lag timers take no time, as the period's timer of realtime tasks. A choice of a CPU and a push
//! cost what they do for realtime tasks.

use super::RtState;
use crate::SimError;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::system::System;
use crate::task::State;
use wakelab_events::sim::{Event, Sink};
use wakelab_machine::Distance;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::{SCHED_CAPACITY_SCALE, cap_scale};
use wakelab_sched::rt::{
    DlBw, DlCharge, DlEntity, DlParams, DlQueue, LaterRq, ZeroLag, find_later_rq, select_task_rq_dl,
    update_rt_rq_load_avg,
};
use wakelab_sched::runqueue::{Prev, Resched, TaskId};
use wakelab_sched::select::WakeFlags;
use wakelab_workload::Deadline;

/// Returns the parameters of a task.
pub fn params(of: Deadline) -> DlParams {
    DlParams { runtime: of.runtime_ns, deadline: of.deadline_ns, period: of.period_ns }
}

/// Why an entity is queued (`ENQUEUE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DlEnqueue {
    /// A wake-up, which moved it to this CPU or not.
    Wakeup { migrated: bool },
    /// A change of policy or parameters, or a push or pull.
    Restore,
    /// Its timer.
    Replenish,
}

/// A deadline task, or one that was one up to its 0-lag time.
#[derive(Clone, Copy, Debug)]
pub struct DlTask {
    /// `p->dl`.
    pub entity: DlEntity,
    /// It has left the class or exited, and its timer gives its bandwidth back.
    pub left: bool,
    /// It has exited.
    pub dead: bool,
}

impl RtState {
    /// Returns the state of a deadline task; `None` for another task.
    #[inline]
    pub fn dl_task(&self, id: TaskId) -> Option<&DlTask> {
        self.dl_tasks.get(&id.0).filter(|task| !task.left)
    }

    /// Whether a task is a deadline task, or was one when it exited.
    #[inline]
    pub fn is_or_died_dl(&self, id: TaskId) -> bool {
        self.dl_tasks.get(&id.0).is_some_and(|task| !task.left || task.dead)
    }

    fn dl_mut(&mut self, id: TaskId) -> &mut DlTask {
        self.dl_tasks.get_mut(&id.0).expect("a deadline task")
    }

    /// `dl_rq->earliest_dl.curr`: the earliest deadline of a CPU's tasks and fair server; `None` without one.
    pub fn earliest_dl(&self, cpu: Cpu) -> Option<u64> {
        let of = &self.cpus[cpu];
        let server = of.server.is_queued().then(|| of.server.deadline());
        let task = of.dl.pick().map(|(deadline, _)| deadline);
        task.into_iter().chain(server).min()
    }

    /// The CPUs that have pushable deadline tasks (`rd->dlo_mask`).
    fn dl_overloaded(&self) -> Vec<Cpu> {
        (0..self.cpus.len() as Cpu).filter(|&cpu| self.cpus[cpu].dl.overloaded()).collect()
    }

    /// `dl_task_is_earliest_deadline()`.
    fn is_earliest_deadline(&self, deadline: u64, cpu: Cpu) -> bool {
        self.earliest_dl(cpu).is_none_or(|earliest| deadline < earliest)
    }
}

impl System<'_> {
    /// `dl_task()`.
    #[inline]
    pub fn is_dl(&self, id: TaskId) -> bool {
        self.rt.as_ref().is_some_and(|rt| rt.dl_task(id).is_some())
    }

    /// The deadline of the task that a CPU runs, if that is a deadline task.
    fn curr_deadline(&self, cpu: Cpu) -> Option<u64> {
        let curr = self.cpus[cpu].curr?;
        self.rt.as_ref().and_then(|rt| rt.dl_task(curr)).map(|task| task.entity.deadline)
    }

    /// `cpu_util_dl()`.
    pub fn cpu_util_dl(&self, cpu: Cpu) -> u64 {
        self.rt.as_ref().map_or(0, |rt| rt.cpus[cpu].dl.avg.util_avg)
    }

    /// `update_dl_rq_load_avg()`; `running`: a deadline task has run up to now.
    pub fn update_dl_avg(&mut self, cpu: Cpu, running: bool) {
        let now = self.clock_pelt(cpu);
        if let Some(rt) = &mut self.rt {
            let changed = update_rt_rq_load_avg(now, &mut rt.cpus[cpu].dl.avg, running);
            self.util_change(cpu, changed);
        }
    }

    /// The time that a deadline task is charged for `delta` ns: as long as the work takes at full speed
    /// (`dl_scaled_delta_exec()`).
    fn dl_scaled(&self, cpu: Cpu, delta: u64) -> u64 {
        let freq = self.pm.as_ref().map_or(SCHED_CAPACITY_SCALE, |pm| pm.cpus[cpu].freq_scale);
        cap_scale(cap_scale(delta, freq), self.model.capacity[cpu])
    }

    /// Calls `search` for a deadline task with what is known of all CPUs.
    fn with_later_rq<T>(
        &mut self,
        this_cpu: Cpu,
        task: TaskId,
        search: impl FnOnce(&LaterRq<'_>, &dyn Fn(Cpu) -> Option<u64>, Option<&mut Cpu>) -> T,
    ) -> T {
        let rt = self.rt.as_mut().expect("there are deadline tasks");
        let mut distributed = rt.cpus[this_cpu].distributed;
        let of = &self.tasks[task];
        let entity = rt.dl_mut(task).entity;
        let later = LaterRq {
            task_cpu: of.cpu,
            this_cpu,
            deadline: entity.deadline,
            params: entity.params,
            allowed: &self.model.masks[of.mask],
            domains: self.model.domains,
            capacity: &self.model.capacity,
        };
        let turn = rt.distributes.then_some(&mut distributed);
        let found = search(&later, &|cpu| rt.earliest_dl(cpu), turn);
        rt.cpus[this_cpu].distributed = distributed;
        found
    }

    /// `select_task_rq_dl()` of a wake-up by `this_cpu`.
    pub fn select_dl(&mut self, this_cpu: Cpu, task: TaskId) -> Cpu {
        let cpu = self.tasks[task].cpu;
        let pinned = self.cpus[cpu].curr.is_some_and(|curr| self.tasks[curr].pinned);
        let curr = self.curr_deadline(cpu).map(|deadline| (pinned, deadline));
        self.with_later_rq(this_cpu, task, |search, earliest, turn| select_task_rq_dl(search, curr, earliest, turn))
    }

    /// Changes a CPU's active bandwidth (`__add_running_bw()`, `__sub_running_bw()`), and tells cpufreq.
    fn change_running_bw(&mut self, cpu: Cpu, change: impl FnOnce(&mut u64)) {
        let Some(rt) = &mut self.rt else { return };
        change(&mut rt.cpus[cpu].dl.running_bw);
        if self.pm.is_some() {
            self.cpufreq_update_util(cpu, false);
        }
    }

    fn change_this_bw(&mut self, cpu: Cpu, change: impl FnOnce(&mut u64)) {
        if let Some(rt) = &mut self.rt {
            change(&mut rt.cpus[cpu].dl.this_bw);
        }
    }

    /// A wake-up moves a deadline task from `prev` (`migrate_task_rq_dl()`).
    pub fn migrate_dl(&mut self, prev: Cpu, task: TaskId) {
        let Some(rt) = &mut self.rt else { return };
        let of = rt.dl_mut(task);
        let bw = of.entity.params.bw();
        if of.entity.contends() {
            self.change_running_bw(prev, |running| *running -= bw);
        }
        self.change_this_bw(prev, |this| *this -= bw);
    }

    /// A deadline task is off its run queue: nothing of it is counted there.
    fn dl_off_rq(&mut self, cpu: Cpu, task: TaskId) {
        let Some(rt) = &mut self.rt else { return };
        if rt.cpus[cpu].dl.dequeue(task) {
            let c = &mut self.cpus[cpu];
            c.nr_running -= 1;
            c.nr_rt -= 1;
        }
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// `sched_dl_overflow()`, and what `__sched_setscheduler()` refuses before. Returns false, with the run's failure,
    /// if the task does not get what it asks for.
    pub fn admit_dl(&mut self, task: TaskId, asked: DlParams) -> bool {
        let model = self.sys.model;
        let of = &self.sys.tasks[task];
        let all = model.masks[of.mask].weight() == model.nr_cpus();
        let capacity = model.capacity.iter().sum();
        let Some(rt) = &mut self.sys.rt else { return false };
        let is_dl = rt.dl_task(task).is_some();
        let old = rt.dl_tasks.get(&task.0).map_or(0, |task| task.entity.params.bw());
        let new = asked.bw();
        let DlBw { bw, total } = rt.dl_bw;
        let what = if !all && bw.is_some() {
            "it may not use all CPUs (EPERM)".to_owned()
        } else if rt.dl_bw.overflows(capacity, if is_dl { old } else { 0 }, new) {
            let pct = |bw: u64| format!("{}%", (bw * 100) >> 20);
            let limit = bw.map_or(0, |bw| (bw * capacity) >> 10);
            format!(
                "it asks for {} of a CPU, but of the {} that deadline tasks may have of all CPUs, {} are taken \
                 (EBUSY); expected less, fewer such tasks, or a larger sched_rt_runtime_us",
                pct(new),
                pct(limit),
                pct(total)
            )
        } else {
            // One whose timer has not given its bandwidth back yet counts with its new one.
            rt.dl_bw.total = total - old + new;
            return true;
        };
        let name = self.sys.task_name(task);
        self.failed = Some(SimError::Workload(format!("task {name} cannot get the policy SCHED_DEADLINE: {what}")));
        false
    }

    /// A task becomes a deadline task, or changes what it asks for. It is not queued.
    pub fn set_dl(&mut self, task: TaskId, asked: DlParams) {
        let now = self.sys.now;
        let Some(rt) = &mut self.sys.rt else { return };
        let of =
            rt.dl_tasks.entry(task.0).or_insert(DlTask { entity: DlEntity::new(now, asked), left: false, dead: false });
        of.entity.params = asked;
        of.entity.inactive = None;
        of.entity.non_contending = false;
        if std::mem::take(&mut of.left) {
            of.entity.throttled = false;
        }
    }

    /// Sets the timers of a deadline task that it wants and does not have.
    fn set_dl_timers(&mut self, task: TaskId, before: DlEntity) {
        let Some(rt) = &mut self.sys.rt else { return };
        let after = rt.dl_mut(task).entity;
        if let Some(at) = after.timer.filter(|_| after.timer != before.timer) {
            self.at(at, TimedEvent::DlReplenish(task));
        }
        if let Some(at) = after.inactive.filter(|_| after.inactive != before.inactive) {
            self.at(at, TimedEvent::DlInactive(task));
        }
    }

    /// Changes a deadline task, and sets its timers.
    fn change_dl<T>(&mut self, task: TaskId, change: impl FnOnce(&mut DlEntity, u64) -> T) -> T {
        let now = self.sys.now;
        let of = &mut self.sys.rt.as_mut().expect("there are deadline tasks").dl_mut(task).entity;
        let before = *of;
        let made = change(of, now);
        self.set_dl_timers(task, before);
        made
    }

    /// `enqueue_task_dl()`.
    pub fn enqueue_dl(&mut self, cpu: Cpu, task: TaskId, why: DlEnqueue) {
        let t = &mut self.sys.tasks[task];
        if t.state != State::Dead {
            t.state = State::Runnable;
        }
        t.iowait = Default::default();
        self.sys.es[task].on_rq = true;
        let Some(rt) = &mut self.sys.rt else { return };
        let bw = rt.dl_mut(task).entity.params.bw();
        let queue = match why {
            DlEnqueue::Wakeup { migrated } => {
                if migrated {
                    self.sys.change_this_bw(cpu, |this| *this += bw);
                }
                let Some(rt) = &mut self.sys.rt else { return };
                if !rt.dl_mut(task).entity.contends() {
                    self.sys.change_running_bw(cpu, |running| *running += bw);
                }
                self.change_dl(task, |entity, now| entity.wake(now))
            }
            DlEnqueue::Restore => {
                self.sys.change_this_bw(cpu, |this| *this += bw);
                self.sys.change_running_bw(cpu, |running| *running += bw);
                self.change_dl(task, |entity, now| entity.restore(now))
            }
            DlEnqueue::Replenish => {
                self.change_dl(task, |entity, now| entity.replenish(now));
                DlQueue::Queued
            }
        };
        if queue == DlQueue::Waits {
            return;
        }
        let c = &mut self.sys.cpus[cpu];
        let pushable = c.curr != Some(task) && !self.sys.tasks[task].pinned;
        c.nr_running += 1;
        c.nr_rt += 1;
        self.sys.rd.overload |= c.nr_running > 1;
        let Some(rt) = &mut self.sys.rt else { return };
        let deadline = rt.dl_mut(task).entity.deadline;
        let rq = &mut rt.cpus[cpu].dl;
        rq.enqueue(task, deadline);
        if pushable {
            rq.enqueue_pushable(task);
        }
        self.update_only_task(cpu);
    }

    /// `update_curr_dl()`: charges the running deadline task, if one runs. It asks for a reschedule when the task may
    /// not go on.
    pub fn update_curr_dl(&mut self, cpu: Cpu) {
        let now = self.sys.clock_task(cpu);
        let Some(curr) = self.sys.cpus[cpu].curr.filter(|&task| self.sys.is_dl(task)) else { return };
        let Some(rt) = &self.sys.rt else { return };
        if !rt.cpus[cpu].dl.has(curr) {
            return;
        }
        let e = &mut self.sys.es[curr];
        let delta = now - e.exec_start;
        e.sum_exec_runtime += delta;
        e.exec_start = now;
        let yielded = rt.dl_task(curr).is_some_and(|task| task.entity.yielded);
        if delta == 0 && !yielded {
            return;
        }
        let scaled = self.sys.dl_scaled(cpu, delta);
        let charge = self.change_dl(curr, |entity, now| entity.charge(now, scaled));
        if charge != DlCharge::Runs {
            self.sys.dl_off_rq(cpu, curr);
            if charge == DlCharge::Replenished {
                // It runs, so that nobody can take it.
                let Some(rt) = &mut self.sys.rt else { return };
                let deadline = rt.dl_mut(curr).entity.deadline;
                rt.cpus[cpu].dl.enqueue(curr, deadline);
                let c = &mut self.sys.cpus[cpu];
                c.nr_running += 1;
                c.nr_rt += 1;
            }
            let Some(rt) = &self.sys.rt else { return };
            let leftmost = rt.cpus[cpu].dl.pick().map(|(_, task)| task);
            if leftmost != Some(curr) {
                self.sys.cpus[cpu].need_resched = true;
            }
        }
        // RT throttling shares its time with deadline tasks (sched_rt_bandwidth_account()).
        let Some(rt) = &mut self.sys.rt else { return };
        if let Some(limit) = rt.bandwidth.and_then(|bandwidth| bandwidth.runtime) {
            let active = rt.period_active;
            let rq = &mut rt.cpus[cpu].rq;
            if active || rq.rt_time() < limit {
                rq.charge(delta);
            }
        }
    }

    /// The previous task of a schedule, a deadline task: charges it, and takes it off if it sleeps or exits.
    pub fn put_prev_dl(&mut self, cpu: Cpu, task: TaskId, prev: Prev) {
        self.update_curr_dl(cpu);
        self.sys.update_dl_avg(cpu, true);
        if prev != Prev::Runs {
            return self.dequeue_dl_sleep(cpu, task);
        }
        let pinned = self.sys.tasks[task].pinned;
        if let Some(rt) = self.sys.rt.as_mut().filter(|_| !pinned) {
            rt.cpus[cpu].dl.enqueue_pushable(task);
        }
    }

    /// `dequeue_task_dl()` of a task that sleeps or exits: its bandwidth stays active up to its 0-lag time
    /// (`task_non_contending()`).
    fn dequeue_dl_sleep(&mut self, cpu: Cpu, task: TaskId) {
        self.sys.dl_off_rq(cpu, task);
        self.sys.es[task].on_rq = false;
        let dead = self.sys.tasks[task].state == State::Dead;
        if let Some(rt) = &mut self.sys.rt {
            rt.dl_mut(task).dead = dead;
        }
        if self.change_dl(task, DlEntity::sleep) == ZeroLag::Now {
            self.dl_inactive_now(cpu, task, dead);
        } else if let Some(rt) = self.sys.rt.as_mut().filter(|_| dead) {
            rt.dl_mut(task).left = true;
        }
    }

    /// The 0-lag time of a task that sleeps has passed.
    fn dl_inactive_now(&mut self, cpu: Cpu, task: TaskId, dead: bool) {
        let Some(rt) = &mut self.sys.rt else { return };
        let bw = rt.dl_mut(task).entity.params.bw();
        self.sys.change_running_bw(cpu, |running| *running -= bw);
        if dead {
            self.sys.change_this_bw(cpu, |this| *this -= bw);
            self.dl_gives_back(task);
        }
    }

    /// A task that is no deadline task any more gives its bandwidth back.
    fn dl_gives_back(&mut self, task: TaskId) {
        let Some(rt) = &mut self.sys.rt else { return };
        let of = rt.dl_mut(task);
        let bw = of.entity.params.bw();
        if of.dead {
            // Who reads its class after its end still finds it.
            (of.left, of.entity.params.runtime) = (true, 0);
        } else {
            rt.dl_tasks.remove(&task.0);
        }
        rt.dl_bw.total -= bw;
    }

    /// The running task leaves the class (`dequeue_task_dl(DEQUEUE_SAVE)`, `switched_from_dl()`).
    pub fn leave_dl(&mut self, cpu: Cpu, task: TaskId, to_other_class: bool) {
        self.update_curr_dl(cpu);
        self.sys.dl_off_rq(cpu, task);
        self.sys.es[task].on_rq = false;
        let Some(rt) = &mut self.sys.rt else { return };
        let bw = rt.dl_mut(task).entity.params.bw();
        self.sys.change_running_bw(cpu, |running| *running -= bw);
        self.sys.change_this_bw(cpu, |this| *this -= bw);
        if !to_other_class {
            return;
        }
        self.sys.update_dl_avg(cpu, true);
        let zero_lag = self.change_dl(task, DlEntity::sleep);
        if zero_lag == ZeroLag::Now {
            return self.dl_gives_back(task);
        }
        if let Some(rt) = &mut self.sys.rt {
            let of = rt.dl_mut(task);
            (of.left, of.entity.non_contending) = (true, false);
        }
    }

    /// `inactive_task_timer()`, if it was not set anew.
    pub fn dl_inactive_timer(&mut self, task: TaskId) {
        let now = self.sys.now;
        let cpu = self.sys.tasks[task].cpu;
        let Some(rt) = &mut self.sys.rt else { return };
        let Some(of) = rt.dl_tasks.get_mut(&task.0).filter(|of| of.entity.inactive == Some(now)) else { return };
        of.entity.inactive = None;
        let (left, bw) = (of.left, of.entity.params.bw());
        if std::mem::take(&mut of.entity.non_contending) {
            self.sys.change_running_bw(cpu, |running| *running -= bw);
            if left {
                self.sys.change_this_bw(cpu, |this| *this -= bw);
            }
        }
        if left {
            self.dl_gives_back(task);
        }
    }

    /// `dl_task_timer()`, if it was not set anew: the next period begins.
    pub fn dl_replenish_timer(&mut self, task: TaskId) {
        let now = self.sys.now;
        let Some(rt) = &mut self.sys.rt else { return };
        let Some(of) = rt.dl_tasks.get_mut(&task.0).filter(|of| of.entity.timer == Some(now)) else { return };
        of.entity.timer = None;
        if of.left || !of.entity.throttled {
            return;
        }
        if !self.sys.es[task].on_rq {
            of.entity.replenish(now);
            return;
        }
        let cpu = self.sys.tasks[task].cpu;
        self.sys.this_cpu = cpu;
        self.enqueue_dl(cpu, task, DlEnqueue::Replenish);
        self.update_idle(cpu);
        match self.sys.curr_deadline(cpu) {
            Some(_) if self.dl_preempts(cpu, task) != Resched::Now => {}
            _ => self.kick(cpu),
        }
        self.push_dl_tasks(cpu);
    }

    /// `dl_entity_preempt()` of the running deadline task.
    fn dl_preempts(&self, cpu: Cpu, task: TaskId) -> Resched {
        let Some(rt) = &self.sys.rt else { return Resched::No };
        let deadline = rt.dl_task(task).map(|task| task.entity.deadline);
        if deadline < self.sys.curr_deadline(cpu) { Resched::Now } else { Resched::No }
    }

    /// `wakeup_preempt_dl()` beside a deadline task, and `task_woken_dl()`. Two tasks of one deadline that may both
    /// move leave each other alone (`check_preempt_equal_dl()`).
    pub fn wakeup_preempt_dl(&mut self, cpu: Cpu, task: TaskId, flags: WakeFlags) -> Resched {
        // A throttled task waits for its timer.
        let Some(rt) = &self.sys.rt else { return Resched::No };
        if !rt.cpus[cpu].dl.has(task) || self.sys.curr_deadline(cpu).is_none() {
            return Resched::Now;
        }
        let resched = self.dl_preempts(cpu, task);
        let waits = !self.sys.tasks[task].on_cpu && !self.sys.cpus[cpu].need_resched;
        if resched == Resched::No && !flags.is_empty() && waits {
            self.push_dl_tasks(cpu);
        }
        resched
    }

    /// `push_dl_tasks()`.
    pub fn push_dl_tasks(&mut self, cpu: Cpu) {
        while self.push_dl_task(cpu) {}
    }

    /// `push_dl_task()`. Returns whether a task was moved.
    fn push_dl_task(&mut self, cpu: Cpu) -> bool {
        let Some(rt) = &self.sys.rt else { return false };
        let free = |task: TaskId| !self.sys.tasks[task].on_cpu;
        let Some((deadline, task)) = rt.cpus[cpu].dl.pick_pushable(free) else { return false };
        let pinned = self.sys.cpus[cpu].curr.is_some_and(|curr| self.sys.tasks[curr].pinned);
        if !pinned && self.sys.curr_deadline(cpu).is_some_and(|curr| deadline < curr) {
            if !self.sys.cpus[cpu].need_resched {
                self.kick(cpu);
            }
            return false;
        }
        let later = self.sys.with_later_rq(cpu, task, |search, earliest, turn| find_later_rq(search, earliest, turn));
        let Some(dest) = later.filter(|&dest| dest != cpu) else { return false };
        // find_lock_later_rq()
        if !self.sys.rt.as_ref().is_some_and(|rt| rt.is_earliest_deadline(deadline, dest)) {
            return false;
        }
        self.sys.cpus[cpu].debt += self.sys.model.costs.enqueue.at(Distance::Llc);
        self.move_dl(cpu, dest, task);
        true
    }

    /// Moves a waiting deadline task, which then preempts what runs there.
    fn move_dl(&mut self, src: Cpu, dst: Cpu, task: TaskId) {
        let Some(rt) = &mut self.sys.rt else { return };
        let bw = rt.dl_mut(task).entity.params.bw();
        self.sys.dl_off_rq(src, task);
        self.sys.change_running_bw(src, |running| *running -= bw);
        self.sys.change_this_bw(src, |this| *this -= bw);
        self.sys.tasks[task].cpu = dst;
        self.emit(|_| Event::Migrate { task: task.0, from: src, to: dst });
        self.update_idle(src);
        self.update_only_task(src);
        self.enqueue_dl(dst, task, DlEnqueue::Restore);
        self.update_idle(dst);
        self.kick(dst);
    }

    /// `pull_dl_task()`: a CPU whose deadline task has left gets one that waits elsewhere.
    pub fn pull_dl_task(&mut self, cpu: Cpu) {
        let Some(rt) = &self.sys.rt else { return };
        let mut dmin = u64::MAX;
        for src in rt.dl_overloaded().into_iter().filter(|&src| src != cpu) {
            let Some(rt) = &self.sys.rt else { return };
            let from = &rt.cpus[src];
            // A task that its CPU is switching from is not to be had before the switch is over.
            let may = |id: TaskId| {
                let task = &self.sys.tasks[id];
                !task.on_cpu && self.sys.model.masks[task.mask].test(cpu)
            };
            let Some((next, _)) = from.dl.pick_pushable(|_| true) else { continue };
            if rt.earliest_dl(cpu).is_some_and(|earliest| earliest < next) {
                continue;
            }
            if from.dl.nr_running() + usize::from(from.server.is_queued()) <= 1 {
                continue;
            }
            let Some((deadline, task)) = from.dl.pick_pushable(may) else { continue };
            if deadline >= dmin || !rt.is_earliest_deadline(deadline, cpu) {
                continue;
            }
            // One that is more urgent than what runs there is about to run there.
            if self.sys.curr_deadline(src).is_some_and(|curr| deadline < curr) {
                continue;
            }
            dmin = deadline;
            self.move_dl(src, cpu, task);
        }
    }

    /// `task_tick_dl()`, by a tick or by the hrtick of the slice.
    pub fn tick_dl(&mut self, cpu: Cpu) {
        self.update_curr_dl(cpu);
        self.sys.update_dl_avg(cpu, true);
    }

    /// `start_hrtick_dl()`: the time after which the running deadline task has used its runtime up, ns; `None` if no
    /// hrtick is to be started.
    pub fn hrtick_dl(&self, cpu: Cpu) -> Option<u64> {
        let rt = self.sys.rt.as_ref().filter(|rt| rt.dl_hrtick)?;
        let curr = self.sys.cpus[cpu].curr?;
        let runtime = rt.dl_task(curr)?.entity.runtime;
        // "Don't schedule slices shorter than 10000ns"
        (runtime > 0 && rt.cpus[cpu].dl.pick().is_some_and(|(_, task)| task == curr))
            .then_some(runtime.max(10_000) as u64)
    }

    /// `yield_task_dl()`: the rest of the runtime is given away. Returns whether the task stops.
    pub fn yield_dl(&mut self, cpu: Cpu, task: TaskId) -> bool {
        if let Some(rt) = &mut self.sys.rt {
            rt.dl_mut(task).entity.yielded = true;
        }
        self.update_curr_dl(cpu);
        true
    }
}
