//! Kernel functions that programs call, about queues and the speed of CPUs. Those for one part of the core are with it:
//! `select_cpu`, `kick`, `reenq`, `timers`.

use super::call::{KF_DISPATCH, KF_ENQUEUE};
use super::{Direct, DspEnt, EINVAL, Ext, Request};
use crate::dispatch_q::{DispatchQ, Key};
use crate::entity::{Dsq, OpsState};
use crate::flags::*;
use crate::ops::Ops;
use wakelab_sched::runqueue::TaskId;

/// An iterator over a queue (`struct bpf_iter_scx_dsq_kern`).
#[derive(Clone, Copy, Debug)]
pub struct DsqIter {
    /// Whose tasks, of the scheduler's queues.
    dsq: u64,
    /// `SCX_DSQ_ITER_REV`.
    reverse: bool,
    /// The queue's number of insertions when it began.
    seq: u64,
    at: Option<Key>,
    /// `scx_bpf_dsq_move_set_slice()`.
    pub slice: Option<u64>,
    /// `scx_bpf_dsq_move_set_vtime()`.
    pub vtime: Option<u64>,
}

impl Ext {
    /// `scx_bpf_create_dsq()` in the memory of a node; -1 for any. Returns 0, or the error.
    pub fn create_dsq_on_node(&mut self, id: u64, node: i32) -> i64 {
        let valid = node == -1 || u32::try_from(node).is_ok_and(|node| node < self.idle.topology().nr_nodes());
        if valid { self.create_dsq(id) } else { EINVAL }
    }

    /// The same in the memory of any node.
    pub fn create_dsq(&mut self, id: u64) -> i64 {
        const EEXIST: i64 = -17;
        if id & SCX_DSQ_FLAG_BUILTIN != 0 {
            return EINVAL;
        }
        if self.user.contains_key(&id) {
            return EEXIST;
        }
        self.user.insert(id, DispatchQ::default());
        0
    }

    /// `scx_bpf_destroy_dsq()`. Returns whether there was such a queue, and is none now.
    pub fn destroy_dsq(&mut self, id: u64) -> bool {
        match self.user.get(&id).map(DispatchQ::nr) {
            None => false,
            Some(0) => self.user.remove(&id).is_some(),
            Some(nr) => {
                self.error(format!("attempting to destroy in-use dsq {id:#018x} (nr={nr})"));
                false
            }
        }
    }

