//! Something about a task changes, for which it leaves its run queue and comes back (`sched_change_begin()`,
//! `sched_change_end()`): its class, its nice value, its affinity, its CPU.

use super::enable::weight_to_cgroup;
use super::{Ext, Request};
use crate::entity::Curr;
use crate::flags::{DEQUEUE_MOVE, DEQUEUE_NOCLOCK, DEQUEUE_SAVE, SCX_DEQ_SCHED_CHANGE, TASK_INTERRUPTIBLE};
use crate::ops::{Call, Ops, Priorities};
use crate::stall::What;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// A task that joins the class as it runs ([`Ext::switching_to`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joins {
    /// Its policy from now on.
    pub priorities: Priorities,
    /// Its weight, as in [`Ext::prepare_task`].
    pub weight: u64,
    /// The number of its affinity mask.
    pub mask: u32,
    /// How long it has run in its life, ns.
    pub sum_exec_runtime: u64,
}

impl Ext {
    /// The running task gets a policy above the class, and runs on (`__sched_setscheduler()`, `switched_from_scx()`).
    /// `clock_task` is the CPU's `rq_clock_task()`, ns.
    pub fn switched_from(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, priorities: Priorities, clock_task: u64) {
        let flags = self.class_change();
        self.sched_change_begin(ops, cpu, p, flags, clock_task);
        if self.rules.disable_first {
            self.disable_task(ops, p);
        }
        ops.set_priorities(p, priorities);
        let rq = &mut self.rqs[cpu as usize];
        // Nobody calls switch_class(): the scheduler is not told that it has lost the CPU.
        (rq.curr, rq.above, rq.next_ext, rq.lately.since) = (Curr::Above, Some(p), false, self.now);
        if !self.rules.disable_first {
            self.disable_task(ops, p);
        }
        if self.rqs[cpu as usize].nr_immed != 0 {
            // sched_change_end(), wakeup_preempt_scx()
            self.schedule_reenq_local(cpu, 0);
        }
        // Whether it sleeps is not told while it is of another class.
        self.task_mut(p).state = TASK_INTERRUPTIBLE;
    }

    /// The running task, of a class above, becomes one of the class, and runs on until the CPU reschedules
    /// (`__sched_setscheduler()`, `switching_to_scx()`). `clock_task` is the CPU's `rq_clock_task()`, ns.
    pub fn switching_to(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, joins: Joins, clock_task: u64) {
        let Joins { priorities, weight, mask, sum_exec_runtime } = joins;
        ops.set_priorities(p, priorities);
        let task = self.task_mut(p);
        (task.cpu, task.mask, task.sum_exec_runtime) = (cpu, mask, sum_exec_runtime);
        task.weight = weight_to_cgroup(weight);
        let rq = &mut self.rqs[cpu as usize];
        (rq.curr, rq.above) = (Curr::Ext(p), None);
        self.scx_enable_task(ops, p, true);
        let flags = self.class_change();
        self.restore_running(ops, cpu, p, true, flags, clock_task);
        self.rqs[cpu as usize].next_ext = true;
    }

    /// The flags of `sched_change_begin()` by `__sched_setscheduler()` of a task that changes its class.
    fn class_change(&self) -> u64 {
        DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK | u64::from(self.rules.enq_class)
    }

    /// `set_user_nice()`, or a change between SCHED_NORMAL, SCHED_BATCH and SCHED_IDLE, of a task of this CPU. `weight`
    /// is as in [`prepare_task`](Self::prepare_task), `clock_task` as in [`setaffinity`](Self::setaffinity).
    pub fn set_user_nice(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        priorities: Priorities,
        weight: u64,
        clock_task: u64,
    ) {
        self.sched_change(ops, cpu, p, DEQUEUE_SAVE, clock_task, |ext, ops| {
            ops.set_priorities(p, priorities);
            ext.reweight_task(ops, p, weight);
        });
    }

    /// `reweight_task_scx()`; `weight` as in [`init_task`](Self::init_task).
    pub fn reweight_task(&mut self, ops: &mut dyn Ops, p: TaskId, weight: u64) {
        if !self.task(p).ready {
            return;
        }
        let weight = weight_to_cgroup(weight);
        self.task_mut(p).weight = weight;
        let cpu = self.task(p).cpu;
        self.call(ops, Some(cpu), Call::SetWeight { p, weight });
    }

    /// `sched_setaffinity()` of a task of this CPU, which stays there for the time being (`do_set_cpus_allowed()`).
    /// `clock_task` is the CPU's `rq_clock_task()`, ns.
    pub fn setaffinity(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, mask: u32, clock_task: u64) {
        self.sched_change(ops, cpu, p, DEQUEUE_SAVE, clock_task, |ext, ops| ext.set_cpus_allowed(ops, p, mask));
    }

