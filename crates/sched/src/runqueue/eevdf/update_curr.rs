//! `update_curr()`: run time into virtual time, and the end of a request; the ticks that call it
//! (`kernel/sched/fair.c`).
//!
//! ```text
//! update_curr():
//!     curr->vruntime += delta_exec * NICE_0_LOAD / weight
//!     if curr->vruntime >= curr->deadline:                        update_deadline()
//!         curr->deadline = curr->vruntime + slice * NICE_0_LOAD / weight
//!         reschedule
//!     else if curr's slice is not protected any more:             protect_slice()
//!         reschedule                                              (6.12: and curr is not eligible; 6.6: not at all)
//! ```

use super::EevdfRq;
use crate::runqueue::{Entities, Entity, Hrtick, Resched, TaskId, vtime_before};

/// `NICE_0_LOAD`, not scaled down.
const NICE_0_LOAD_FULL: u64 = 1 << 20;

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// Charges the running task up to `now` (`update_curr()`). Requests a reschedule if the task is not alone and its
    /// request is served, or it has lost its protection (up to 6.12: and is not eligible).
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        let Some(curr) = self.curr else { return Resched::No };
        let e = &mut es[curr];
        let Some(delta_exec) = e.update_curr_se(now) else { return Resched::No };
        e.vruntime = e.vruntime.wrapping_add(Self::calc_delta_fair(e, delta_exec));
        let served = self.update_deadline(es, curr);
        if self.nr_queued == 1 || !(served || self.lost_protection(es, curr)) {
            return Resched::No;
        }
        self.clear_buddies(curr);
        self.resched_curr()
    }

    /// If the task's request is served, sets the deadline of the next one and returns true (`update_deadline()`, 6.12).
    pub(super) fn update_deadline(&mut self, es: &mut Entities, task: TaskId) -> bool {
        let e = &mut es[task];
        if vtime_before(e.vruntime, e.deadline) {
            return false;
        }
        if !e.custom_slice {
            e.slice = self.params.base_slice_ns;
        }
        e.deadline = e.vruntime.wrapping_add(Self::calc_delta_fair(e, e.slice));
        self.update_zero_vruntime(es);
        true
    }

    /// Whether the running task has lost its protection. In 6.12 it must also have had more than its share
    /// (`did_preempt_short()`).
    fn lost_protection(&self, es: &Entities, curr: TaskId) -> bool {
        if self.protect_slice(es, curr) {
            return false;
        }
        self.rules.protects_by_vruntime() || self.params.preempt_short && !self.entity_eligible(es, curr)
    }

    /// Handles the periodic tick (`task_tick_fair()`).
    pub fn task_tick(&mut self, es: &mut Entities, now: u64) -> Resched {
        self.update_curr(es, now)
    }

    /// The running task's hrtick, if the feature `HRTICK` is on (`hrtick_start_fair()`). The kernel starts it when the
    /// task is picked, and at an enqueue (`hrtick_update()`): 6.12 at each one and after a dequeue, 7.2 only if none is
    /// active.
    ///
    /// `irq_util` is the utilisation by interrupts, 0 to 1023 (`cpu_util_irq()`); 6.12 does not read it.
    pub fn hrtick(&self, es: &Entities, irq_util: u64) -> Hrtick {
        let Some(curr) = self.curr.filter(|_| self.params.hrtick && self.nr_queued > 1) else { return Hrtick::Off };
        self.hrtick_of(&es[curr], irq_util)
    }

    /// The hrtick of a running task that is not alone.
    #[inline]
    pub(super) fn hrtick_of(&self, e: &Entity, irq_util: u64) -> Hrtick {
        if !self.rules.hrtick_at_deadline {
            let ran = e.sum_exec_runtime - e.prev_sum_exec_runtime;
            return e.slice.checked_sub(ran).map_or(Hrtick::Over, Hrtick::start);
        }
        let vdelta = e.deadline.wrapping_sub(e.vruntime);
        if (vdelta as i64) < 0 {
            return Hrtick::Over;
        }
        let weight = if GROUPS { e.full_h_weight() } else { u64::from(e.h_load.weight) << 10 };
        let delta = weight.wrapping_mul(vdelta) / NICE_0_LOAD_FULL;
        let scale = if (1..1024).contains(&irq_util) { 1024 * 1024 / (1024 - irq_util) } else { 1024 };
        Hrtick::start(scale.wrapping_mul(delta) / 1024)
    }
}
