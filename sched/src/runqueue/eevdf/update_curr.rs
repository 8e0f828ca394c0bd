//! Run time into virtual time.

use super::EevdfRq;
use crate::runqueue::load_weight::calc_delta_fair;
use crate::runqueue::{Entities, Hrtick, Resched, TaskId, before};

impl EevdfRq {
    /// Charges the running task up to `now` (`update_curr()`). It is to be rescheduled if its request is served, or if it
    /// has lost its protection (up to 6.12: and is not eligible any more), and it is not alone.
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        let Some(curr) = self.curr else { return Resched::No };
        let e = &mut es[curr];
        let Some(delta_exec) = e.account_exec(now) else { return Resched::No };
        e.vruntime = e.vruntime.wrapping_add(calc_delta_fair(delta_exec, e.h_load));
        let served = self.update_deadline(es, curr);
        if self.nr_queued == 1 || !(served || self.lost_protection(es, curr)) {
            return Resched::No;
        }
        self.clear_buddies(curr);
        self.resched_curr()
    }

    /// If the task's request is served, makes the next one and returns true (`update_deadline()`, 6.12).
    pub(super) fn update_deadline(&mut self, es: &mut Entities, task: TaskId) -> bool {
        let e = &mut es[task];
        if before(e.vruntime, e.deadline) {
            return false;
        }
        if !e.custom_slice {
            e.slice = self.params.base_slice_ns;
        }
        e.deadline = e.vruntime.wrapping_add(calc_delta_fair(e.slice, e.h_load));
        self.update_zero_vruntime(es);
        true
    }

    /// Whether the running task has lost its protection. 6.12 asks also that it has had more than its share
    /// (`did_preempt_short()`).
    fn lost_protection(&self, es: &Entities, curr: TaskId) -> bool {
        if self.protect_slice(es, curr) {
            return false;
        }
        self.rules.protects_by_vruntime() || self.params.preempt_short && !self.entity_eligible(es, curr)
    }

    /// The hrtick that the running task is to have, with the feature on (`hrtick_start_fair()`). The kernel starts it when
    /// the task is picked, and after an enqueue: 6.12 each time, and after a dequeue, 7.2 if none is active
    /// (`hrtick_update()`).
    ///
    /// `irq_util` is the utilisation by interrupts, 0 to 1023 (`cpu_util_irq()`); 6.12 does not ask for it.
    pub fn hrtick(&self, es: &Entities, irq_util: u64) -> Hrtick {
        let Some(curr) = self.curr.filter(|_| self.rules.hrtick && self.nr_queued > 1) else { return Hrtick::Off };
        let e = &es[curr];
        if !self.rules.hrtick_at_deadline {
            let ran = e.sum_exec_runtime - e.prev_sum_exec_runtime;
            return e.slice.checked_sub(ran).map_or(Hrtick::Over, Hrtick::start);
        }
        let vdelta = e.deadline.wrapping_sub(e.vruntime);
        if (vdelta as i64) < 0 {
            return Hrtick::Over;
        }
        let delta = (u64::from(e.h_load.weight) << 10).wrapping_mul(vdelta) / NICE_0_LOAD_FULL;
        let scale = if (1..1024).contains(&irq_util) { 1024 * 1024 / (1024 - irq_util) } else { 1024 };
        Hrtick::start(scale.wrapping_mul(delta) / 1024)
    }
}

/// `NICE_0_LOAD` with its 10 more bits.
const NICE_0_LOAD_FULL: u64 = 1 << 20;
