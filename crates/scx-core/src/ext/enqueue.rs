//! A task joins a run queue and a dispatch queue, and leaves them: `do_enqueue_task()`, `direct_dispatch()`,
//! `dispatch_enqueue()`, `dequeue_task_scx()`.

use super::{Direct, Ext};
use crate::dispatch_q::Mixed;
use crate::entity::{Curr, Dsq, OpsState};
use crate::flags::*;
use crate::ops::{Call, Op, Ops};
use crate::stall::What;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

impl Ext {
    /// `enqueue_task_scx()`: a wake-up or a fork puts a task on a run queue.
    pub fn enqueue_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, enq_flags: u64) {
        self.task_mut(p).cpu = cpu;
        self.note(p, What::Joins { cpu });
        self.enqueue(ops, cpu, p, enq_flags, None, false);
        // wakeup_preempt() follows, which asks an idle CPU to reschedule.
        self.rqs[cpu as usize].next_ext = true;
        if enq_flags & u64::from(self.rules.enq_cpu_selected) != 0 && cpu != self.task(p).selected_cpu {
            self.stats.select_cpu_fallback += 1;
        }
    }

    /// `migrating`: it comes from another CPU's run queue (`task_on_rq_migrating()`).
    pub(super) fn enqueue(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        enq_flags: u64,
        sticky: Option<Cpu>,
        migrating: bool,
    ) {
        if self.task(p).queued {
            return;
        }
        self.set_runnable(p);
        // ENQUEUE_RESTORE
        if enq_flags & DEQUEUE_SAVE == 0 {
            self.sched_info_enqueue(p);
        }
        let task = self.task_mut(p);
        (task.queued, task.state) = (true, TASK_RUNNING);
        self.rqs[cpu as usize].nr_running += 1;
        if !migrating {
            self.call(ops, Some(cpu), Call::Runnable { p, enq_flags });
        }
        self.do_enqueue_task(ops, cpu, p, enq_flags, sticky);
    }

    pub(super) fn set_runnable(&mut self, p: TaskId) {
        let now = self.now;
        self.runnable_seq += 1;
        let seq = self.runnable_seq;
        let task = self.task_mut(p);
        if std::mem::take(&mut task.reset_runnable_at) {
            task.runnable_at = now;
        }
        task.runnable = Some(seq);
    }

    /// `sched_info_enqueue()`.
    pub(super) fn sched_info_enqueue(&mut self, p: TaskId) {
        let now = self.now;
        self.task_mut(p).sched_info.last_queued.get_or_insert(now);
    }

    /// `do_enqueue_task()`.
    pub(super) fn do_enqueue_task(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        enq_flags: u64,
        sticky: Option<Cpu>,
    ) {
        if sticky == Some(cpu) {
            return self.dispatch_enqueue(ops, Some(cpu), Dsq::Local(cpu), p, enq_flags);
        }
        self.task_mut(p).immed = false;
        if !self.scx_rq_online(cpu) {
            // The scheduler was told that the CPU is offline.
            return self.enqueue_builtin(ops, cpu, p, Dsq::Local(cpu), enq_flags);
        }
        if self.task(p).ddsp_dsq_id != SCX_DSQ_INVALID {
            self.placed_by = Some(Op::SelectCpu);
            return self.direct_dispatch(ops, cpu, p, enq_flags);
        }
        if self.declared.flags & SCX_OPS_ENQ_EXITING == 0 && self.task(p).exiting {
            self.stats.enq_skip_exiting += 1;
            return self.enqueue_builtin(ops, cpu, p, Dsq::Local(cpu), enq_flags);
        }
        if !self.declared.ops.has(Op::Enqueue) || self.exit.is_some() {
            let dsq = self.global_of(cpu);
            return self.enqueue_builtin(ops, cpu, p, dsq, enq_flags);
        }
        let task = self.task_mut(p);
        task.ops_qseq += 1;
        let qseq = task.ops_qseq;
        task.ops_state = OpsState::Queueing(qseq);
        let outer = self.direct.replace(Direct::May(p));
        self.call(ops, Some(cpu), Call::Enqueue { p, enq_flags });
        self.direct = outer;
        if self.task(p).ddsp_dsq_id != SCX_DSQ_INVALID {
            self.placed_by = Some(Op::Enqueue);
            return self.direct_dispatch(ops, cpu, p, enq_flags);
        }
        let task = self.task_mut(p);
        task.in_custody = true;
        task.ops_state = OpsState::Queued(qseq);
        self.note(p, What::Held);
    }

    /// The core's own queues, with a new slice.
    fn enqueue_builtin(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, dsq: Dsq, enq_flags: u64) {
        self.refill_slice(ops, p);
        self.clear_direct_dispatch(p);
        self.dispatch_enqueue(ops, Some(cpu), dsq, p, enq_flags);
    }

    pub(super) fn refill_slice(&mut self, ops: &mut dyn Ops, p: TaskId) {
        ops.set_slice(p, SCX_SLICE_DFL);
        self.stats.refill_slice_dfl += 1;
    }

    /// `direct_dispatch()`. The local queue of another CPU has to wait until this one's lock can be given up.
    fn direct_dispatch(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, enq_flags: u64) {
        self.stats.direct += 1;
        let dsq = self.find_dsq_for_dispatch(cpu, self.task(p).ddsp_dsq_id, p);
        let task = self.task_mut(p);
        task.ddsp_enq_flags |= enq_flags;
        task.ops_state = OpsState::None;
        if let Dsq::Local(other) = dsq
            && other != cpu
        {
            task.deferred = true;
            self.placed_by = None;
            self.rqs[cpu as usize].ddsp_deferred_locals.push_back(p);
            return self.schedule_deferred(cpu);
        }
        let flags = task.ddsp_enq_flags;
        self.clear_direct_dispatch(p);
        self.dispatch_enqueue(ops, Some(cpu), dsq, p, flags);
    }

    pub(super) fn clear_direct_dispatch(&mut self, p: TaskId) {
        let task = self.task_mut(p);
        (task.ddsp_dsq_id, task.ddsp_enq_flags) = (SCX_DSQ_INVALID, 0);
    }

    /// `find_dsq_for_dispatch()`, for a dispatch that `cpu` makes of a task.
    pub(super) fn find_dsq_for_dispatch(&mut self, cpu: Cpu, dsq_id: u64, p: TaskId) -> Dsq {
        if dsq_id == SCX_DSQ_LOCAL {
            return Dsq::Local(cpu);
        }
        if dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            if let Some(cpu) = self.local_on(dsq_id) {
                return Dsq::Local(cpu);
            }
        } else if dsq_id != SCX_DSQ_GLOBAL {
            if self.user.contains_key(&dsq_id) {
                return Dsq::User(dsq_id);
            }
            let of = if self.rules.old_messages { format!(" for {}", self.named(p)) } else { String::new() };
            self.error(format!("non-existent DSQ {dsq_id:#x}{of}"));
        }
        self.global_of(self.task(p).cpu)
    }

    /// The CPU of `SCX_DSQ_LOCAL_ON`. The scheduler ends if there is none.
    pub(super) fn local_on(&mut self, dsq_id: u64) -> Option<Cpu> {
        let on = self.cpu_ret(i64::from((dsq_id & SCX_DSQ_LOCAL_CPU_MASK) as i32));
        let cpu = self.check_cpu(on as i32).ok();
        if cpu.is_none() {
            self.error(format!("invalid CPU {on} in SCX_DSQ_LOCAL_ON dispatch verdict"));
        }
        cpu
    }

    /// `dispatch_enqueue()`. `rq` is whose lock the caller has.
    pub(super) fn dispatch_enqueue(&mut self, ops: &mut dyn Ops, rq: Option<Cpu>, dsq: Dsq, p: TaskId, enq_flags: u64) {
        debug_assert!(self.task(p).dsq.is_none(), "a task is on one queue at a time");
        self.lock_dsq(dsq);
        let mut priq = enq_flags & SCX_ENQ_DSQ_PRIQ != 0;
        if priq && !matches!(dsq, Dsq::User(_)) {
            self.error("cannot use vtime ordering for built-in DSQs");
            priq = false;
        }
        let head = enq_flags & (u64::from(self.rules.enq_head) | SCX_ENQ_PREEMPT) != 0;
        let vtime = ops.dsq_vtime(p);
        let queue = self.dsq_mut(dsq);
        let joined = if priq { queue.push_vtime(p, vtime) } else { queue.push(p, head) };
        let key = match joined {
            Ok(key) => key,
            Err(mixed) => {
                let had = if mixed == Mixed::Fifo { "FIFO" } else { "PRIQ" };
                let Dsq::User(id) = dsq else { unreachable!("built-in queues have one order") };
                self.error(format!("DSQ ID {id:#018x} already had {had}-enqueued tasks"));
                // So that the task is on some queue: the scheduler has ended.
                let queue = self.dsq_mut(dsq);
                let either = if priq { queue.push(p, false) } else { queue.push_vtime(p, vtime) };
                either.expect("a queue takes one of two orders")
            }
        };
        let seq = self.dsq(dsq).seq();
        let task = self.task_mut(p);
        (task.dsq, task.dsq_seq) = (Some((dsq, key)), seq);
        task.ops_state = OpsState::None;
        let op = self.placed_by.take().or(self.running.map(|call| call.op()));
        let queued = self.dsq(dsq).nr() - 1;
        self.note(p, What::Queued { dsq, op, queued });
        match dsq {
            Dsq::Local(cpu) => {
                self.stats.local += 1;
                self.joins_local_dsq(cpu, p, enq_flags);
                self.local_dsq_post_enq(ops, cpu, p, enq_flags);
            }
            Dsq::Global(_) => {
                self.stats.global += 1;
                self.leave_custody(ops, rq, p, 0);
            }
            Dsq::User(_) => {
                self.stats.user += 1;
                self.task_mut(p).in_custody = true;
            }
        }
    }

    /// `local_dsq_post_enq()`.
    fn local_dsq_post_enq(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, enq_flags: u64) {
        self.leave_custody(ops, Some(cpu), p, 0);
        let rq = &mut self.rqs[cpu as usize];
        let (curr, in_balance) = (rq.curr, rq.in_balance);
        rq.next_ext = true;
        if in_balance {
            return;
        }
        if curr == Curr::Idle {
            self.resched_curr(cpu);
        }
        if let Curr::Ext(curr) = curr
            && enq_flags & SCX_ENQ_PREEMPT != 0
            && curr != p
        {
            ops.set_slice(curr, 0);
            self.resched_curr(cpu);
        }
    }

    /// `task_leave_custody()`, and `ops.dequeue()` where kernels call it then.
    fn leave_custody(&mut self, ops: &mut dyn Ops, rq: Option<Cpu>, p: TaskId, deq_flags: u64) {
        if std::mem::take(&mut self.task_mut(p).in_custody) && self.rules.dequeue_on_custody {
            self.call(ops, rq, Call::Dequeue { p, deq_flags });
        }
    }

    /// `dequeue_task_scx()`: the task sleeps, or something about it is changed. A running task was charged up to now
    /// ([`update_curr`](Self::update_curr)).
    pub fn dequeue_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, deq_flags: u64) {
        let mut deq_flags = deq_flags;
        if deq_flags & SCX_DEQ_SLEEP == 0 && self.rules.dequeue_on_custody {
            deq_flags |= SCX_DEQ_SCHED_CHANGE;
        }
        if !self.task(p).queued {
            return;
        }
        if deq_flags & SCX_DEQ_SLEEP != 0 {
            // do_task_dead(), or what the task has set before it waits.
            let task = self.task_mut(p);
            task.state = if task.exiting { TASK_DEAD } else { TASK_INTERRUPTIBLE };
        }
        self.ops_dequeue(ops, cpu, p, deq_flags);
        if self.rqs[cpu as usize].curr == Curr::Ext(p) {
            self.call(ops, Some(cpu), Call::Stopping { p, runnable: false });
            self.task_mut(p).switches[0] += u64::from(deq_flags & SCX_DEQ_SLEEP != 0);
        }
        self.call(ops, Some(cpu), Call::Quiescent { p, deq_flags });
        let now = self.now;
        let task = self.task_mut(p);
        task.queued = false;
        if deq_flags & DEQUEUE_SAVE == 0 {
            // sched_info_dequeue()
            task.sched_info.run_delay += task.sched_info.last_queued.take().map_or(0, |since| now - since);
        }
        self.waits[p.0 as usize].clear();
        self.rqs[cpu as usize].nr_running -= 1;
        self.dispatch_dequeue(p);
        self.clear_direct_dispatch(p);
    }

    /// `ops_dequeue()`.
    pub(super) fn ops_dequeue(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, deq_flags: u64) {
        let dequeue_on_custody = self.rules.dequeue_on_custody;
        let task = self.task_mut(p);
        task.runnable = None;
        let had = matches!(std::mem::take(&mut task.ops_state), OpsState::Queued(_));
        if dequeue_on_custody {
            self.leave_custody(ops, Some(cpu), p, deq_flags);
        } else if had {
            self.task_mut(p).in_custody = false;
            self.call(ops, Some(cpu), Call::Dequeue { p, deq_flags });
        }
    }

    /// `dispatch_dequeue()`.
    pub(super) fn dispatch_dequeue(&mut self, p: TaskId) {
        if let Some((dsq, key)) = self.task_mut(p).dsq.take() {
            self.lock_dsq(dsq);
            let left = self.dsq_mut(dsq).remove(key);
            debug_assert_eq!(left, Some(p), "a task is where it joined");
            if let Dsq::Local(cpu) = dsq
                && self.task(p).immed
            {
                self.rqs[cpu as usize].nr_immed -= 1;
            }
        } else if std::mem::take(&mut self.task_mut(p).deferred) {
            let cpu = self.task(p).cpu;
            self.rqs[cpu as usize].ddsp_deferred_locals.retain(|&other| other != p);
        }
    }

    /// `yield_task_scx()` of the running task. Its time up to now is charged afterwards, to what `ops.yield()` leaves
    /// of its slice.
    pub fn yield_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId) {
        if self.declared.ops.has(Op::Yield) {
            self.call(ops, Some(cpu), Call::Yield { from: p, to: None });
        } else {
            ops.set_slice(p, 0);
        }
    }

    /// The tasks that wait on a CPU (`rq->scx.runnable_list`), in the order in which they joined it.
    pub(crate) fn runnable_list(&self, cpu: Cpu) -> Vec<TaskId> {
        let waits = (0..).zip(&self.tasks).filter(|(_, task)| task.cpu == cpu);
        let mut list: Vec<(u64, TaskId)> = waits.filter_map(|(at, task)| Some((task.runnable?, TaskId(at)))).collect();
        list.sort_unstable_by_key(|&(seq, _)| seq);
        list.into_iter().map(|(_, p)| p).collect()
    }
}
