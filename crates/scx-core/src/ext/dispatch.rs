//! How a CPU gets tasks to run: `balance_one()`, what `ops.dispatch()` asked for, and `consume_dispatch_q()`.

use super::{DspEnt, Ext, Request};
use crate::dispatch_q::Key;
use crate::entity::{Curr, Dsq, OpsState};
use crate::flags::{SCX_DSP_MAX_LOOPS, SCX_ENQ_DSQ_PRIQ, SCX_OPS_ENQ_LAST};
use crate::ops::{Call, Op, Ops};
use crate::stall::What;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// The verdict of `scx_dispatch_sched()` (`enum scx_dsp_verdict`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    None,
    Local,
    Prev,
}

impl Ext {
    /// `balance_one()` and `scx_dispatch_sched()`: makes sure that the local queue has a task, if there is one to run.
    pub(super) fn balance_one(&mut self, ops: &mut dyn Ops, cpu: Cpu, prev: Option<TaskId>) -> Verdict {
        if self.has_cpu_preempt() && std::mem::take(&mut self.rqs[cpu as usize].cpu_released) {
            self.call(ops, Some(cpu), Call::CpuAcquire { cpu });
        }
        let goes_on = |ext: &Self, ops: &dyn Ops| prev.is_some_and(|p| ext.task(p).queued && ops.slice(p) != 0);
        if goes_on(self, ops) {
            return Verdict::Prev;
        }
        if !self.rqs[cpu as usize].local_dsq.is_empty() || self.consume_global_dsq(ops, cpu) {
            return Verdict::Local;
        }
        if self.declared.ops.has(Op::Dispatch) && self.rqs[cpu as usize].online && self.exit.is_none() {
            let outer = std::mem::take(&mut self.dsp);
            let mut found = None;
            for left in (0..SCX_DSP_MAX_LOOPS).rev() {
                (self.dsp.cpu, self.dsp.nr_tasks) = (cpu, 0);
                self.rqs[cpu as usize].lately.dispatches(self.now);
                self.call(ops, Some(cpu), Call::Dispatch { cpu, prev });
                self.flush_dispatch_buf(ops, cpu);
                if goes_on(self, ops) {
                    found = Some(Verdict::Prev);
                } else if !self.rqs[cpu as usize].local_dsq.is_empty() || self.consume_global_dsq(ops, cpu) {
                    found = Some(Verdict::Local);
                }
                if found.is_some() || self.exit.is_some() {
                    break;
                }
                // What it dispatches does not come here: the CPU starts a new cycle.
                if left == 0 {
                    self.kick_cpu(cpu, 0);
                }
                if self.dsp.nr_tasks == 0 {
                    break;
                }
            }
            self.dsp = outer;
            if let Some(found) = found {
                return found;
            }
        }
        let keeps = self.declared.flags & SCX_OPS_ENQ_LAST == 0;
        if keeps && prev.is_some_and(|p| self.task(p).queued) {
            self.stats.dispatch_keep_last += 1;
            return Verdict::Prev;
        }
        Verdict::None
    }

    /// `SCX_OPS_HAS_CPU_PREEMPT`: the scheduler hears of classes above that take a CPU or give it back.
    pub(super) fn has_cpu_preempt(&self) -> bool {
        self.declared.ops.has(Op::CpuAcquire) || self.declared.ops.has(Op::CpuRelease)
    }

    /// `flush_dispatch_buf()`.
    pub(super) fn flush_dispatch_buf(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        let mut entries = std::mem::take(&mut self.dsp.buf);
        self.dsp.nr_tasks += entries.len() as u32;
        for entry in entries.drain(..) {
            self.finish_dispatch(ops, cpu, entry);
        }
        // Its memory is used again.
        if self.dsp.buf.is_empty() {
            self.dsp.buf = entries;
        }
    }

    /// `finish_dispatch()`.
    fn finish_dispatch(&mut self, ops: &mut dyn Ops, cpu: Cpu, entry: DspEnt) {
        let p = entry.task;
        // A scheduler may dispatch a task that it does not have any more.
        if self.task(p).ops_state != OpsState::Queued(entry.qseq) {
            return;
        }
        self.task_mut(p).ops_state = OpsState::None;
        match self.find_dsq_for_dispatch(cpu, entry.dsq_id, p) {
            Dsq::Local(to) => self.dispatch_to_local_dsq(ops, cpu, to, p, entry.enq_flags),
            dsq => self.dispatch_enqueue(ops, Some(cpu), dsq, p, entry.enq_flags),
        }
    }

