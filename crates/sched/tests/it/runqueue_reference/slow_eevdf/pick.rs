//! The task that is picked, and how long its slice is protected.

use super::SlowEevdf;
use crate::runqueue_reference::slow_task::diff;

impl SlowEevdf {
    pub(super) fn protected(&self, t: usize) -> bool {
        let task = &self.tasks[t];
        if self.v618 { diff(task.t.v, task.mark) < 0 } else { task.mark == task.deadline }
    }

    pub(super) fn cancel(&mut self, t: usize) {
        if self.protected(t) {
            let task = &mut self.tasks[t];
            task.mark = if self.v618 { task.t.v } else { task.deadline.wrapping_add(1) };
        }
    }

    /// Sets the protection of a task that has just been taken out of the list to run.
    pub(super) fn protect(&mut self, q: usize, t: usize) {
        let others: Vec<usize> = self.queues[q].waiting.clone();
        let task = &self.tasks[t];
        let shortest = others.iter().map(|&o| self.tasks[o].slice).min().unwrap_or(u64::MAX);
        let quantum = if self.p.run_to_parity { shortest } else { self.p.normalized_base_slice_ns };
        let mut mark = task.deadline;
        if self.v618 && quantum < task.slice {
            let end = if self.v73 && self.p.preempt_short {
                // V of the others, rounded down, plus 1.
                let l: i128 = others.iter().map(|&o| self.tasks[o].t.weight()).sum();
                let k: i128 = others
                    .iter()
                    .map(|&o| self.tasks[o].t.weight() * diff(self.tasks[o].t.v, self.queues[q].zero))
                    .sum();
                let v = if l == 0 { 0 } else { self.checked(k).div_euclid(l) };
                self.queues[q].zero.wrapping_add(v as u64).wrapping_add(1)
            } else {
                task.t.v.wrapping_add(task.t.vd(quantum))
            };
            if diff(end, mark) < 0 {
                mark = end;
            }
        }
        self.tasks[t].mark = mark;
    }

    /// Shortens the running task's protection (`update_protect_slice()`).
    pub(super) fn cut(&mut self, q: usize, c: usize) {
        let mut from = self.tasks[c].t.v;
        if self.v73 {
            let v = self.refresh(q);
            if diff(v, from) < 0 {
                from = v;
            }
        }
        let shortest = self.slices(q).into_iter().min().unwrap_or(u64::MAX);
        let end = from.wrapping_add(self.tasks[c].t.vd(shortest));
        if diff(end, self.tasks[c].mark) < 0 {
            self.tasks[c].mark = end;
        }
    }

    pub(super) fn marked(&self, q: usize) -> Option<usize> {
        self.queues[q].next.filter(|&n| self.p.pick_buddy && self.eligible(q, n))
    }

    pub(super) fn unmark(&mut self, q: usize, t: usize) {
        self.queues[q].next.take_if(|next| *next == t);
    }

    pub(super) fn mark(&mut self, q: usize, t: usize) {
        if !self.tasks[t].t.idle() && !self.tasks[t].delayed {
            self.queues[q].next = Some(t);
        }
    }

    pub(super) fn pick(&self, q: usize) -> Option<usize> {
        self.pick_with(q, true)
    }

    pub(super) fn pick_with(&self, q: usize, protect: bool) -> Option<usize> {
        let members = self.members(q);
        if members.len() == 1 {
            return Some(members[0]);
        }
        if self.v72
            && protect
            && let Some(n) = self.marked(q)
        {
            return Some(n);
        }
        let c = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq && self.eligible(q, c));
        let on = protect && (self.v618 || self.p.run_to_parity);
        if let Some(c) = c.filter(|&c| on && self.protected(c)) {
            return Some(c);
        }
        let b = self.queues[q].waiting.iter().copied().find(|&t| self.eligible(q, t));
        match (c, b) {
            (Some(c), Some(b)) if diff(self.tasks[c].deadline, self.tasks[b].deadline) >= 0 => Some(b),
            _ => c.or(b),
        }
    }
}
