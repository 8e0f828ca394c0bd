//! Whether a task that joined preempts the running one, in the form of each version.

use super::SlowEevdf;
use crate::runqueue_reference::slow_task::diff;
use wakelab_kernel::WakeupPreempt;
use wakelab_sched::runqueue::{Policy, Resched};

/// The reason for which a task joins.
#[derive(Clone, Copy, PartialEq)]
pub enum How {
    Fork,
    Wake,
    Sync,
    Other,
}

impl SlowEevdf {
    pub(super) fn check(&mut self, q: usize, t: usize, now: u64, how: How) {
        match self.queues[q].curr {
            None => self.queues[q].flag = Resched::Now,
            Some(c) if c == t => {}
            Some(c) if self.v73 => self.check_7_3(q, c, t, now, how),
            Some(c) if self.v72 => self.check_7_2(q, c, t, now, how),
            Some(c) if self.v618 => self.check_6_18(q, c, t, now, how),
            Some(c) if self.r.custom_slices => self.check_6_12(q, c, t, now, how),
            Some(c) => self.check_6_6(q, c, t, now, how),
        }
    }

    /// `check_preempt_wakeup()` of 6.6 and, with the idle policy before the feature, `check_preempt_wakeup_fair()` of
    /// 6.8.
    pub(super) fn check_6_6(&mut self, q: usize, c: usize, t: usize, now: u64, how: How) {
        if self.p.next_buddy && how != How::Fork {
            self.mark(q, t);
        }
        if self.queues[q].flag == Resched::Now {
            return;
        }
        let (curr_idle, idle) = (self.tasks[c].t.idle(), self.tasks[t].t.idle());
        if self.r.wakeup_preempt == WakeupPreempt::IdleThenCompare && curr_idle && !idle {
            return self.ask(q);
        }
        if !self.p.wakeup_preemption {
            return;
        }
        if curr_idle && !idle {
            return self.ask(q);
        }
        if curr_idle != idle || self.tasks[t].t.policy != Policy::Normal {
            return;
        }
        self.charge(q, now);
        if self.pick(q) == Some(t) {
            self.ask(q);
        }
    }

    /// `check_preempt_wakeup_fair()` of 6.18.
    pub(super) fn check_6_18(&mut self, q: usize, c: usize, t: usize, now: u64, how: How) {
        if self.p.next_buddy && how != How::Fork {
            self.mark(q, t);
        }
        if self.queues[q].flag == Resched::Now || !self.p.wakeup_preemption {
            return;
        }
        let (curr_idle, idle) = (self.tasks[c].t.idle(), self.tasks[t].t.idle());
        if curr_idle && !idle {
            self.cancel(c);
            return self.ask(q);
        }
        if curr_idle != idle || self.tasks[t].t.policy != Policy::Normal {
            return;
        }
        self.charge(q, now);
        let short = self.p.preempt_short && self.tasks[t].slice < self.tasks[c].slice;
        if self.pick_with(q, !short) == Some(t) {
            if short {
                self.cancel(c);
            }
            self.ask(q);
        } else if self.p.run_to_parity && short {
            self.cut(q, c);
        }
    }

    pub(super) fn check_6_12(&mut self, q: usize, c: usize, t: usize, now: u64, how: How) {
        if self.p.next_buddy && how != How::Fork {
            self.mark(q, t);
        }
        if self.queues[q].flag == Resched::Now || !self.p.wakeup_preemption {
            return;
        }
        let (curr_idle, idle) = (self.tasks[c].t.idle(), self.tasks[t].t.idle());
        if curr_idle && !idle {
            self.cancel(c);
            self.ask(q);
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
        if self.pick(q) == Some(t) {
            self.ask(q);
        }
    }

    /// `wakeup_preempt_fair()` of 7.2, jump by jump.
    pub(super) fn check_7_2(&mut self, q: usize, c: usize, t: usize, now: u64, how: How) {
        if self.queues[q].flag == Resched::Now || !self.p.wakeup_preemption {
            return;
        }
        let (curr_idle, idle) = (self.tasks[c].t.idle(), self.tasks[t].t.idle());
        if curr_idle && !idle {
            self.cancel(c);
            self.ask(q);
            return;
        }
        if curr_idle != idle || self.tasks[t].t.policy != Policy::Normal {
            return;
        }
        self.charge(q, now);
        let short = self.p.preempt_short && self.tasks[t].slice < self.tasks[c].slice;
        if !short {
            if how == How::Fork || self.tasks[t].delayed {
                return;
            }
            match self.buddy(q, c, t, now, how) {
                Some(true) => return self.ask(q),
                Some(false) => return,
                None => {}
            }
        }
        let picked = self.pick_and_reap(q, now, !short);
        if picked == Some(t) {
            if short {
                self.cancel(c);
            }
            self.ask(q);
        } else if self.p.run_to_parity {
            self.cut(q, c);
        }
    }

    /// `wakeup_preempt_fair()` of 7.3.
    pub(super) fn check_7_3(&mut self, q: usize, c: usize, t: usize, now: u64, how: How) {
        let asked = self.queues[q].flag == Resched::Now;
        if (asked && !self.p.preempt_short) || !self.p.wakeup_preemption {
            return;
        }
        let (curr_idle, idle) = (self.tasks[c].t.idle(), self.tasks[t].t.idle());
        if curr_idle && !idle {
            self.cancel(c);
            self.ask(q);
            return;
        }
        self.charge(q, now);
        let short = self.p.preempt_short && self.tasks[t].slice < self.tasks[c].slice;
        let may_not = curr_idle != idle || self.tasks[t].t.policy != Policy::Normal || self.tasks[t].delayed;
        let mut wins = false;
        if !may_not && short {
            wins = self.pick_and_reap(q, now, false) == Some(t) || self.eligible(q, t);
        } else if !may_not && how != How::Fork {
            wins = match self.buddy(q, c, t, now, how) {
                Some(true) => true,
                Some(false) => return,
                None => self.pick_and_reap(q, now, true) == Some(t),
            };
        }
        if wins {
            self.cancel(c);
            if short && self.queues[q].next.is_none_or(|n| self.tasks[n].slice >= self.tasks[t].slice) {
                self.mark(q, t);
            }
            self.ask(q);
        } else if self.p.run_to_parity {
            self.cut(q, c);
        }
    }

    /// `NEXT_BUDDY` since 7.2: `Some(true)` reschedules, `Some(false)` does not, and `None` picks.
    pub(super) fn buddy(&mut self, q: usize, c: usize, t: usize, now: u64, how: How) -> Option<bool> {
        let sooner = |a: usize, b: usize| diff(self.tasks[a].deadline, self.tasks[b].deadline) < 0;
        if !self.p.next_buddy || self.queues[q].next.is_some_and(|n| sooner(n, t)) {
            return None;
        }
        let before = sooner(t, c);
        self.mark(q, t);
        let ran = now.saturating_sub(self.tasks[c].t.exec_start);
        (how == How::Sync).then_some(before && ran >= self.p.migration_cost_ns)
    }
}
