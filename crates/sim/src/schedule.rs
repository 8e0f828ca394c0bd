//! `__schedule()`, the switch, and the way into and out of idle.

use crate::cpu::{Doing, Interrupted};
use crate::engine::Sim;
use crate::event_queue::NEVER;
use crate::system::{BOOT_NS, System};
use crate::task::{IoWait, State, Wait};
use wakelab_events::sim::{Event, Sink};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::{Prev, TaskId};
use wakelab_sched::select::policy::{Hook, Hooks};
use wakelab_sched::select::update_idle_core;

impl<S: Sink> Sim<'_, '_, S> {
    /// The running task goes to sleep and waits for `wait`.
    pub fn block(&mut self, cpu: Cpu, task: TaskId, wait: Wait) {
        let sleeper = &mut self.sys.tasks[task];
        sleeper.state = State::Sleeping(wait);
        // The task has run since.
        if sleeper.iowait == IoWait::Woken {
            sleeper.iowait = IoWait::No;
        }
        if self.sys.tasks[task].matters() && wait != Wait::Timer {
            self.nr_unblocked -= 1;
        }
        self.schedule(cpu, Prev::Sleeps);
    }

    /// Enters `__schedule()`; `prev` says what becomes of the running task.
    pub fn schedule(&mut self, cpu: Cpu, prev: Prev) {
        self.pick(cpu, prev);
    }

    /// Waits for the lock of the CPU's own run queue, if it is taken. The CPU tries again when those before it are
    /// done; the switch's own hold begins then.
    fn waits_for_lock(&mut self, cpu: Cpu, then: Doing) -> bool {
        let free = self.sys.cpus[cpu].lock_free;
        if free <= self.sys.now || !self.sys.model.mechanisms.lock_wait {
            return false;
        }
        self.emit(|sys| Event::LockWait { rq: cpu, ns: free - sys.now });
        self.begin_until(cpu, then, free);
        true
    }

    /// With the lock: dequeues the previous task unless it goes on running, and picks the next.
    pub fn pick(&mut self, cpu: Cpu, prev: Prev) {
        if self.waits_for_lock(cpu, Doing::LockSchedule(prev)) {
            return;
        }
        self.account(cpu);
        let prev_task = self.sys.cpus[cpu].curr;
        let mut prev = prev;
        if self.sys.rt.is_some() {
            self.account_fair_server(cpu);
        }
        if let Some(task) = prev_task {
            if self.sys.task_groups.is_some() && prev == Prev::Runs {
                self.throttle_cfs_rq_work(cpu, task);
            }
            if prev == Prev::Sleeps && self.sys.tasks[task].state == State::Runnable {
                // It was woken before it was dequeued (ttwu_runnable()).
                prev = Prev::Runs;
            }
            if self.sys.is_ext(task) {
                self.ext_put_prev(cpu, task, prev);
            } else if self.sys.rt.is_some() && self.put_prev_above_fair(cpu, task, prev) {
            } else if prev == Prev::Runs {
                self.sys.load_put_prev(cpu, task);
            } else {
                self.sys.uclamp_dec(cpu, task);
                self.sys.load_dequeue(cpu, task, true);
            }
        }
        let next = self.pick_next_task(cpu, prev);
        if self.sys.task_groups.is_some() && prev == Prev::Runs && next != prev_task {
            prev_task.into_iter().for_each(|task| self.sys.group_put_prev(cpu, task));
        }
        if let Some(task) = prev_task.filter(|_| prev != Prev::Runs) {
            let run = self.sys.es[task].sum_exec_runtime;
            let now = BOOT_NS + self.sys.now;
            let sleeper = &mut self.sys.tasks[task];
            sleeper.dur.update(run);
            if self.sys.policies.hooks().contains(Hooks::DEQUEUE) {
                sleeper.sleep.prev_dequeue_time = now;
            }
        }
        self.tasks_have_left(cpu);
        self.hook_dequeue(false);
        self.picked(cpu, next);
    }

    /// `pick_next_task()`.
    #[inline]
    pub fn pick_next_task(&mut self, cpu: Cpu, prev: Prev) -> Option<TaskId> {
        if self.sys.scx_enabled() { self.ext_pick_next(cpu, prev) } else { self.sys.pick_next(cpu, prev) }
    }

    /// Switches to the task that was picked. If there is none, balances newly idle first.
    pub fn picked(&mut self, cpu: Cpu, next: Option<TaskId>) {
        if next.is_none() {
            self.sys.update_misfit(cpu, None);
        }
        let c = &mut self.sys.cpus[cpu];
        if next.is_none() && !c.ttwu_pending {
            // newidle_balance() is measured as idle time.
            c.idle_stamp = self.sys.now;
            if !self.sys.scx_enabled() && self.newidle(cpu) {
                return;
            }
        }
        self.switch(cpu, next);
    }

