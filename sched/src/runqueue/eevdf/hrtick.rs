//! When the high-resolution tick is to come.

use super::EevdfRq;
use crate::runqueue::{Entities, Hrtick};

/// `NICE_0_LOAD` with its 10 more bits.
const NICE_0_LOAD_FULL: u64 = 1 << 20;

impl EevdfRq {
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
