//! Charging and placing tasks, enqueue, dequeue, and switches.

use super::{Eevdf, SlowEevdf};
use crate::runqueue_reference::slow_task::{Task, diff, position};
use wakelab_sched::runqueue::{Prev, Resched};

impl SlowEevdf {
    pub(super) fn expire(&mut self, q: usize, t: usize) -> bool {
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

    pub(super) fn charge(&mut self, q: usize, now: u64) {
        let Some(c) = self.queues[q].curr.filter(|&c| self.tasks[c].t.charge(now)) else { return };
        let expired = self.expire(q, c);
        if self.members(q).len() == 1 {
            return;
        }
        let spent = if self.v618 {
            !self.protected(c)
        } else {
            self.p.preempt_short && !self.protected(c) && !self.eligible(q, c)
        };
        if expired || spent {
            self.ask(q);
        }
    }

    pub(super) fn setlag(&mut self, q: usize, t: usize) {
        let v = self.refresh(q);
        let longest = self.slices(q).into_iter().max().unwrap_or(0);
        let task = &mut self.tasks[t];
        let limit = if self.v72 { longest + self.p.tick_ns } else { (2 * task.slice).max(self.p.tick_ns) };
        let limit = i128::from(task.t.vd(limit));
        let mut vlag = diff(v, task.t.v).clamp(-limit, limit);
        if self.v72 && task.delayed {
            vlag = vlag.max(task.vlag);
            if self.p.delay_zero && vlag > 0 {
                vlag = 0;
            }
        }
        task.vlag = vlag;
    }

    pub(super) fn place(&mut self, q: usize, t: usize, initial: bool) {
        let v = self.refresh(q);
        let (_, l) = self.sums(q);
        let task = &mut self.tasks[t];
        if !task.custom {
            task.slice = self.p.base_slice_ns;
        }
        let w = task.t.weight();
        let lag = if self.p.place_lag && l > 0 { task.vlag * (l + w) / l } else { 0 };
        let product = task.vlag * (l + w);
        task.t.v = v.wrapping_sub(lag as u64);
        if self.v72 && lag != 0 && w > l {
            self.queues[q].zero = self.queues[q].zero.wrapping_sub(lag as u64);
        }
        if lag != 0 {
            self.checked(product);
        }
        let task = &mut self.tasks[t];
        if self.p.place_rel_deadline && task.rel {
            task.deadline = task.deadline.wrapping_add(task.t.v);
            task.rel = false;
        } else {
            let half = initial && self.p.place_deadline_initial;
            task.deadline = task.t.v.wrapping_add(task.t.vd(task.slice) / if half { 2 } else { 1 });
        }
    }

    pub(super) fn insert(&mut self, q: usize, t: usize) {
        let at = position(&self.queues[q].waiting, self.tasks[t].deadline, |other| self.tasks[other].deadline);
        self.queues[q].waiting.insert(at, t);
    }

    pub(super) fn take_out(&mut self, q: usize, t: usize) {
        self.queues[q].waiting.retain(|&other| other != t);
    }

    pub(super) fn enqueue(&mut self, q: usize, t: usize, now: u64, initial: bool) {
        self.charge(q, now);
        if self.v73 {
            let task = &mut self.tasks[t];
            let (old, (w, _)) = (task.t.weight(), Task::new(task.t.policy, task.t.nice, 0).load);
            task.t.load = (w, u64::from(u32::MAX) / w as u64);
            rescale(task, old, true);
        }
        self.place(q, t, initial);
        self.tasks[t].t.on_rq = true;
        self.tasks[t].t.queue = q;
        self.insert(q, t);
    }

    /// Takes a task off, for `sleep` or for a change. With `delay`, the dequeue may be delayed.
    pub(super) fn dequeue(&mut self, q: usize, t: usize, now: u64, sleep: bool, delay: bool) {
        self.charge(q, now);
        self.unmark(q, t);
        if sleep && delay && self.p.delay_dequeue && !self.eligible(q, t) {
            if self.v72 {
                self.setlag(q, t);
            }
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

    pub(super) fn reap(&mut self, q: usize, t: usize, now: u64) {
        self.dequeue(q, t, now, true, false);
        let task = &mut self.tasks[t];
        task.delayed = false;
        if self.p.delay_zero && !self.v72 {
            task.vlag = task.vlag.min(0);
        }
    }

    /// The pick of a schedule: delayed tasks that are picked leave, until a task is picked that is not delayed.
    pub(super) fn pick_and_reap(&mut self, q: usize, now: u64, protect: bool) -> Option<usize> {
        loop {
            let marked = if self.v72 { None } else { self.marked(q) };
            let picked = marked.or_else(|| self.pick_with(q, protect));
            match picked {
                Some(delayed) if self.tasks[delayed].delayed => self.reap(q, delayed, now),
                picked => return picked,
            }
        }
    }

    pub(super) fn put(&mut self, q: usize, now: u64) {
        if let Some(c) = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq) {
            self.charge(q, now);
            self.insert(q, c);
        }
        self.queues[q].curr = None;
    }

    pub(super) fn set(&mut self, q: usize, t: usize, now: u64, picked: bool) {
        self.unmark(q, t);
        self.take_out(q, t);
        if picked || !self.v72 {
            self.protect(q, t);
        }
        self.tasks[t].t.exec_start = now;
        self.queues[q].curr = Some(t);
    }

    pub(super) fn schedule(&mut self, q: usize, now: u64, prev: Prev) {
        if let Some(c) = self.queues[q].curr.filter(|_| prev != Prev::Runs) {
            self.dequeue(q, c, now, true, prev == Prev::Sleeps);
        }
        if self.queues[q].curr.is_some_and(|c| self.tasks[c].t.on_rq) {
            self.charge(q, now);
        }
        let next = self.pick_and_reap(q, now, true);
        if next != self.queues[q].curr {
            self.put(q, now);
            next.into_iter().for_each(|next| self.set(q, next, now, true));
        }
        self.queues[q].flag = Resched::No;
    }

    pub(super) fn change(&mut self, t: usize, now: u64, change: impl FnOnce(&mut Eevdf)) {
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
            self.set(q, t, now, false);
        }
    }
}

/// Rescales the lag and the relative deadline of a task whose weight was `old`: both stay the same in run time.
pub(super) fn rescale(task: &mut Eevdf, old: i128, deadline: bool) {
    let new = task.t.weight();
    if old == new {
        return;
    }
    task.vlag = task.vlag * old / new;
    if deadline && task.rel {
        task.deadline = (i128::from(task.deadline as i64) * old / new) as u64;
    }
}
