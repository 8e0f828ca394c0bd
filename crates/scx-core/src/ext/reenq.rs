//! Tasks go back to the scheduler from the queue in which they wait: those that had to run at once (`SCX_ENQ_IMMED`)
//! and cannot, and those that it asks for (`scx_bpf_dsq_reenq()`).

use super::Ext;
use super::call::KF_CPU_RELEASE;
use crate::entity::Curr;
use crate::flags::*;
use crate::ops::Ops;
use crate::stall::What;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

impl Ext {
    /// Whether the kernel knows SCX_ENQ_IMMED (7.1). Others take no notice of the bit.
    pub(super) fn has_immed(&self) -> bool {
        u64::from(self.rules.ops_flags) & SCX_OPS_ALWAYS_ENQ_IMMED != 0
    }

    /// `scx_vet_enq_flags()`. Returns the flags, unless they end the scheduler.
    pub(super) fn vet_enq_flags(&mut self, dsq_id: u64, enq_flags: u64) -> Option<u64> {
        if !self.has_immed() {
            return Some(enq_flags);
        }
        let local = dsq_id == SCX_DSQ_LOCAL || dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON;
        if enq_flags & SCX_ENQ_IMMED != 0 && !local {
            self.error(format!("SCX_ENQ_IMMED on a non-local DSQ {dsq_id:#x}"));
            return None;
        }
        let always = local && self.declared.flags & SCX_OPS_ALWAYS_ENQ_IMMED != 0;
        Some(if always { enq_flags | SCX_ENQ_IMMED } else { enq_flags })
    }

    /// `dsq_inc_nr()` of a local queue: whether the task has to run at once.
    pub(super) fn joins_local_dsq(&mut self, cpu: Cpu, p: TaskId, enq_flags: u64) {
        if enq_flags & SCX_ENQ_IMMED != 0 && self.has_immed() {
            self.task_mut(p).immed = true;
        }
        if self.task(p).immed {
            self.rqs[cpu as usize].nr_immed += 1;
            if self.rqs[cpu as usize].local_dsq.nr() > 1 || !self.rq_is_open(cpu, enq_flags) {
                self.schedule_reenq_local(cpu, 0);
            }
        }
    }

    /// `rq_is_open()`: whether a task of a CPU's local queue runs at once.
    fn rq_is_open(&self, cpu: Cpu, enq_flags: u64) -> bool {
        let rq = &self.rqs[cpu as usize];
        match rq.curr {
            Curr::Above => false,
            Curr::Idle if !rq.next_ext => true,
            Curr::Idle | Curr::Ext(_) => rq.in_balance || enq_flags & SCX_ENQ_PREEMPT != 0,
        }
    }

    /// `scx_bpf_reenqueue_local()` of `ops.cpu_release()`: gives the tasks of this CPU's local queue back to the
    /// scheduler. Returns how many.
    pub fn reenqueue_local(&mut self, ops: &mut dyn Ops) -> u32 {
        if !self.kf_allowed(KF_CPU_RELEASE, "scx_bpf_reenqueue_local") {
            return 0;
        }
        self.reenq_local(ops, self.this_cpu, SCX_REENQ_ANY)
    }

    /// `scx_bpf_dsq_reenq()`: the same of any local queue or one of the scheduler, soon.
    pub fn dsq_reenq(&mut self, dsq_id: u64, reenq_flags: u64) {
        if reenq_flags & !SCX_REENQ_ANY != 0 {
            return self.error(format!("invalid SCX_REENQ flags {reenq_flags:#x}"));
        }
        let rq = self.locked_rq.unwrap_or(self.this_cpu);
        if dsq_id == SCX_DSQ_LOCAL {
            return self.schedule_reenq_local(rq, SCX_REENQ_ANY);
        }
        if dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            if let Some(cpu) = self.local_on(dsq_id) {
                self.schedule_reenq_local(cpu, SCX_REENQ_ANY);
            }
            return;
        }
        if dsq_id == SCX_DSQ_GLOBAL {
            return self.error(format!("DSQ {dsq_id:#x} not allowed for reenq"));
        }
        if !self.user.contains_key(&dsq_id) {
            return self.error(format!("non-existent DSQ {dsq_id:#x}"));
        }
        let users = &mut self.rqs[self.this_cpu as usize].reenq_users;
        if !users.contains(&dsq_id) {
            users.push(dsq_id);
        }
        self.schedule_deferred(self.this_cpu);
    }

    /// `schedule_reenq_local()`.
    pub(super) fn schedule_reenq_local(&mut self, cpu: Cpu, flags: u64) {
        *self.rqs[cpu as usize].reenq_local.get_or_insert(0) |= flags;
        self.schedule_deferred(cpu);
    }

    /// `process_deferred_reenq_locals()`.
    pub(super) fn process_deferred_reenq_locals(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        const SCX_REENQ_LOCAL_MAX_REPEAT: u32 = 256;
        let mut count = 0;
        while let Some(flags) = self.rqs[cpu as usize].reenq_local.take() {
            if count > SCX_REENQ_LOCAL_MAX_REPEAT {
                return self.error(format!("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {count} times"));
            }
            count += 1;
            self.reenq_local(ops, cpu, flags);
        }
    }

    /// `reenq_local()`: gives tasks of a local queue back to the scheduler; those that have to run at once and do not,
    /// and with `SCX_REENQ_ANY` all. Returns how many.
    fn reenq_local(&mut self, ops: &mut dyn Ops, cpu: Cpu, flags: u64) -> u32 {
        let open = self.rq_is_open(cpu, 0);
        let waits: Vec<TaskId> = self.rqs[cpu as usize].local_dsq.iter().collect();
        let mut leave = Vec::new();
        for (at, p) in waits.into_iter().enumerate() {
            let reason = if self.task(p).immed && (at != 0 || !open) {
                SCX_TASK_REENQ_IMMED
            } else if flags & SCX_REENQ_ANY != 0 {
                SCX_TASK_REENQ_KFUNC
            } else {
                continue;
            };
            self.dispatch_dequeue(p);
            // Kernels without SCX_ENQ_IMMED tell no reason.
            self.task_mut(p).reenq_reason = if self.has_immed() { reason } else { 0 };
            leave.push(p);
        }
        for &p in &leave {
            self.note(p, What::Reenqueued);
            self.do_enqueue_task(ops, cpu, p, SCX_ENQ_REENQ, None);
            self.task_mut(p).reenq_reason = 0;
        }
        leave.len() as u32
    }

    /// `reenq_user()`: gives all tasks of a queue back to the scheduler.
    pub(super) fn reenq_user(&mut self, ops: &mut dyn Ops, dsq_id: u64) {
        let Some(mut iter) = self.dsq_iter(dsq_id, false) else { return };
        while let Some(p) = self.dsq_iter_next(&mut iter) {
            self.dispatch_dequeue(p);
            let cpu = self.task(p).cpu;
            self.task_mut(p).reenq_reason = SCX_TASK_REENQ_KFUNC;
            self.note(p, What::Reenqueued);
            self.do_enqueue_task(ops, cpu, p, SCX_ENQ_REENQ, None);
            self.task_mut(p).reenq_reason = 0;
        }
    }
}
