//! Whom a CPU runs: `pick_task_scx()`, `put_prev_task_scx()`, `set_next_task_scx()`, `task_tick_scx()`, and classes
//! above that take the CPU.

use super::dispatch::Verdict;
use super::{Ext, Request};
use crate::entity::{Curr, Dsq};
use crate::flags::{SCX_ENQ_LAST, SCX_ENQ_REENQ, SCX_SLICE_INF, SCX_TASK_REENQ_PREEMPTED};
use crate::ops::{Call, Ops};
use crate::stall::What;
use wakelab_kernel::ExtKickWait;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

impl Ext {
    /// `pick_task_scx()`, `put_prev_task_scx()` and `set_next_task_scx()`: whom a CPU is to run, if nobody of a class
    /// above wants to. The previous task was charged up to now, and dequeued if it sleeps. `clock_task` is the CPU's
    /// `rq_clock_task()`, ns. Without a task, the CPU `idles`, or picks one of a class above: this is for the class's
    /// server then (`ext_server_pick_task()`).
    pub fn pick_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, clock_task: u64, idles: bool) -> Option<TaskId> {
        if self.rules.kick_wait == ExtKickWait::AfterPass {
            self.advance_kick_sync(cpu);
        }
        self.update_curr(ops, cpu, clock_task);
        let prev = match self.rqs[cpu as usize].curr {
            Curr::Ext(prev) => Some(prev),
            Curr::Idle | Curr::Above => None,
        };
        // dispatch_pick() (7.2) and balance_scx() (up to 6.18) unpin the lock: rq_unpin_lock() makes the clock invalid.
        self.clock_valid = None;
        self.rqs[cpu as usize].in_balance = true;
        let verdict = self.balance_one(ops, cpu, prev);
        // There balance_scx() comes before pick_task_scx().
        if self.rules.kick_wait == ExtKickWait::IrqUntilPick {
            self.advance_kick_sync(cpu);
        }
        let rq = &mut self.rqs[cpu as usize];
        // dispatch_pick() queues kick_sync_wait_bal_cb().
        rq.kick_sync_waits |= std::mem::take(&mut rq.kick_sync_pending);
        // What joined its queue during the dispatch may have to run at once.
        let linger = verdict != Verdict::None && rq.local_dsq.nr() > 1 && rq.nr_immed != 0;
        if linger {
            self.schedule_reenq_local(cpu, 0);
        }
        self.rqs[cpu as usize].in_balance = false;
        let next = match verdict {
            Verdict::Prev => prev,
            _ => self.rqs[cpu as usize].local_dsq.first(),
        };
        if let Some(next) = next
            && ops.slice(next) == 0
        {
            self.refill_slice(ops, next);
        }
        if next.is_some() && next == prev {
            self.rqs[cpu as usize].next_ext = true;
            return next;
        }
        if next.is_none() && !idles {
            return None;
        }
        let was_idle = self.rqs[cpu as usize].curr == Curr::Idle;
        if let Some(prev) = prev {
            self.put_prev_task(ops, cpu, prev, next.map_or(Curr::Idle, Curr::Ext));
            if next.is_none() {
                self.switch_class(ops, cpu, None);
            }
        }
        match next {
            Some(next) => {
                if was_idle {
                    self.scx_update_idle(ops, cpu, false, true);
                }
                self.set_next_task(ops, cpu, next, clock_task);
            }
            None => {
                self.scx_update_idle(ops, cpu, true, !was_idle);
                let rq = &mut self.rqs[cpu as usize];
                rq.curr = Curr::Idle;
                if !was_idle {
                    rq.lately.since = self.now;
                }
            }
        }
        self.rqs[cpu as usize].next_ext = next.is_some();
        next
    }

    /// `put_prev_task_scx()`.
    fn put_prev_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, next: Curr) {
        if self.rules.kick_wait.until_pick() {
            self.advance_kick_sync(cpu);
        }
        if !self.task(p).queued {
            return;
        }
        self.call(ops, Some(cpu), Call::Stopping { p, runnable: true });
        self.task_mut(p).switches[1] += 1;
        self.set_runnable(p);
        // sched_info_depart()
        self.sched_info_enqueue(p);
        self.note(p, What::Stopped { slice_left: ops.slice(p) != 0 });
        if ops.slice(p) != 0 {
            if self.task(p).immed {
                self.task_mut(p).reenq_reason = SCX_TASK_REENQ_PREEMPTED;
                self.do_enqueue_task(ops, cpu, p, SCX_ENQ_REENQ, None);
                self.task_mut(p).reenq_reason = 0;
            } else {
                let head = u64::from(self.rules.enq_head);
                self.dispatch_enqueue(ops, Some(cpu), Dsq::Local(cpu), p, head);
            }
        } else {
            let flags = if next == Curr::Idle { SCX_ENQ_LAST } else { 0 };
            self.do_enqueue_task(ops, cpu, p, flags, None);
            let waits_here = self.task(p).dsq.is_some_and(|(dsq, _)| dsq == Dsq::Local(cpu));
            if next == Curr::Idle && waits_here && self.rules.enq_last_resched {
                self.requests.push(Request::ReschedNext(cpu));
            }
        }
    }

    /// `set_next_task_scx()`.
    pub(super) fn set_next_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, clock_task: u64) {
        if self.task(p).queued {
            self.ops_dequeue(ops, cpu, p, 0);
            self.dispatch_dequeue(p);
        }
        self.task_mut(p).exec_start = clock_task;
        // rq->curr is still the previous task.
        if self.task(p).queued {
            self.call(ops, Some(cpu), Call::Running { p });
        }
        let now = self.now;
        let task = self.task_mut(p);
        task.runnable = None;
        task.reset_runnable_at = true;
        // sched_info_arrive(), which comes after ops.running()
        let info = &mut task.sched_info;
        info.run_delay += info.last_queued.take().map_or(0, |since| now - since);
        (info.pcount, info.last_arrival) = (info.pcount + 1, now);
        self.note_picked(p);
        let rq = &mut self.rqs[cpu as usize];
        (rq.curr, rq.lately.since) = (Curr::Ext(p), now);
    }

    /// `task_tick_scx()`: the running task's tick. Asks for a reschedule if its slice is over.
    pub fn task_tick(&mut self, ops: &mut dyn Ops, cpu: Cpu, clock_task: u64) {
        let Curr::Ext(curr) = self.rqs[cpu as usize].curr else { return };
        self.update_curr(ops, cpu, clock_task);
        self.call(ops, Some(cpu), Call::Tick { p: curr });
        if ops.slice(curr) == 0 {
            self.resched_curr(cpu);
        }
    }

    /// `update_curr_scx()`: charges the running task up to now, ns of its CPU's `rq_clock_task()`.
    pub fn update_curr(&mut self, ops: &mut dyn Ops, cpu: Cpu, clock_task: u64) {
        let Curr::Ext(curr) = self.rqs[cpu as usize].curr else { return };
        let task = self.task_mut(curr);
        let delta = clock_task.saturating_sub(task.exec_start);
        // A task that was picked begins when the interrupt is over that asked for it.
        task.exec_start = task.exec_start.max(clock_task);
        task.sum_exec_runtime += delta;
        let slice = ops.slice(curr);
        if slice != SCX_SLICE_INF && delta != 0 {
            ops.set_slice(curr, slice - slice.min(delta));
        }
    }

    /// A task of a class above takes the CPU, for a reason of `enum scx_cpu_preempt_reason`. The previous task was
    /// charged up to now.
    pub fn preempted_by_class(&mut self, ops: &mut dyn Ops, cpu: Cpu, reason: u32) {
        // wakeup_preempt_scx(): the wake-up of that task.
        if self.rqs[cpu as usize].nr_immed != 0 {
            self.schedule_reenq_local(cpu, 0);
        }
        let was = self.rqs[cpu as usize].curr;
        if let Curr::Ext(prev) = was {
            self.put_prev_task(ops, cpu, prev, Curr::Above);
            self.switch_class(ops, cpu, Some(reason));
        }
        if was == Curr::Idle {
            self.scx_update_idle(ops, cpu, false, true);
        }
        let rq = &mut self.rqs[cpu as usize];
        (rq.curr, rq.lately.since) = (Curr::Above, self.now);
    }

    /// `switch_class()`: the CPU leaves the class, for the idle task, or for a class above, with the reason.
    fn switch_class(&mut self, ops: &mut dyn Ops, cpu: Cpu, reason: Option<u32>) {
        if !self.rules.kick_wait.until_pick() {
            self.advance_kick_sync(cpu);
        }
        let Some(reason) = reason.filter(|_| self.has_cpu_preempt()) else { return };
        if !std::mem::replace(&mut self.rqs[cpu as usize].cpu_released, true) {
            self.call(ops, Some(cpu), Call::CpuRelease { cpu, reason });
        }
    }

    /// `scx_update_idle()`. `notify` says that the CPU goes idle or leaves it; else an idle CPU has found nothing and
    /// stays idle.
    pub(super) fn scx_update_idle(&mut self, ops: &mut dyn Ops, cpu: Cpu, idle: bool, notify: bool) {
        if self.rules.idle_masks_first {
            self.idle.update(cpu, idle);
        }
        if notify {
            self.call(ops, Some(cpu), Call::UpdateIdle { cpu, idle });
        }
        if !self.rules.idle_masks_first {
            self.idle.update(cpu, idle);
        }
    }
}
