//! CPUs that go offline and come online (`kernel/sched/ext/ext.c` and `kernel/sched/core.c`, 7.2; the same in
//! 6.12.117. In 6.18.35 tasks that wait stay in their queues, and the CPU goes offline when others have taken them).
//!
//! ```text
//! sched_cpu_deactivate()  cpu_active is cleared: no task may go there
//!   rq_offline_scx()      its tasks that wait in queues join its local queue; no ops.dispatch() any more
//!   handle_hotplug()      ops.cpu_offline(); a scheduler without it ends
//! balance_push()          each task that the CPU picks is stopped and moves to a CPU that it may use
//! take_cpu_down()         cpu_online is cleared
//! sched_cpu_activate()    cpu_active is set; ops.cpu_online(); rq_online_scx()
//! ```
//!
//! All of it happens at one moment. The scheduling domains, which the kernel rebuilds, are known by their spans without
//! the CPUs that are offline.

use crate::entity::Dsq;
use crate::ext::{Ext, Request};
use crate::flags::{DEQUEUE_MOVE, DEQUEUE_SAVE, SCX_CPU_PREEMPT_STOP, SCX_ECODE_ACT_RESTART, SCX_ECODE_RSN_HOTPLUG};
use crate::ops::{Call, ExitKind, Op, Ops};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::runqueue::TaskId;

/// The number of the affinity that has all CPUs.
const ALL: u32 = 0;

impl Ext {
    /// `cpu_online_mask`.
    pub fn online(&self) -> &CpuMask {
        &self.online
    }

    /// How many times `cpu_online_mask` has changed.
    #[inline]
    pub fn online_seq(&self) -> u64 {
        self.online_seq
    }

    fn set_online(&mut self, cpu: Cpu, online: bool) {
        self.online.assign(cpu, online);
        self.online_seq += 1;
        self.idle.set_online(&self.online);
    }

    /// `scx_rq_online()`.
    #[inline]
    pub(crate) fn scx_rq_online(&self, cpu: Cpu) -> bool {
        let rq = &self.rqs[cpu as usize];
        rq.online && rq.active
    }

    /// `is_cpu_allowed()` of a task that is not bound to its CPU by the kernel.
    #[inline]
    pub fn is_cpu_allowed(&self, p: TaskId, cpu: Cpu) -> bool {
        self.cpus_ptr(p).test(cpu) && self.rqs[cpu as usize].active
    }

    /// A CPU that is offline before the scheduler is loaded.
    pub fn begins_offline(&mut self, cpu: Cpu) {
        let rq = &mut self.rqs[cpu as usize];
        (rq.active, rq.online) = (false, false);
        self.set_online(cpu, false);
        self.idle.begins_offline(cpu);
    }

    /// `sched_cpu_deactivate()`: a CPU goes offline. What runs there was charged up to now, and is stopped. It goes on
    /// to [`balance_push`](Self::balance_push).
    pub fn cpu_deactivate(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        self.rqs[cpu as usize].active = false;
        self.rq_offline_scx(ops, cpu);
        self.handle_hotplug(ops, cpu, false);
        self.preempted_by_class(ops, cpu, SCX_CPU_PREEMPT_STOP);
    }

    /// `sched_cpu_activate()`: a CPU comes online. The hotplug thread has it until it picks.
    pub fn cpu_activate(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        self.set_online(cpu, true);
        self.rqs[cpu as usize].active = true;
        self.handle_hotplug(ops, cpu, true);
        self.rqs[cpu as usize].online = true;
        self.preempted_by_class(ops, cpu, SCX_CPU_PREEMPT_STOP);
    }

    /// `rq_offline_scx()`: the CPU does not call `ops.dispatch()` any more, so that what waits in queues joins its
    /// local queue, from where it moves on. Where it stays in place, other CPUs may take it.
    fn rq_offline_scx(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        self.rqs[cpu as usize].online = false;
        if !self.rules.offline_requeues {
            return;
        }
        for p in self.runnable_list(cpu).into_iter().rev() {
            if self.task(p).dsq.is_some_and(|(dsq, _)| dsq == Dsq::Local(cpu)) {
                continue;
            }
            // It waits, so that no clock is read.
            self.sched_change(ops, cpu, p, DEQUEUE_SAVE | DEQUEUE_MOVE, 0, |_, _| {});
        }
    }

    /// `handle_hotplug()`.
    fn handle_hotplug(&mut self, ops: &mut dyn Ops, cpu: Cpu, online: bool) {
        self.idle.update_selcpu_topology();
        let (op, call) = match online {
            true => (Op::CpuOnline, Call::CpuOnline { cpu }),
            false => (Op::CpuOffline, Call::CpuOffline { cpu }),
        };
        if self.declared().ops.has(op) {
            self.call(ops, None, call);
            return;
        }
        let going = if online { "online" } else { "offline" };
        let message = format!("cpu {cpu} going {going}, exiting scheduler");
        self.end(ExitKind::UnregKern, message, SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG);
    }

    /// `balance_push()` of a CPU that [goes offline](Self::cpu_deactivate): the stopper takes the CPU from each task
    /// that it picks, and moves the task (`__balance_push_cpu_stop()`). In the end nothing is left there. `clock_task`
    /// is the CPU's `rq_clock_task()`, ns.
    pub fn balance_push(&mut self, ops: &mut dyn Ops, cpu: Cpu, clock_task: u64) {
        while let Some(p) = self.pick_task(ops, cpu, clock_task, true) {
            self.preempted_by_class(ops, cpu, SCX_CPU_PREEMPT_STOP);
            let to = self.select_fallback_rq(ops, p, cpu);
            self.migrate_task(ops, p, to);
        }
        // take_cpu_down()
        if self.online.test(cpu) {
            self.set_online(cpu, false);
        }
    }

    /// `select_fallback_rq()`: the first CPU that a task may use and that is active, of the node of `cpu` before
    /// others. A task that has none may use all CPUs from now on ([`Request::AllCpus`]).
    pub fn select_fallback_rq(&mut self, ops: &mut dyn Ops, p: TaskId, cpu: Cpu) -> Cpu {
        let node = |cpu: Cpu| self.idle.topology().node_of(cpu);
        let allowed = |cpu: &Cpu| self.is_cpu_allowed(p, *cpu);
        let own = node(cpu);
        let first = |ext: &Self| ext.cpus_ptr(p).iter().find(|&cpu| ext.is_cpu_allowed(p, cpu));
        if let Some(near) = self.cpus_ptr(p).iter().filter(allowed).find(|&cpu| node(cpu) == own).or(first(self)) {
            return near;
        }
        // set_cpus_allowed_force()
        let at = self.task(p).cpu;
        self.sched_change(ops, at, p, DEQUEUE_SAVE, 0, |ext, ops| ext.set_cpus_allowed(ops, p, ALL));
        self.push_request(Request::AllCpus(p));
        first(self).expect("one CPU stays")
    }
}
