//! The operations, and the state that is compared.

use super::preempt::How;
use super::queue::rescale;
use super::{Eevdf, SlowEevdf};
use crate::runqueue_reference::slow_task::{Task, diff};
use crate::runqueue_reference::system::{Op, QUEUES, QueueState, System, TaskState};
use wakelab_sched::runqueue::Resched;

impl System for SlowEevdf {
    fn apply(&mut self, now: u64, op: Op) {
        match op {
            Op::Fork { queue, policy, nice, slice } => {
                let t = Task::new(policy, nice, queue);
                let custom = slice != 0;
                if !self.r.initial_enqueue {
                    // The parent is on queue 0.
                    self.charge(0, now);
                }
                self.tasks.push(Eevdf { t, deadline: 0, slice, custom, vlag: 0, mark: 0, rel: false, delayed: false });
                let t = self.tasks.len() - 1;
                self.enqueue(queue, t, now, true);
                self.check(queue, t, now, How::Fork);
            }
            Op::Wake { task: t, queue, sync } if !self.tasks[t].t.on_rq => {
                self.enqueue(queue, t, now, false);
                self.check(queue, t, now, if sync { How::Sync } else { How::Wake });
            }
            Op::Wake { task: t, sync, .. } => {
                let q = self.tasks[t].t.queue;
                if self.v72 {
                    self.charge(q, now);
                    self.setlag(q, t);
                    let stays = diff(self.queues[q].zero, self.tasks[t].t.v) == self.tasks[t].vlag;
                    if !stays {
                        self.take_out(q, t);
                        self.place(q, t, false);
                        self.insert(q, t);
                    }
                } else if self.p.delay_zero {
                    self.setlag(q, t);
                    if self.tasks[t].vlag > 0 {
                        self.take_out(q, t);
                        self.tasks[t].vlag = 0;
                        self.place(q, t, false);
                        self.insert(q, t);
                    }
                }
                self.tasks[t].delayed = false;
                self.check(q, t, now, if sync { How::Sync } else { How::Wake });
            }
            Op::Tick { queue } => {
                if self.queues[queue].flag == Resched::Lazy {
                    self.queues[queue].flag = Resched::Now;
                }
                self.charge(queue, now);
            }
            Op::Update { queue } => self.charge(queue, now),
            Op::Schedule { queue, prev } => self.schedule(queue, now, prev),
            Op::Yield { queue } => {
                let Some(c) = self.queues[queue].curr.filter(|_| self.members(queue).len() != 1) else { return };
                // The operation does not report the flag, since a schedule clears it.
                let flag = self.queues[queue].flag;
                self.unmark(queue, c);
                self.charge(queue, now);
                self.queues[queue].flag = flag;
                if !self.r.yield_forfeits {
                    let task = &mut self.tasks[c];
                    task.deadline = task.deadline.wrapping_add(task.t.vd(task.slice));
                } else if self.eligible(queue, c) {
                    self.tasks[c].t.v = self.tasks[c].deadline;
                    self.expire(queue, c);
                }
            }
            Op::Nice { task: t, nice } => {
                let old = self.tasks[t].t.nice;
                if nice == old {
                    return;
                }
                let (v618, v73) = (self.v618, self.v73);
                self.change(t, now, |task| {
                    let old = task.t.weight();
                    task.t.nice = nice;
                    // 7.3 waits for the enqueue.
                    if !v73 {
                        task.t.reweigh();
                        rescale(task, old, v618);
                    }
                });
                let q = self.tasks[t].t.queue;
                if !self.tasks[t].t.on_rq || self.members(q).len() == 1 {
                    return;
                }
                if self.queues[q].curr == Some(t) {
                    if nice > old {
                        self.queues[q].flag = Resched::Now;
                    }
                } else {
                    self.check(q, t, now, How::Other);
                }
            }
            Op::Slice { task: t, slice } => {
                if !self.r.custom_slices || self.tasks[t].t.idle() || self.tasks[t].slice == slice {
                    return;
                }
                let base = self.p.base_slice_ns;
                self.change(t, now, |task| {
                    task.custom = slice != 0;
                    task.slice = if slice != 0 { slice } else { base };
                });
            }
            Op::Migrate { task: t, queue } => {
                self.dequeue(self.tasks[t].t.queue, t, now, false, false);
                self.enqueue(queue, t, now, false);
                self.check(queue, t, now, How::Other);
            }
        }
    }

    fn queues(&self) -> Vec<QueueState> {
        let state = |q: usize| QueueState {
            curr: self.queues[q].curr,
            waiting: self.queues[q].waiting.clone(),
            virtual_time: self.v(q),
            zero: self.queues[q].zero,
            nr_delayed: self.members(q).iter().filter(|&&t| self.tasks[t].delayed).count(),
            need_resched: self.queues[q].flag,
            markers: [self.queues[q].next, None, None],
            pick: self.pick(q),
            eligible: {
                let curr = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq);
                let queued = curr.into_iter().chain(self.queues[q].waiting.iter().copied());
                queued.filter(|&t| self.eligible(q, t)).collect()
            },
        };
        (0..QUEUES).map(state).collect()
    }

    fn tasks(&self) -> Vec<TaskState> {
        let state = |task: &Eevdf| TaskState {
            queue: task.t.queue,
            on_rq: task.t.on_rq,
            delayed: task.delayed,
            nice: task.t.nice,
            vruntime: task.t.v,
            deadline: task.deadline,
            slice: task.slice,
            vlag: (!task.t.on_rq).then_some(task.vlag as i64),
            sum_exec: task.t.sum_exec,
        };
        self.tasks.iter().map(state).collect()
    }
}
