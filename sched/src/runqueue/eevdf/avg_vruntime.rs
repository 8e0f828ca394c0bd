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

use super::{EevdfRq, LagLimit};
use crate::runqueue::load_weight::calc_delta_fair;
use crate::runqueue::{Entities, TaskId};

impl EevdfRq {
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
        self.move_zero_vruntime(self.avg_key(es));
        self.zero_vruntime
    }

    /// Moves the zero point by `delta` (`update_zero_vruntime()`): sum(w (v - (v0 + d))) = K - d W.
    pub(super) fn move_zero_vruntime(&mut self, delta: i64) {
        self.key_sum = self.key_sum.wrapping_sub(self.load_sum.wrapping_mul(delta));
        self.zero_vruntime = self.zero_vruntime.wrapping_add(delta as u64);
    }

    /// A queued task's lag, as virtual time, at V = `avruntime`, ns (`entity_lag()`).
    ///
    /// The clamp is what a task may be owed or owe: EEVDF bounds lag by the longest request, and a request is overrun
    /// by up to a tick.
    fn entity_lag(&self, es: &Entities, task: TaskId, avruntime: u64) -> i64 {
        let e = &es[task];
        let limit = match self.rules.lag_limit {
            LagLimit::OwnSlice => e.slice.wrapping_mul(2).max(self.params.tick_ns),
            LagLimit::LongestSlice => self.slices(es).map_or(0, |(_, max_slice)| max_slice) + self.params.tick_ns,
        };
        let limit = calc_delta_fair(limit, e.h_load) as i64;
        (avruntime.wrapping_sub(e.vruntime) as i64).clamp(-limit, limit)
    }

    /// Keeps the lag of a task that leaves (`update_entity_lag()`). Returns whether it is another than the task has where
    /// it is: so of a delayed task since 7.2, whose debt only shrinks, and to nothing at most (`DELAY_ZERO`).
    pub(super) fn update_entity_lag(&mut self, es: &mut Entities, task: TaskId) -> bool {
        let avruntime = self.update_zero_vruntime(es);
        let mut vlag = self.entity_lag(es, task, avruntime);
        let e = &mut es[task];
        if self.rules.delayed_lag_kept && e.sched_delayed {
            vlag = vlag.max(e.vlag);
            if self.params.delay_zero {
                vlag = vlag.min(0);
            }
        }
        e.vlag = vlag;
        avruntime.wrapping_sub(vlag as u64) != e.vruntime
    }

    /// Whether the queue owes this task time, v <= V (`entity_eligible()`, 6.12).
    #[inline]
    pub fn entity_eligible(&self, es: &Entities, task: TaskId) -> bool {
        self.vruntime_eligible(self.sums(es), es[task].vruntime)
    }

    /// The same of any vruntime, given [`sums()`](Self::sums) (`vruntime_eligible()`, 6.12).
    ///
    /// v <= v0 + K/W  <=>  K >= (v - v0) W: without a division and so without its rounding. Since 7.2 in 128 bits.
    #[inline]
    pub(super) fn vruntime_eligible(&self, (key_sum, load_sum): (i64, i64), vruntime: u64) -> bool {
        let key = vruntime.wrapping_sub(self.zero_vruntime) as i64;
        if self.rules.full_weights {
            i128::from(key_sum) >= i128::from(key) * i128::from(load_sum)
        } else {
            key_sum >= key.wrapping_mul(load_sum)
        }
    }

    /// vruntime - zero_vruntime (`entity_key()`).
    #[inline]
    pub(super) fn entity_key(&self, es: &Entities, task: TaskId) -> i64 {
        es[task].vruntime.wrapping_sub(self.zero_vruntime) as i64
    }

    /// A task's weight in the sums (`scale_load_down()`, 6.12; `avg_vruntime_weight()`, 7.2).
    #[inline]
    pub(super) fn weight(&self, es: &Entities, task: TaskId) -> i64 {
        i64::from(es[task].h_load.weight) << self.weight_shift
    }

    /// A task joins the sums (`avg_vruntime_add()`, 6.12; `sum_w_vruntime_add()`, 7.2). It is not in the tree yet.
    pub(super) fn avg_vruntime_add(&mut self, es: &Entities, task: TaskId) {
        if self.rules.paranoid_avg {
            self.make_room(es, task);
        }
        let weight = self.weight(es, task);
        self.key_sum = self.key_sum.wrapping_add(self.entity_key(es, task).wrapping_mul(weight));
        self.load_sum += weight;
    }

    /// A task leaves the sums (`avg_vruntime_sub()`, 6.12; `sum_w_vruntime_sub()`, 7.2).
    pub(super) fn avg_vruntime_sub(&mut self, es: &Entities, task: TaskId) {
        let weight = self.weight(es, task);
        self.key_sum = self.key_sum.wrapping_sub(self.entity_key(es, task).wrapping_mul(weight));
        self.load_sum -= weight;
    }

    /// K and W with the running task included.
    #[inline]
    pub(super) fn sums(&self, es: &Entities) -> (i64, i64) {
        match self.queued_curr(es) {
            None => (self.key_sum, self.load_sum),
            Some(curr) => {
                let weight = self.weight(es, curr);
                let key_sum = self.key_sum.wrapping_add(self.entity_key(es, curr).wrapping_mul(weight));
                (key_sum, self.load_sum + weight)
            }
        }
    }

    /// W with the running task included.
    #[inline]
    pub(super) fn load_sum_with_curr(&self, es: &Entities) -> i64 {
        self.load_sum + self.queued_curr(es).map_or(0, |curr| self.weight(es, curr))
    }

    /// Cuts the weights until K stays within 64 bits when a task joins.
    #[cold]
    fn make_room(&mut self, es: &Entities, task: TaskId) {
        while !self.fits(es, task) {
            self.cut_weights(es);
        }
    }

    /// Whether K stays within 64 bits when a task joins.
    fn fits(&self, es: &Entities, task: TaskId) -> bool {
        let product = self.entity_key(es, task).checked_mul(self.weight(es, task));
        product.is_some_and(|product| self.key_sum.checked_add(product).is_some())
    }

    /// Takes one bit from every weight and sums again (`sum_w_vruntime_add_paranoid()`, 7.2). It is never given back.
    fn cut_weights(&mut self, es: &Entities) {
        assert!(self.weight_shift > 0, "BUG_ON(cfs_rq->sum_shift >= 10)");
        self.weight_shift -= 1;
        (self.key_sum, self.load_sum) = (0, 0);
        for task in self.waiting.iter(es) {
            let weight = self.weight(es, task);
            self.key_sum = self.key_sum.wrapping_add(self.entity_key(es, task).wrapping_mul(weight));
            self.load_sum += weight;
        }
    }
}
