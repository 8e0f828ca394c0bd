//! `load_balance()`: passes over a domain, and the tasks that they move.
//!
//! A pass decides on the state of one moment and moves tasks at that moment. The time that it takes is spent before it
//! (newly idle) or after it (periodic, nohz).

use crate::cpu::Doing;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::system::root_domain::GroupsRead;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::HrtickForm;
use wakelab_sched::balance::{CpuIdleType, Rebalance, Visit, active_load_balance_cpu_stop, plan_balance};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::{DequeueFlags, EnqueueFlags, Prev, Resched, TaskId};
use wakelab_sched::select::{UtilView, WakeFlags};

impl<S: Sink> Sim<'_, '_, S> {
    /// One pass over a domain for `cpu`. Returns how many tasks it moved, and whether higher domains are to be
    /// balanced.
    pub fn balance_pass(&mut self, cpu: Cpu, level: usize, idle: CpuIdleType) -> (usize, bool) {
        let model = self.sys.model;
        if self.sys.rt.is_some() {
            self.update_group_capacity(cpu, level, idle);
        }
        self.sys.refresh_groups(GroupsRead::Domain(cpu, level));
        let state = self.sys.cpus[cpu].sd[level];
        let plan = plan_balance(&self.sys, &model.balance, cpu, level, idle, &state);
        let sd = model.balance.sd(cpu, level);
        self.sys.cpus[cpu].sd[level].tune(sd, idle, &plan);
        self.sys.balanced_cache(&plan);
        if let Some(overload) = plan.overload {
            self.sys.rd.overload = overload;
        }
        if let Some(overutilized) = plan.overutilized {
            self.sys.rd.overutilized = overutilized;
        }
        if model.asym_idle_scan && idle != CpuIdleType::NewlyIdle && plan.continue_balancing {
            self.update_asym_idle_scan(cpu, level);
        }
        if let Some(imbalanced) = plan.parent_imbalance {
            let parent = model.balance.sd(cpu, level + 1);
            self.sys.rd.set_group_imbalance(&parent.groups[parent.first_group as usize], imbalanced);
        }
        if let Some(sum_util) = plan.sum_util {
            let llc = model.llc_of[cpu];
            let nr_idle_scan = model.idle_scan.map(|rules| {
                let runnable = || sd.span.iter().map(|cpu| self.sys.cpu_runnable(cpu)).sum();
                rules.nr_idle_scan(rules.param.sum(sum_util, runnable), sd.span_weight, sd.imbalance_pct)
            });
            if let Some(nr_idle_scan) = nr_idle_scan {
                self.set_nr_idle_scan(llc, nr_idle_scan);
            }
            let (llc, weight) = (model.llc_first[llc], sd.span_weight);
            self.emit(|_| Event::IdleScan { llc, sum_util, weight, nr_idle_scan });
        }
        self.emit(|_| Event::Balance {
            cpu,
            level: level as u32,
            idle,
            outcome: plan.outcome,
            busiest: plan.busiest,
            imbalance: plan.imbalance,
            moved: plan.moves.len() as u32,
            active: plan.active_balance,
            nr_rqs: plan.nr_rqs,
        });
        if let Some(src) = plan.busiest {
            // A pass that started over (redo) has skipped tasks of more than one run queue.
            for &task in &plan.skipped {
                let own = self.sys.tasks[task].cpu;
                self.sys.cpus[own].cfs_tasks.move_to_head(task);
            }
            for moved in plan.attach_order() {
                let resched = self.pull(src, moved.dst_cpu, moved.task);
                if moved.dst_cpu != cpu && resched != Resched::Lazy {
                    self.kick(moved.dst_cpu);
                }
            }
            if plan.active_balance {
                let c = &mut self.sys.cpus[src];
                (c.active_balance, c.active_llc) = (Some(cpu), plan.active_llc);
                self.at(self.sys.now, TimedEvent::Stopper(src));
            }
        }
        (plan.moves.len(), plan.continue_balancing)
    }

    /// The stopper pushes the running task (`active_load_balance_cpu_stop()`). Returns whether the CPU has begun to
    /// switch to another task. The switches to the stopper and back cost two context switches.
    pub fn push(&mut self, cpu: Cpu) -> bool {
        let model = self.sys.model;
        let Some(target) = self.sys.cpus[cpu].active_balance.take() else { return false };
        self.sys.cpus[cpu].debt += 2 * model.costs.context_switch;
        let states = &self.sys.cpus[target].sd;
        let for_llc = self.sys.cpus[cpu].active_llc;
        let push = active_load_balance_cpu_stop(&self.sys, &model.balance, cpu, target, states, for_llc);
        let Some(push) = push else { return false };
        self.sys.cpus[target].sd[push.level].nr_balance_failed = 0;
        self.push_task(cpu, target, push.task)
    }

    /// The running task has the stopper move it to another CPU (`stop_one_cpu()` with `migration_cpu_stop()`), which
    /// costs two context switches. Returns whether the CPU has begun to switch to another task.
    pub fn stop_and_push(&mut self, cpu: Cpu, target: Cpu, task: TaskId) -> bool {
        self.sys.cpus[cpu].debt += 2 * self.sys.model.costs.context_switch;
        self.push_task(cpu, target, task)
    }

