//! EEVDF, slow and obvious.

use crate::slow::{Task, diff, position};
use crate::system::{Op, QUEUES, QueueState, System, TaskState};
use std::cell::Cell;
use wakelab_sched::runqueue::{EevdfParams, Policy, Prev};

struct Eevdf {
    t: Task,
    deadline: u64,
    slice: u64,
    custom: bool,
    vlag: i128,
    mark: u64,
    rel: bool,
    delayed: bool,
}

#[derive(Clone)]
struct Queue {
    curr: Option<usize>,
    waiting: Vec<usize>,
    zero: u64,
    flag: bool,
}

pub struct SlowEevdf {
    p: EevdfParams,
    tasks: Vec<Eevdf>,
    queues: Vec<Queue>,
    /// A product left the range of 64 bits, in which the kernel computes: from there on it would decide otherwise.
    pub overflowed: Cell<bool>,
}

impl SlowEevdf {
    pub fn new(p: EevdfParams, v0: u64) -> Self {
        let queue = Queue { curr: None, waiting: Vec::new(), zero: v0, flag: false };
        SlowEevdf { p, tasks: Vec::new(), queues: vec![queue; QUEUES], overflowed: Cell::new(false) }
    }

    /// Queued tasks, the current one included.
    fn members(&self, q: usize) -> Vec<usize> {
        let curr = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq);
        self.queues[q].waiting.iter().copied().chain(curr).collect()
    }

    fn checked(&self, product: i128) -> i128 {
        self.overflowed.set(self.overflowed.get() || i64::try_from(product).is_err());
        product
    }

    fn sums(&self, q: usize) -> (i128, i128) {
        let (mut k, mut l) = (0, 0);
        for t in self.members(q) {
            let t = &self.tasks[t].t;
            k += t.weight() * diff(t.v, self.queues[q].zero);
            l += t.weight();
        }
        (self.checked(k), l)
    }

    fn v(&self, q: usize) -> u64 {
        let (k, l) = self.sums(q);
        self.queues[q].zero.wrapping_add(if l == 0 { 0 } else { k.div_euclid(l) as u64 })
    }

    fn refresh(&mut self, q: usize) -> u64 {
        self.queues[q].zero = self.v(q);
        self.queues[q].zero
    }

    fn eligible(&self, q: usize, t: usize) -> bool {
        let (k, l) = self.sums(q);
        k >= self.checked(diff(self.tasks[t].t.v, self.queues[q].zero) * l)
    }

    fn protected(&self, t: usize) -> bool {
        self.tasks[t].mark == self.tasks[t].deadline
    }

    fn cancel(&mut self, t: usize) {
        if self.protected(t) {
            self.tasks[t].mark = self.tasks[t].deadline.wrapping_add(1);
        }
    }

    fn pick(&self, q: usize) -> Option<usize> {
        let members = self.members(q);
        if members.len() == 1 {
            return Some(members[0]);
        }
        let c = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq && self.eligible(q, c));
        if let Some(c) = c.filter(|&c| self.p.run_to_parity && self.protected(c)) {
            return Some(c);
        }
        let b = self.queues[q].waiting.iter().copied().find(|&t| self.eligible(q, t));
        match (c, b) {
            (Some(c), Some(b)) if diff(self.tasks[c].deadline, self.tasks[b].deadline) >= 0 => Some(b),
            _ => c.or(b),
        }
    }

    fn expire(&mut self, q: usize, t: usize) -> bool {
        let task = &mut self.tasks[t];
        if diff(task.t.v, task.deadline) < 0 {
            return false;
        }
        if !task.custom {
            task.slice = self.p.base_slice_ns;
        }
        task.deadline = task.t.v.wrapping_add(task.t.vd(task.slice));
        self.refresh(q);
        true
    }

    fn charge(&mut self, q: usize, now: u64) {
        let Some(c) = self.queues[q].curr.filter(|&c| self.tasks[c].t.charge(now)) else { return };
        let expired = self.expire(q, c);
        if self.members(q).len() == 1 {
            return;
        }
        let spent = self.p.preempt_short && !self.protected(c) && !self.eligible(q, c);
        self.queues[q].flag |= expired || spent;
    }

    fn setlag(&mut self, q: usize, t: usize) {
        let v = self.refresh(q);
        let task = &mut self.tasks[t];
        let limit = i128::from(task.t.vd((2 * task.slice).max(self.p.tick_ns)));
        task.vlag = diff(v, task.t.v).clamp(-limit, limit);
    }

    fn place(&mut self, q: usize, t: usize, initial: bool) {
        let v = self.refresh(q);
        let (_, l) = self.sums(q);
        let task = &mut self.tasks[t];
        if !task.custom {
            task.slice = self.p.base_slice_ns;
        }
        let lag = if self.p.place_lag && l > 0 { task.vlag * (l + task.t.weight()) / l } else { 0 };
        task.t.v = v.wrapping_sub(lag as u64);
        if self.p.place_rel_deadline && task.rel {
            task.deadline = task.deadline.wrapping_add(task.t.v);
            task.rel = false;
        } else {
            let half = initial && self.p.place_deadline_initial;
            task.deadline = task.t.v.wrapping_add(task.t.vd(task.slice) / if half { 2 } else { 1 });
        }
    }

    fn insert(&mut self, q: usize, t: usize) {
        let at = position(&self.queues[q].waiting, self.tasks[t].deadline, |other| self.tasks[other].deadline);
        self.queues[q].waiting.insert(at, t);
    }

    fn take_out(&mut self, q: usize, t: usize) {
        self.queues[q].waiting.retain(|&other| other != t);
    }

    fn enqueue(&mut self, q: usize, t: usize, now: u64, initial: bool) {
        self.charge(q, now);
        self.place(q, t, initial);
        self.tasks[t].t.on_rq = true;
        self.tasks[t].t.queue = q;
        self.insert(q, t);
    }

    /// Not for good: `sleep`. At once: `!delay`.
    fn dequeue(&mut self, q: usize, t: usize, now: u64, sleep: bool, delay: bool) {
        self.charge(q, now);
        if sleep && delay && self.p.delay_dequeue && !self.eligible(q, t) {
            self.tasks[t].delayed = true;
            return;
        }
        self.setlag(q, t);
        let task = &mut self.tasks[t];
        if !sleep && self.p.place_rel_deadline {
            task.deadline = task.deadline.wrapping_sub(task.t.v);
            task.rel = true;
        }
        task.t.on_rq = false;
        self.take_out(q, t);
    }

    fn reap(&mut self, q: usize, t: usize, now: u64) {
        self.dequeue(q, t, now, true, false);
        let task = &mut self.tasks[t];
        task.delayed = false;
        if self.p.delay_zero {
            task.vlag = task.vlag.min(0);
        }
    }

    fn put(&mut self, q: usize, now: u64) {
        if let Some(c) = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq) {
            self.charge(q, now);
            self.insert(q, c);
        }
        self.queues[q].curr = None;
    }

    fn set(&mut self, q: usize, t: usize, now: u64) {
        self.take_out(q, t);
        self.tasks[t].mark = self.tasks[t].deadline;
        self.tasks[t].t.exec_start = now;
        self.queues[q].curr = Some(t);
    }

    fn schedule(&mut self, q: usize, now: u64, prev: Prev) {
        if let Some(c) = self.queues[q].curr.filter(|_| prev != Prev::Runs) {
            self.dequeue(q, c, now, true, prev == Prev::Sleeps);
        }
        let next = loop {
            if self.queues[q].curr.is_some_and(|c| self.tasks[c].t.on_rq) {
                self.charge(q, now);
            }
            match self.pick(q) {
                Some(p) if self.tasks[p].delayed => self.reap(q, p, now),
                next => break next,
            }
        };
        if next != self.queues[q].curr {
            self.put(q, now);
            next.into_iter().for_each(|next| self.set(q, next, now));
        }
        self.queues[q].flag = false;
    }

    fn check(&mut self, q: usize, t: usize, now: u64) {
        let Some(c) = self.queues[q].curr else {
            self.queues[q].flag = true;
            return;
        };
        if c == t || self.queues[q].flag || !self.p.wakeup_preemption {
            return;
        }
        let (curr_idle, idle) = (self.tasks[c].t.idle(), self.tasks[t].t.idle());
        if curr_idle && !idle {
            self.cancel(c);
            self.queues[q].flag = true;
        }
        if curr_idle != idle || self.tasks[t].t.policy != Policy::Normal {
            return;
        }
        self.charge(q, now);
        if self.p.preempt_short && self.tasks[t].slice < self.tasks[c].slice && self.eligible(q, t) {
            let sooner = diff(self.tasks[t].deadline, self.tasks[c].deadline) < 0;
            if sooner || !self.eligible(q, c) {
                self.cancel(c);
            }
        }
        self.queues[q].flag |= self.pick(q) == Some(t);
    }

    fn change(&mut self, t: usize, now: u64, change: impl FnOnce(&mut Eevdf)) {
        let (q, queued) = (self.tasks[t].t.queue, self.tasks[t].t.on_rq);
        let running = self.queues[q].curr == Some(t);
        if queued {
            self.dequeue(q, t, now, false, false);
        }
        if running {
            self.queues[q].curr = None;
        }
        change(&mut self.tasks[t]);
        if queued {
            self.enqueue(q, t, now, false);
        }
        if running {
            self.set(q, t, now);
        }
    }
}