    /// `dispatch_to_local_dsq()`: to the local queue of any CPU. The task is on no queue.
    pub(super) fn dispatch_to_local_dsq(&mut self, ops: &mut dyn Ops, rq: Cpu, to: Cpu, p: TaskId, enq_flags: u64) {
        let from = self.task(p).cpu;
        if from == to {
            self.dispatch_enqueue(ops, Some(to), Dsq::Local(to), p, enq_flags);
        } else if self.task_can_run_on_remote_rq(p, to, true) {
            self.move_remote_task_to_local_dsq(ops, p, enq_flags, to);
        } else {
            let global = self.global_of(from);
            return self.dispatch_enqueue(ops, Some(rq), global, p, enq_flags);
        }
        if !(rq == from && rq == to) && self.rqs[to as usize].curr == Curr::Idle {
            self.resched_curr(to);
        }
    }

    fn consume_global_dsq(&mut self, ops: &mut dyn Ops, cpu: Cpu) -> bool {
        let global = self.global_of(cpu);
        self.consume_dispatch_q(ops, cpu, global, 0)
    }

    /// `consume_dispatch_q()`: moves the first task of a queue that may run here to this CPU's local queue.
    pub(super) fn consume_dispatch_q(&mut self, ops: &mut dyn Ops, cpu: Cpu, dsq: Dsq, enq_flags: u64) -> bool {
        self.rqs[cpu as usize].lately.looks(self.now, dsq);
        if self.dsq(dsq).is_empty() {
            return false;
        }
        self.lock_dsq(dsq);
        let mut at = None;
        while let Some((key, p)) = self.dsq(dsq).next_after(at) {
            at = Some(key);
            let own = self.task(p).cpu == cpu;
            if !own && !self.task_can_run_on_remote_rq(p, cpu, false) {
                self.note_passed(p, cpu);
                continue;
            }
            self.task_unlink_from_dsq(cpu, dsq, key, p);
            match own {
                true => self.move_local_task_to_local_dsq(ops, p, enq_flags, cpu),
                false => self.move_remote_task_to_local_dsq(ops, p, enq_flags, cpu),
            }
            return true;
        }
        false
    }

    /// `task_unlink_from_dsq()`: a CPU takes a task from its place in a queue.
    pub(super) fn task_unlink_from_dsq(&mut self, cpu: Cpu, dsq: Dsq, key: Key, p: TaskId) {
        let now = self.now;
        let queue = self.dsq_mut(dsq);
        queue.remove(key);
        queue.taken = Some((now, cpu, p));
        self.task_mut(p).dsq = None;
        let op = self.running.map(|call| call.op());
        self.note(p, What::Taken { dsq, op });
    }

    /// `move_local_task_to_local_dsq()`.
    pub(super) fn move_local_task_to_local_dsq(&mut self, ops: &mut dyn Ops, p: TaskId, enq_flags: u64, cpu: Cpu) {
        // It looks at no flag but where the task goes.
        self.dispatch_enqueue(ops, Some(cpu), Dsq::Local(cpu), p, enq_flags & !SCX_ENQ_DSQ_PRIQ);
    }

    /// `move_remote_task_to_local_dsq()`. The task is on no queue any more.
    pub(super) fn move_remote_task_to_local_dsq(&mut self, ops: &mut dyn Ops, p: TaskId, enq_flags: u64, to: Cpu) {
        let from = self.task(p).cpu;
        let task = self.task_mut(p);
        // deactivate_task(): an operation sees it neither leave nor come (task_on_rq_migrating()).
        task.runnable = None;
        task.ops_state = OpsState::None;
        task.queued = false;
        task.cpu = to;
        self.rqs[from as usize].nr_running -= 1;
        self.clear_direct_dispatch(p);
        self.requests.push(Request::Moved { task: p, from, to });
        self.note(p, What::Moved { from, to });
        self.stats.remote += 1;
        self.spent += self.costs.remote;
        if to == self.this_cpu {
            // activate_task() brings the clock up to date.
            self.clock_valid = Some((to, self.clock()));
        }
        let enq_flags = if self.rules.enq_flags_truncated { enq_flags & 0xffff_ffff } else { enq_flags };
        self.enqueue(ops, to, p, enq_flags, Some(to), true);
    }

    /// `task_can_run_on_remote_rq()`.
    pub(super) fn task_can_run_on_remote_rq(&mut self, p: TaskId, cpu: Cpu, enforce: bool) -> bool {
        let allowed = self.allowed(p, cpu);
        if !allowed && enforce {
            let named = self.named(p);
            self.error(format!("SCX_DSQ_LOCAL[_ON] target CPU {cpu} not allowed for {named}"));
        }
        allowed && self.scx_rq_online(cpu)
    }
}