    /// After a newly idle balance: picks from what it moved here, or what others have enqueued here meanwhile.
    pub fn newidle_picks(&mut self, cpu: Cpu) {
        if self.waits_for_lock(cpu, Doing::NewidleLock) {
            return;
        }
        let next = self.sys.pick_next(cpu, Prev::Runs);
        self.tasks_have_left(cpu);
        self.hook_dequeue(false);
        if next.is_some() {
            self.sys.cpus[cpu].idle_stamp = 0;
        }
        self.switch(cpu, next);
    }

    /// Begins the switch to `next`.
    pub fn switch(&mut self, cpu: Cpu, next: Option<TaskId>) {
        let model = self.sys.model;
        let prev = self.sys.cpus[cpu].curr;
        if let Some(next) = next
            && prev != Some(next)
        {
            self.sys.tasks[next].on_cpu = true;
            if !self.sys.scx_enabled() && !self.sys.rt_or_dl(next) {
                self.sys.load_set_next(cpu, next);
                // The list is in the order of last use, the latest at its head (set_next_task_fair()).
                self.sys.cpus[cpu].cfs_tasks.move_to_head(next);
            }
        }
        if !self.sys.scx_enabled() && next.is_some_and(|next| !self.sys.rt_or_dl(next)) {
            self.sys.update_misfit(cpu, next);
        }
        self.sys.cpus[cpu].curr = next;
        self.update_only_task(cpu);
        self.hrtick_schedule(cpu, prev != next);
        if self.sys.rt.is_some() {
            self.hrtick_start_dl(cpu);
        }
        match next {
            Some(_) if self.sys.cpus[cpu].curr_idle => {
                if model.code.avg_idle_at_switch {
                    self.update_rq_avg_idle(cpu);
                }
                // Up to here the CPU was idle for PELT's clock.
                let _ = self.sys.clock_pelt(cpu);
                let c = &mut self.sys.cpus[cpu];
                (c.curr_idle, c.tick_stopped) = (false, false);
                if let (Some(model), Some(pm)) = (self.sys.pm_model(), &mut self.sys.pm) {
                    pm.task_runs(model, model.core_of[cpu], self.sys.now);
                }
                self.sys.touch(cpu);
                self.update_idle(cpu);
                self.hook(Hook::Busy, cpu);
            }
            None if !self.sys.cpus[cpu].curr_idle => {
                // set_next_task_idle() reads the siblings before others see this CPU as idle, which is before the
                // switch: as soon as __schedule() has written rq->curr.
                if model.domains.smt_active && update_idle_core(model.domains, model.features, cpu, &self.sys, |_| {}) {
                    self.set_idle_cores(model.idle_cores_of[cpu], true);
                }
                self.sys.rq_goes_idle(cpu);
                self.sys.cpus[cpu].curr_idle = true;
                self.sys.touch(cpu);
                self.update_idle(cpu);
                self.hook(Hook::Idle, cpu);
            }
            _ => {}
        }
        if prev == next && prev.is_some() {
            if self.sys.rt.is_some() {
                self.push_dl_tasks(cpu);
                self.push_rt_tasks(cpu);
            }
            self.ext_owes(cpu);
            return self.picked_again(cpu);
        }
        let cost = self.switch_cost(prev, next) + self.ext_spent();
        let hold = self.slowed(cpu, cost) + self.ext_waits_for_move(next);
        let end = self.lock(cpu, hold) + hold;
        self.begin_until(cpu, Doing::Switch(prev), end);
    }

    /// The CPU has picked the task that it has. It goes on with it, or, if it was asked to, through `__schedule()` once
    /// more (the loop in `schedule()`), as a scheduler of sched_ext asks that kicks its own CPU in `ops.dispatch()`.
    fn picked_again(&mut self, cpu: Cpu) {
        const NESTED_MAX: u32 = 64;
        if self.sys.scx_enabled() && self.sys.cpus[cpu].need_resched {
            let debt = std::mem::take(&mut self.sys.cpus[cpu].debt);
            return self.begin(cpu, Doing::PickedAgain, debt);
        }
        // A program may ask for the next pick without computing anything (sched_yield()).
        if self.nested_picks == NESTED_MAX {
            return self.begin(cpu, Doing::PickedAgain, 0);
        }
        self.nested_picks += 1;
        self.proceed(cpu);
        self.nested_picks -= 1;
    }

    /// What `context_switch()` costs. From and to idle it costs what it does between processes: lazy TLB mode is not
    /// modelled, so that threads and processes are alike there.
    fn switch_cost(&self, prev: Option<TaskId>, next: Option<TaskId>) -> u64 {
        let process = |id: Option<TaskId>| self.sys.tasks[id?].process;
        let costs = &self.sys.model.costs;
        match process(next) {
            Some(next) if process(prev) == Some(next) => costs.thread_switch,
            _ => costs.context_switch,
        }
    }