impl System for SlowEevdf {
    fn apply(&mut self, now: u64, op: Op) {
        match op {
            Op::Fork { queue, policy, nice, slice } => {
                let t = Task::new(policy, nice, queue);
                let custom = slice != 0;
                self.tasks.push(Eevdf { t, deadline: 0, slice, custom, vlag: 0, mark: 0, rel: false, delayed: false });
                let t = self.tasks.len() - 1;
                self.enqueue(queue, t, now, true);
                self.check(queue, t, now);
            }
            Op::Wake { task: t, queue } if !self.tasks[t].t.on_rq => {
                self.enqueue(queue, t, now, false);
                self.check(queue, t, now);
            }
            Op::Wake { task: t, .. } => {
                let q = self.tasks[t].t.queue;
                if self.p.delay_zero {
                    self.setlag(q, t);
                    if self.tasks[t].vlag > 0 {
                        self.take_out(q, t);
                        self.tasks[t].vlag = 0;
                        self.place(q, t, false);
                        self.insert(q, t);
                    }
                }
                self.tasks[t].delayed = false;
                self.check(q, t, now);
            }
            Op::Tick { queue } | Op::Update { queue } => self.charge(queue, now),
            Op::Schedule { queue, prev } => self.schedule(queue, now, prev),
            Op::Yield { queue } => {
                let Some(c) = self.queues[queue].curr.filter(|_| self.members(queue).len() != 1) else { return };
                // The operation does not report the flag, since a schedule clears it.
                let flag = self.queues[queue].flag;
                self.charge(queue, now);
                self.queues[queue].flag = flag;
                if self.eligible(queue, c) {
                    self.tasks[c].t.v = self.tasks[c].deadline;
                    self.expire(queue, c);
                }
            }
            Op::Nice { task: t, nice } => {
                let old = self.tasks[t].t.nice;
                if nice == old {
                    return;
                }
                self.change(t, now, |task| {
                    let owed = task.vlag * task.t.weight();
                    task.t.nice = nice;
                    task.vlag = owed / task.t.weight();
                });
                let q = self.tasks[t].t.queue;
                if !self.tasks[t].t.on_rq || self.members(q).len() == 1 {
                    return;
                }
                if self.queues[q].curr == Some(t) {
                    self.queues[q].flag |= nice > old;
                } else {
                    self.check(q, t, now);
                }
            }
            Op::Slice { task: t, slice } => {
                if self.tasks[t].t.idle() || self.tasks[t].slice == slice {
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
                self.check(queue, t, now);
            }
        }
    }

    fn queues(&self) -> Vec<QueueState> {
        let state = |q: usize| QueueState {
            curr: self.queues[q].curr,
            waiting: self.queues[q].waiting.clone(),
            virtual_time: self.v(q),
            nr_delayed: self.members(q).iter().filter(|&&t| self.tasks[t].delayed).count(),
            need_resched: self.queues[q].flag,
            markers: [None; 3],
            pick: self.pick(q),
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
