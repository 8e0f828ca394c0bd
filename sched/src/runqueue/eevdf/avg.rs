//! V, the queue's virtual time.
//!
//! Lag, the service a task is owed, is w_i (V - v_i). It sums to zero over the queue, so
//!
//! ```text
//! V = sum(w_i v_i) / W,  W = sum(w_i)
//! ```
//!
//! v_i are 64-bit values that wrap, and their products with w_i do not fit. With a zero point v0 that keeps close
//! to V, the keys k_i = v_i - v0 are small, and
//!
//! ```text
//! V = v0 + K/W,  K = sum(w_i k_i)
//! ```
//!
//! K and W are kept over the waiting tasks; the running one, whose v changes all the time, is added when they are used.

use super::EevdfRq;
use crate::runqueue::weight::calc_delta_fair;
use crate::runqueue::{Entities, Entity, TaskId};

impl EevdfRq {
    /// vruntime - zero_vruntime (`entity_key()`, 6.12).
    #[inline]
    pub(super) fn entity_key(&self, es: &Entities, task: TaskId) -> i64 {
        es[task].vruntime.wrapping_sub(self.zero_vruntime) as i64
    }

    /// A task joins the sums (`avg_vruntime_add()`, 6.12).
    pub(super) fn avg_vruntime_add(&mut self, es: &Entities, task: TaskId) {
        let weight = i64::from(es[task].load.weight);
        self.key_sum = self.key_sum.wrapping_add(self.entity_key(es, task).wrapping_mul(weight));
        self.load_sum += weight;
    }

    /// A task leaves the sums (`avg_vruntime_sub()`, 6.12).
    pub(super) fn avg_vruntime_sub(&mut self, es: &Entities, task: TaskId) {
        let weight = i64::from(es[task].load.weight);
        self.key_sum = self.key_sum.wrapping_sub(self.entity_key(es, task).wrapping_mul(weight));
        self.load_sum -= weight;
    }

    /// K and W with the running task included.
    #[inline]
    pub(super) fn sums(&self, es: &Entities) -> (i64, i64) {
        match self.queued_curr(es) {
            None => (self.key_sum, self.load_sum),
            Some(curr) => {
                let weight = i64::from(es[curr].load.weight);
                let key_sum = self.key_sum.wrapping_add(self.entity_key(es, curr).wrapping_mul(weight));
                (key_sum, self.load_sum + weight)
            }
        }
    }

    /// V, rounded down, ns (`avg_vruntime()`, 6.12, without its effect on the zero point).
    pub fn avg_vruntime(&self, es: &Entities) -> u64 {
        self.zero_vruntime.wrapping_add(self.avg_key(es) as u64)
    }

    /// V - zero_vruntime.
    fn avg_key(&self, es: &Entities) -> i64 {
        if self.load_sum != 0 {
            let (key_sum, load_sum) = self.sums(es);
            key_sum.div_euclid(load_sum)
        } else {
            // Alone, a task is the average.
            self.queued_curr(es).map_or(0, |curr| self.entity_key(es, curr))
        }
    }

    /// Moves the zero point to V and returns V (`avg_vruntime()` with `update_zero_vruntime()`, 6.12).
    ///
    /// When is visible: K/W is rounded, and placement, lag and the end of a request each start from V.
    pub(super) fn update_zero_vruntime(&mut self, es: &Entities) -> u64 {
        let delta = self.avg_key(es);
        // sum(w (v - (v0 + d))) = K - d W
        self.key_sum = self.key_sum.wrapping_sub(self.load_sum.wrapping_mul(delta));
        self.zero_vruntime = self.zero_vruntime.wrapping_add(delta as u64);
        self.zero_vruntime
    }

    /// A task's lag, as virtual time, at V = `avruntime`, ns (`entity_lag()`, 6.12).
    ///
    /// The clamp is what a task may be owed or owe: EEVDF bounds lag by the longest request, and a request is overrun
    /// by up to a tick.
    pub(super) fn entity_lag(&self, e: &Entity, avruntime: u64) -> i64 {
        let limit = calc_delta_fair(e.slice.wrapping_mul(2).max(self.params.tick_ns), e.load) as i64;
        (avruntime.wrapping_sub(e.vruntime) as i64).clamp(-limit, limit)
    }

    /// Keeps the lag of a task that leaves (`update_entity_lag()`, 6.12).
    pub(super) fn update_entity_lag(&mut self, es: &mut Entities, task: TaskId) {
        let avruntime = self.update_zero_vruntime(es);
        es[task].vlag = self.entity_lag(&es[task], avruntime);
    }

    /// Whether the queue owes this task time, v <= V (`entity_eligible()`, 6.12).
    #[inline]
    pub fn entity_eligible(&self, es: &Entities, task: TaskId) -> bool {
        self.vruntime_eligible(self.sums(es), es[task].vruntime)
    }

    /// The same of any vruntime, given [`sums()`](Self::sums) (`vruntime_eligible()`, 6.12).
    ///
    /// v <= v0 + K/W  <=>  K >= (v - v0) W: without a division and so without its rounding.
    #[inline]
    pub(super) fn vruntime_eligible(&self, (key_sum, load_sum): (i64, i64), vruntime: u64) -> bool {
        key_sum >= (vruntime.wrapping_sub(self.zero_vruntime) as i64).wrapping_mul(load_sum)
    }
}