    /// The switch is over: the previous task is off the CPU, the lock is free.
    pub fn switched(&mut self, cpu: Cpu, prev: Option<TaskId>) {
        self.account(cpu);
        let next = self.sys.cpus[cpu].curr;
        let mut spinners = smallvec::SmallVec::new();
        let mut prev_sleeps = false;
        if let Some(prev) = prev {
            // Under sched_ext another CPU may have taken it meanwhile, and be on its way to it.
            let taken = self.sys.scx_enabled() && self.sys.runs_elsewhere(cpu, prev);
            let task = &mut self.sys.tasks[prev];
            task.on_cpu = taken;
            let e = &self.sys.es[prev];
            // A throttled task is on the run queue for all but its class (TASK_ON_RQ_QUEUED).
            prev_sleeps = (!e.on_rq && !e.throttled) || e.sched_delayed;
            spinners = task.take_spinners();
        }
        self.emit(|_| Event::Switch { cpu, prev: prev.map(|t| t.0), prev_sleeps, next: next.map(|t| t.0) });
        if let Some(next) = next {
            self.charge_cold_cache(cpu, next);
            self.exit_to_user_mode(cpu);
        }
        if let Some(prev) = prev.filter(|prev| self.sys.tasks[*prev].state == State::Dead) {
            match self.sys.scx_enabled() {
                // What its exit wakes may preempt it. It is on the run queue then, and has its last schedule before it.
                true if prev_sleeps => self.ext_dead(prev),
                false if !self.sys.rt_or_dl(prev) => self.sys.load_dead(prev),
                _ => {}
            }
        }
        if self.sys.rt.is_some() {
            self.push_dl_tasks(cpu);
            self.push_rt_tasks(cpu);
        }
        self.proceed(cpu);
        for spinner in spinners {
            self.spun(spinner);
        }
    }

    /// Adds the cost of cold caches to a task that last ran on another CPU.
    fn charge_cold_cache(&mut self, cpu: Cpu, next: TaskId) {
        let model = self.sys.model;
        let task = &mut self.sys.tasks[next];
        let cost = task.warm_cpu.map_or(0, |warm| model.costs.cold_task.at(model.distances.between(warm, cpu)));
        task.warm_cpu = Some(cpu);
        task.add_overhead(cost);
    }

    /// There is nothing to run: the CPU goes idle.
    pub fn enter_idle(&mut self, cpu: Cpu) {
        // The time of ticks that came on the way here is added here.
        let debt = std::mem::take(&mut self.sys.cpus[cpu].debt);
        let blocked = self.nohz_run_idle(cpu);
        self.begin(cpu, Doing::IdleEntry, self.sys.model.costs.idle_entry + debt + blocked);
    }

    /// The CPU is in the idle state, or leaves it at once if work has come meanwhile.
    pub fn idle_entered(&mut self, cpu: Cpu) {
        let c = &self.sys.cpus[cpu];
        if self.sys.has_queued(cpu) || c.need_resched || !c.irqs.is_empty() {
            return self.proceed(cpu);
        }
        self.begin_until(cpu, Doing::Idle, NEVER);
        self.emit_detail(|_| Event::Idle { cpu, entered: true });
        self.sibling_busy(cpu, false);
        self.cpuidle_enters(cpu);
    }

    /// An idle CPU is interrupted, and begins to leave its idle state.
    pub fn leave_idle(&mut self, cpu: Cpu, by: Interrupted) {
        self.emit_detail(|_| Event::Idle { cpu, entered: false });
        let ipi = if let Interrupted::Ipi { ns } = by { ns } else { 0 };
        let latency = self.cpuidle_leaves(cpu, by);
        self.active_changes(cpu, true);
        let exit = latency + self.slowed(cpu, self.sys.model.costs.idle_exit);
        self.begin_until(cpu, Doing::IdleExit, self.sys.now + ipi + exit);
        self.sibling_busy(cpu, true);
    }
}

impl System<'_> {
    /// Whether the task's CPU is switching from it to another. A pass of balancing takes tasks under the run queue's
    /// lock, which the switch holds until the task has left the CPU.
    pub fn being_switched_out(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let doing = self.cpus[t.cpu].doing;
        t.on_cpu && doing == Doing::Switch(Some(task)) && self.model.mechanisms.lock_wait
    }

    /// `update_rq_avg_idle()`, 7.2: averages the idle time that ends now, if one does. Before 7.2 the same code is in
    /// `ttwu_do_activate()` (`ttwu_do_wakeup()`, 5.10). SIS_PROP's own average is updated with it, for versions that
    /// have none any more.
    pub fn update_rq_avg_idle(&mut self, cpu: Cpu) {
        let c = &mut self.cpus[cpu];
        if c.idle_stamp == 0 {
            return;
        }
        let delta = self.now.saturating_sub(c.idle_stamp);
        let max = 2 * c.max_idle_balance_cost;
        let diff = delta.wrapping_sub(c.avg_idle) as i64 / 8;
        c.avg_idle = c.avg_idle.wrapping_add(diff as u64).min(max);
        c.wake_stamp = self.jiffies;
        c.wake_avg_idle = c.avg_idle / 2;
        c.idle_stamp = 0;
    }
}