    /// `scx_bpf_dsq_nr_queued()`: how many tasks wait, or `-ENOENT`.
    pub fn dsq_nr_queued(&mut self, id: u64) -> i64 {
        const ENOENT: i64 = -2;
        if id == SCX_DSQ_LOCAL {
            let locked = self.locked_rq.filter(|_| self.rules.local_is_locked);
            let cpu = locked.unwrap_or(self.this_cpu);
            return i64::from(self.rqs[cpu as usize].local_dsq.nr());
        }
        if id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            let on = self.cpu_ret(i64::from((id & SCX_DSQ_LOCAL_CPU_MASK) as i32));
            let cpu = self.valid_cpu(on as i32);
            return cpu.map_or(ENOENT, |cpu| i64::from(self.rqs[cpu as usize].local_dsq.nr()));
        }
        self.user.get(&id).map_or(ENOENT, |dsq| i64::from(dsq.nr()))
    }

    /// `scx_bpf_dsq_peek()`.
    pub fn dsq_peek(&mut self, id: u64) -> Option<TaskId> {
        if id & SCX_DSQ_FLAG_BUILTIN != 0 {
            self.error(format!("peek disallowed on builtin DSQ {id:#x}"));
            return None;
        }
        match self.user.get(&id) {
            Some(dsq) => dsq.first(),
            None => {
                self.error(format!("peek on non-existent DSQ {id:#x}"));
                None
            }
        }
    }

    /// `scx_bpf_dsq_insert()`; with a `vtime`, `scx_bpf_dsq_insert_vtime()`. Returns whether the task was taken.
    pub fn dsq_insert(
        &mut self,
        ops: &mut dyn Ops,
        p: TaskId,
        dsq_id: u64,
        slice: u64,
        vtime: Option<u64>,
        enq_flags: u64,
    ) -> bool {
        if !self.kf_allowed(KF_ENQUEUE | KF_DISPATCH, "scx_bpf_dsq_insert") {
            return false;
        }
        if enq_flags & SCX_ENQ_INTERNAL_MASK != 0 {
            self.error(format!("invalid enq_flags {enq_flags:#x}"));
            return false;
        }
        // SCX_EV_INSERT_NOT_OWNED, 7.1: a task that has gone, or is not initialized yet.
        if self.has_immed() && !self.tasks.get(p.0 as usize).is_some_and(|task| task.ready) {
            return false;
        }
        let Some(mut enq_flags) = self.vet_enq_flags(dsq_id, enq_flags) else { return false };
        if slice != 0 {
            ops.set_slice(p, slice);
        } else if ops.slice(p) == 0 {
            ops.set_slice(p, 1);
        }
        if let Some(vtime) = vtime {
            ops.set_dsq_vtime(p, vtime);
            enq_flags |= SCX_ENQ_DSQ_PRIQ;
        }
        match self.direct.replace(Direct::Done) {
            Some(Direct::May(task)) if task == p => {
                let task = self.task_mut(p);
                (task.ddsp_dsq_id, task.ddsp_enq_flags) = (dsq_id, enq_flags);
            }
            Some(Direct::May(task)) => {
                let (of, named) = (self.named(task), self.named(p));
                self.error(format!("scheduling for {of} but trying to direct-dispatch {named}"));
            }
            Some(Direct::Done) => {
                let named = self.named(p);
                self.error(format!("{named} already direct-dispatched"));
            }
            None => {
                self.direct = None;
                if self.dsp.buf.len() >= self.dsp_max_batch() as usize {
                    self.error("dispatch buffer overflow");
                    return true;
                }
                let qseq = match self.task(p).ops_state {
                    OpsState::Queued(qseq) | OpsState::Queueing(qseq) => qseq,
                    OpsState::None => 0,
                };
                self.dsp.buf.push(DspEnt { task: p, qseq, dsq_id, enq_flags });
            }
        }
        true
    }

    /// `scx_bpf_dispatch_nr_slots()`.
    pub fn dispatch_nr_slots(&mut self) -> u32 {
        if !self.kf_allowed(KF_DISPATCH, "scx_bpf_dispatch_nr_slots") {
            return 0;
        }
        self.dsp_max_batch() - self.dsp.buf.len() as u32
    }

    /// `scx_bpf_dispatch_cancel()`.
    pub fn dispatch_cancel(&mut self) {
        if self.kf_allowed(KF_DISPATCH, "scx_bpf_dispatch_cancel") && self.dsp.buf.pop().is_none() {
            self.error("dispatch buffer underflow");
        }
    }

    fn dsp_max_batch(&self) -> u32 {
        match self.declared.dispatch_max_batch {
            0 => SCX_DSP_DFL_MAX_BATCH,
            max => max,
        }
    }

    /// `scx_bpf_dsq_move_to_local()`: returns whether a task was moved.
    pub fn dsq_move_to_local(&mut self, ops: &mut dyn Ops, dsq_id: u64, enq_flags: u64) -> bool {
        if !self.kf_allowed(KF_DISPATCH, "scx_bpf_dsq_move_to_local") {
            return false;
        }
        let Some(enq_flags) = self.vet_enq_flags(SCX_DSQ_LOCAL, enq_flags) else { return false };
        let cpu = self.dsp.cpu;
        self.flush_dispatch_buf(ops, cpu);
        if !self.user.contains_key(&dsq_id) {
            self.error(format!("invalid DSQ ID {dsq_id:#018x}"));
            return false;
        }
        let moved = self.consume_dispatch_q(ops, cpu, Dsq::User(dsq_id), enq_flags);
        self.dsp.nr_tasks += u32::from(moved);
        moved
    }

    /// `bpf_iter_scx_dsq_new()`: an iterator over a queue of the scheduler; `None` if there is no such queue.
    pub fn dsq_iter(&self, dsq_id: u64, reverse: bool) -> Option<DsqIter> {
        let seq = self.user.get(&dsq_id)?.seq();
        Some(DsqIter { dsq: dsq_id, reverse, seq, at: None, slice: None, vtime: None })
    }

    /// `bpf_iter_scx_dsq_next()`. After the last task it begins anew.
    pub fn dsq_iter_next(&self, iter: &mut DsqIter) -> Option<TaskId> {
        let queue = self.user.get(&iter.dsq)?;
        loop {
            let next = if iter.reverse { queue.next_before(iter.at) } else { queue.next_after(iter.at) };
            iter.at = next.map(|(key, _)| key);
            let (_, p) = next?;
            // Those that have joined since the iterator began are left out.
            if self.task(p).dsq_seq <= iter.seq {
                return Some(p);
            }
        }
    }

    /// `scx_bpf_dsq_move()`; with `priq`, `scx_bpf_dsq_move_vtime()`. Returns whether the task was moved.
    pub fn dsq_move(
        &mut self,
        ops: &mut dyn Ops,
        iter: &mut DsqIter,
        p: TaskId,
        dsq_id: u64,
        enq_flags: u64,
        priq: bool,
    ) -> bool {
        if self.kf_mask() != 0 && !self.kf_allowed(KF_DISPATCH, "scx_bpf_dsq_move") {
            return false;
        }
        let flags = if priq { enq_flags | SCX_ENQ_DSQ_PRIQ } else { enq_flags };
        let Some(flags) = self.vet_enq_flags(dsq_id, flags) else { return false };
        if self.exit.is_some() {
            return false;
        }
        let (slice, vtime) = (iter.slice.take(), iter.vtime.take());
        let from = Dsq::User(iter.dsq);
        let Some((_, key)) = self.task(p).dsq.filter(|&(dsq, _)| dsq == from) else { return false };
        if self.task(p).dsq_seq > iter.seq {
            return false;
        }
        let task_cpu = self.task(p).cpu;
        let cpu = self.locked_rq.unwrap_or(self.this_cpu);
        let to = self.find_dsq_for_dispatch(cpu, dsq_id, p);
        if let Some(vtime) = vtime {
            ops.set_dsq_vtime(p, vtime);
        }
        if let Some(slice) = slice {
            ops.set_slice(p, slice);
        }
        self.lock_dsq(from);
        self.task_unlink_from_dsq(cpu, from, key, p);
        match to {
            Dsq::Local(to) if to == task_cpu => self.move_local_task_to_local_dsq(ops, p, flags, to),
            Dsq::Local(to) if self.task_can_run_on_remote_rq(p, to, true) => {
                self.move_remote_task_to_local_dsq(ops, p, flags, to);
            }
            Dsq::Local(_) => {
                let global = self.global_of(task_cpu);
                self.dispatch_enqueue(ops, self.locked_rq, global, p, flags);
            }
            to => self.dispatch_enqueue(ops, self.locked_rq, to, p, flags),
        }
        true
    }

    /// `scx_bpf_cpuperf_set()`: the target that schedutil follows, 0 to 1024 (`scx_cpuperf_target()`).
    pub fn cpuperf_set(&mut self, cpu: i32, perf: u32) {
        if perf > SCX_CPUPERF_ONE {
            return self.error(format!("Invalid cpuperf target {perf} for CPU {cpu}"));
        }
        let Some(cpu) = self.valid_cpu(cpu) else { return };
        if self.rules.cpuperf_of_locked && self.locked_rq.is_some_and(|locked| locked != cpu) {
            return self.error(format!("Invalid target CPU {cpu}"));
        }
        self.rqs[cpu as usize].cpuperf_target = perf;
        self.requests.push(Request::CpuPerf(cpu));
    }
}