    /// The stopper moves a task, which may be the current one. Returns whether the CPU has begun to switch to another
    /// task.
    pub fn push_task(&mut self, cpu: Cpu, target: Cpu, task: TaskId) -> bool {
        let runs = self.sys.cpus[cpu].curr == Some(task);
        // The stopper has preempted it, so that it is off its CPU already.
        self.sys.tasks[task].on_cpu = false;
        self.detach(cpu, task);
        let mut next = None;
        if runs {
            // Before the task is enqueued elsewhere, or this run queue would take it for its own.
            self.sys.cpus[cpu].curr = None;
            next = self.pick_next_task(cpu, Prev::Runs);
            self.hook_dequeue(false);
        }
        if self.attach(cpu, target, task) != Resched::Lazy {
            self.kick(target);
        }
        if runs {
            self.picked(cpu, next);
        }
        runs
    }

    /// Moves a waiting task. Returns the request to reschedule `dst`, which is noted there.
    fn pull(&mut self, src: Cpu, dst: Cpu, task: TaskId) -> Resched {
        if self.sys.being_switched_out(task) {
            // The pass gets the run queue's lock when the switch is over, and nobody can pick the task before that.
            let c = &mut self.sys.cpus[src];
            c.doing = Doing::Switch(None);
            let switched = c.lock_free + 1;
            let c = &mut self.sys.cpus[dst];
            c.lock_free = c.lock_free.max(switched);
            self.sys.tasks[task].on_cpu = false;
        }
        self.detach(src, task);
        self.attach(src, dst, task)
    }

    /// Takes a task off its run queue (`detach_task()`).
    pub fn detach(&mut self, src: Cpu, task: TaskId) {
        if self.sys.rt_or_dl(task) {
            self.sys.update_curr_rt(src);
            return self.sys.dequeue_rt(src, task);
        }
        self.sys.account_mm_sched(src);
        self.sys.uclamp_dec(src, task);
        self.sys.load_dequeue(src, task, false);
        let dequeued = self.sys.on_rq(src, |rq, es, now| rq.dequeue_task(es, now, task, DequeueFlags::empty()));
        let mut resched = dequeued.resched;
        self.sys.dequeued(src, task);
        if self.sys.model.hrtick.is_some_and(|form| form != HrtickForm::IfInactive) {
            resched |= self.hrtick_update(src);
        }
        if self.sys.note_resched(src, resched).is_now() && !self.sys.cpus[src].need_resched {
            self.kick(src);
        }
        self.tasks_have_left(src);
        self.hook_dequeue(true);
        // migrate_task_rq_fair(): the next run queue recognises the newcomer by this.
        self.sys.tasks[task].avg.last_update_time = 0;
        self.sys.es[task].exec_start = 0;
    }

    /// Puts a detached task on another run queue (`attach_task()`). Returns the request to reschedule `dst`, which is
    /// noted there.
    fn attach(&mut self, src: Cpu, dst: Cpu, task: TaskId) -> Resched {
        self.sys.tasks[task].cpu = dst;
        self.ext_set_task_cpu(task, dst);
        self.emit(|_| Event::Migrate { task: task.0, from: src, to: dst });
        let mut resched = self.enqueue(dst, task, EnqueueFlags::empty());
        self.update_idle(dst);
        resched |= self.wakeup_preempt(dst, task, WakeFlags::empty());
        let resched = self.sys.note_resched(dst, resched);
        if resched.is_now() {
            self.sys.cpus[dst].need_resched = true;
        }
        resched
    }

    /// `rebalance_domains()` for `cpu`. Returns the time that it takes, ns at full speed.
    pub fn rebalance_domains(&mut self, cpu: Cpu, mut idle: bool) -> u64 {
        let model = self.sys.model;
        let jiffies = self.sys.jiffies;
        let mut rebalance = Rebalance::new(&model.balance, jiffies);
        let mut cost = 0;
        for level in 0..model.balance.nr_levels(cpu) {
            let sd = model.balance.sd(cpu, level);
            let busy = model.balance.cpu_busy(idle, self.sys.cpus[cpu].sched_idle_rq());
            match rebalance.visit(sd, &mut self.sys.cpus[cpu].sd[level], jiffies, busy) {
                Visit::Stop => break,
                Visit::Next => {}
                // A pass takes place at one moment, so that nobody else holds SD_SERIALIZE's lock.
                Visit::Due { .. } => {
                    let kind = if idle { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
                    let (moved, goes_on) = self.balance_pass(cpu, level, kind);
                    if goes_on {
                        cost += model.costs.balance + model.costs.balance_cpu * u64::from(sd.span_weight);
                    }
                    if moved != 0 {
                        idle = self.sys.available_idle_now(cpu);
                    }
                    let c = &mut self.sys.cpus[cpu];
                    let busy = model.balance.cpu_busy(idle, c.sched_idle_rq());
                    rebalance.balanced(&mut c.sd[level], jiffies, busy, goes_on);
                }
            }
        }
        let end = rebalance.finish();
        let c = &mut self.sys.cpus[cpu];
        c.next_balance = end.next_balance.unwrap_or(c.next_balance);
        c.max_idle_balance_cost = end.max_idle_balance_cost.unwrap_or(c.max_idle_balance_cost);
        cost
    }
}
