//! `check_preempt_wakeup()` and `check_preempt_tick()`: whether the running task is preempted, by a task that joined or
//! at the tick (`kernel/sched/fair.c`, 6.1).
//!
//! ```text
//! check_preempt_wakeup():
//!     curr is SCHED_IDLE, p is not                                preempt
//!     p is not SCHED_NORMAL                                       do not
//!     curr->vruntime - p->vruntime > gran(p)                      preempt; p becomes the next buddy
//!
//! check_preempt_tick():
//!     ran longer than sched_slice()                               preempt
//!     ran at least min_granularity, and is more than
//!         sched_slice() after the first waiting vruntime          preempt
//! ```

use super::CfsRq;
use crate::runqueue::{Entities, Hrtick, Policy, TaskId};
use crate::select::WakeFlags;
use std::cmp::Ordering;

impl CfsRq {
    /// Whether `task`, which was enqueued, requests a reschedule (`check_preempt_wakeup()`, 5.10 to 6.1; of an idle
    /// CPU, `check_preempt_curr_idle()`). `need_resched`: a reschedule was requested already, so nothing is compared.
    #[must_use]
    pub fn check_preempt_wakeup(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> bool {
        let Some(curr) = self.curr else { return true };
        if curr == task {
            return false;
        }
        if self.params.next_buddy && self.nr_queued >= self.params.nr_latency && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, task);
        }
        if need_resched {
            return false;
        }
        if es[curr].is_idle() && !es[task].is_idle() {
            self.set_last_buddy(es, curr);
            return true;
        }
        if es[task].policy != Policy::Normal || !self.params.wakeup_preemption {
            return false;
        }
        self.update_curr(es, now);
        if self.wakeup_preempt_entity(es, curr, task) != Ordering::Greater {
            return false;
        }
        if self.params.next_marker {
            self.set_next_buddy(es, task);
        }
        self.set_last_buddy(es, curr);
        true
    }

    /// Compares the vruntimes of `curr` and `task` (`wakeup_preempt_entity()`, 6.1, which returns 1, 0 or -1).
    /// `Greater`: that of `curr` is larger by more than the wakeup granularity, so `task` may preempt. `Equal`: it is
    /// larger by less. `Less`: it is not larger.
    ///
    /// The granularity is converted to virtual time at the weight of `task`, so it is longer for a light task.
    pub fn wakeup_preempt_entity(&self, es: &Entities, curr: TaskId, task: TaskId) -> Ordering {
        let vdiff = es[curr].vruntime.wrapping_sub(es[task].vruntime) as i64;
        if vdiff <= 0 {
            Ordering::Less
        } else if vdiff > es[task].calc_delta_fair(self.params.wakeup_granularity_ns) as i64 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// Makes a task the next buddy, unless it is `SCHED_IDLE` (`set_next_buddy()`, 5.10 to 6.1).
    fn set_next_buddy(&mut self, es: &Entities, task: TaskId) {
        if !es[task].is_idle() {
            self.next = Some(task);
        }
    }

    /// Makes the preempted task the last buddy, under the conditions of `check_preempt_wakeup()` (`set_last_buddy()`,
    /// 6.1).
    fn set_last_buddy(&mut self, es: &Entities, curr: TaskId) {
        let many = self.nr_queued >= self.params.nr_latency;
        if self.params.last_buddy && many && es[curr].on_rq && !es[curr].is_idle() {
            self.last = Some(curr);
        }
    }

    /// Handles the tick (`task_tick_fair()`, `entity_tick()`, 6.1). Returns whether to reschedule.
    #[must_use]
    pub fn task_tick(&mut self, es: &mut Entities, now: u64) -> bool {
        let Some(curr) = self.curr else { return false };
        self.update_curr(es, now);
        if self.nr_queued <= 1 {
            return false;
        }
        let (preempts, ran_long) = self.check_preempt_tick(es, curr, self.sched_slice(es, curr));
        if ran_long {
            // "The current task ran long enough, ensure it doesn't get re-elected due to buddy favours."
            self.clear_buddies(curr);
        }
        preempts
    }

    /// Whether the running task has had its slice, `ideal_runtime` ns, or its vruntime is more than a slice after that
    /// of the first waiting task (`check_preempt_tick()`, 6.1). The second value says that the former was the reason.
    pub(super) fn check_preempt_tick(&self, es: &Entities, curr: TaskId, ideal_runtime: u64) -> (bool, bool) {
        let e = &es[curr];
        let delta_exec = e.sum_exec_runtime - e.prev_sum_exec_runtime;
        if delta_exec > ideal_runtime {
            return (true, true);
        }
        if delta_exec < self.params.min_granularity_ns {
            return (false, false);
        }
        let Some(first) = self.tasks_timeline.first() else { return (false, false) };
        (e.vruntime.wrapping_sub(es[first].vruntime) as i64 > ideal_runtime as i64, false)
    }

    /// The running task's hrtick, if the feature `HRTICK` is on: at the end of its slice (`hrtick_start_fair()`,
    /// 5.10 to 6.1).
    pub fn hrtick(&self, es: &Entities) -> Hrtick {
        let Some(curr) = self.curr.filter(|_| self.params.hrtick && self.nr_queued > 1) else { return Hrtick::Off };
        let ran = es[curr].sum_exec_runtime - es[curr].prev_sum_exec_runtime;
        self.sched_slice(es, curr).checked_sub(ran).map_or(Hrtick::Over, Hrtick::start)
    }
}