    /// `set_cpus_allowed_scx()`: the task has the affinity of this number from now on.
    pub fn set_cpus_allowed(&mut self, ops: &mut dyn Ops, p: TaskId, mask: u32) {
        self.task_mut(p).mask = mask;
        let cpu = self.task(p).cpu;
        self.call(ops, Some(cpu), Call::SetCpumask { p });
    }

    /// The running task exits: the next enqueue may pass it by (`SCX_OPS_ENQ_EXITING`). It leaves its autogroup, for
    /// which it is taken off its run queue and put back (`sched_autogroup_exit_task()`). `clock_task` is the CPU's
    /// `rq_clock_task()`, ns.
    pub fn exiting(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, clock_task: u64) {
        self.task_mut(p).exiting = true;
        self.sched_change(ops, cpu, p, DEQUEUE_SAVE | DEQUEUE_MOVE, clock_task, |_, _| {});
        // sched_move_task()
        if self.rqs[cpu as usize].curr == Curr::Ext(p) {
            self.resched_curr(cpu);
        }
    }

    /// `sched_change_begin()` and `sched_change_end()`, in 6.12 in each caller: a task of this CPU is taken off its
    /// run queue for a change, and put back. One that runs goes on at once; `clock_task` is then the CPU's
    /// `rq_clock_task()`, ns.
    pub(crate) fn sched_change(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        flags: u64,
        clock_task: u64,
        change: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        let flags = flags | DEQUEUE_NOCLOCK;
        let (queued, running) = self.sched_change_begin(ops, cpu, p, flags, clock_task);
        change(self, ops);
        // ENQUEUE_RESTORE has the value of DEQUEUE_SAVE, and so on.
        if !running {
            if queued {
                self.enqueue(ops, cpu, p, flags, None, false);
            }
            return;
        }
        self.restore_running(ops, cpu, p, queued, flags, clock_task);
    }

    /// `sched_change_begin()`. Returns whether the task was on the run queue, and whether it runs.
    fn sched_change_begin(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        flags: u64,
        clock_task: u64,
    ) -> (bool, bool) {
        let (queued, running) = (self.task(p).queued, self.rqs[cpu as usize].curr == Curr::Ext(p));
        if running {
            self.update_curr(ops, cpu, clock_task);
        }
        if queued {
            self.dequeue_task(ops, cpu, p, flags);
        }
        if running && self.rules.kick_wait.until_pick() {
            // put_prev_task_scx()
            self.advance_kick_sync(cpu);
        }
        (queued, running)
    }

    /// The running task starts again from the local queue. That is not a wait, and does not count as a route to a
    /// queue.
    fn restore_running(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, queued: bool, flags: u64, clock_task: u64) {
        let (log, local, since) = (self.log.take(), self.stats.local, self.rqs[cpu as usize].lately.since);
        // sched_info_arrive() is part of a switch, which this is not.
        let info = self.task(p).sched_info;
        if queued {
            self.enqueue(ops, cpu, p, flags, Some(cpu), false);
        }
        self.set_next_task(ops, cpu, p, clock_task);
        self.task_mut(p).sched_info = info;
        (self.log, self.stats.local, self.rqs[cpu as usize].lately.since) = (log, local, since);
    }

    /// `move_queued_task()`: the stopper moves a task that waits to another CPU's run queue.
    pub fn move_queued_task(&mut self, ops: &mut dyn Ops, p: TaskId, to: Cpu) {
        let from = self.task(p).cpu;
        // deactivate_task(): dequeue_task_scx() of a task that migrates.
        let change = if self.rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 };
        self.ops_dequeue(ops, from, p, DEQUEUE_NOCLOCK | change);
        self.task_mut(p).queued = false;
        self.rqs[from as usize].nr_running -= 1;
        self.dispatch_dequeue(p);
        self.clear_direct_dispatch(p);
        self.task_mut(p).cpu = to;
        self.note(p, What::Moved { from, to });
        self.enqueue(ops, to, p, u64::from(self.rules.enq_migrated), None, true);
    }

    /// `__migrate_task()` of a task that waits, with its `wakeup_preempt()`.
    pub(crate) fn migrate_task(&mut self, ops: &mut dyn Ops, p: TaskId, to: Cpu) {
        self.push_request(Request::Moved { task: p, from: self.task(p).cpu, to });
        self.spent += self.costs.remote;
        self.move_queued_task(ops, p, to);
        self.rqs[to as usize].next_ext = true;
        if self.rqs[to as usize].curr == Curr::Idle {
            self.resched_curr(to);
        }
    }

    /// `set_task_cpu()` of a task that is on none of the class's run queues: a wake-up has chosen another CPU, or it is
    /// of a class above.
    pub fn set_task_cpu(&mut self, p: TaskId, cpu: Cpu) {
        self.task_mut(p).cpu = cpu;
    }
}
