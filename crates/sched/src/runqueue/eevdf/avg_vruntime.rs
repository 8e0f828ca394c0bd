//! `avg_vruntime()`: V, the queue's virtual time, and each task's lag (`kernel/sched/fair.c`).
//!
//! The service that a task is owed is w_i (V - v_i). It sums to zero over the queue, so
//!
//! ```text
//! V = sum(w_i v_i) / W,  W = sum(w_i)
//! ```
//!
//! The v_i are 64-bit values that wrap, and their products with w_i do not fit. With a zero point v0 that stays close
//! to V (`zero_vruntime`), the keys k_i = v_i - v0 (`entity_key()`) are small, and
//!
//! ```text
//! V = v0 + K/W,  K = sum(w_i k_i)
//! ```
//!
//! K (`sum_w_vruntime`) and W (`sum_weight`) are maintained over the waiting tasks. The running task, whose v changes
//! all the time, is added when they are used.
//!
//! A task is eligible if its lag V - v is not negative. That is decided without the division, and so without its
//! rounding:
//!
//! ```text
//! v <= v0 + K/W  <=>  K >= (v - v0) W
//! ```

use super::{EevdfRq, LagLimit};
use crate::runqueue::{Entities, TaskId};

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// V, rounded down, ns (`avg_vruntime()`, 6.12, without its effect on the zero point).
    #[inline]
    pub fn avg_vruntime(&self, es: &Entities) -> u64 {
        let key = if self.sum_weight != 0 {
            let (sum_w_vruntime, sum_weight) = self.sums_with_curr(es);
            sum_w_vruntime.div_euclid(sum_weight)
        } else {
            // A single task is the average.
            self.queued_curr(es).map_or(0, |curr| self.entity_key(es, curr))
        };
        self.zero_vruntime.wrapping_add(key as u64)
    }

    /// Moves the zero point to V and returns V, ns (`avg_vruntime()` with `update_zero_vruntime()`, 6.12).
    ///
    /// The moment matters: K/W is rounded, and placement, lag and the end of a request each start from V.
    pub(super) fn update_zero_vruntime(&mut self, es: &Entities) -> u64 {
        let avruntime = self.avg_vruntime(es);
        self.move_zero_vruntime(avruntime.wrapping_sub(self.zero_vruntime) as i64);
        avruntime
    }

    /// Moves the zero point by `delta` (`update_zero_vruntime()`): sum(w (v - (v0 + d))) = K - d W.
    pub(super) fn move_zero_vruntime(&mut self, delta: i64) {
        self.sum_w_vruntime = self.sum_w_vruntime.wrapping_sub(self.sum_weight.wrapping_mul(delta));
        self.zero_vruntime = self.zero_vruntime.wrapping_add(delta as u64);
    }

    /// A queued task's lag in virtual time, ns, if V is `avruntime` (`entity_lag()`).
    ///
    /// It is clamped to what a task may be owed or owe: EEVDF bounds lag by the longest request, and a request is
    /// overrun by up to a tick.
    pub(super) fn entity_lag(&self, es: &Entities, task: TaskId, avruntime: u64) -> i64 {
        let e = &es[task];
        let limit = match self.rules.lag_limit {
            LagLimit::OwnSlice => e.slice.wrapping_mul(2).max(self.params.tick_ns),
            LagLimit::LongestSlice => {
                self.min_max_slice(es).map_or(0, |(_, max_slice)| max_slice) + self.params.tick_ns
            }
        };
        let limit = Self::calc_delta_fair(e, limit) as i64;
        (avruntime.wrapping_sub(e.vruntime) as i64).clamp(-limit, limit)
    }

    /// Saves the lag of a task that leaves (`update_entity_lag()`). Returns whether the saved lag differs from V -
    /// vruntime. Since 7.2 it does for a delayed task, whose debt only shrinks, and at most to zero (`DELAY_ZERO`).
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

    /// Whether the queue owes this task time: v <= V (`entity_eligible()`, 6.12).
    #[inline]
    pub fn entity_eligible(&self, es: &Entities, task: TaskId) -> bool {
        self.vruntime_eligible(self.sums_with_curr(es), es[task].vruntime)
    }

    /// Whether a task with this vruntime would be eligible (`vruntime_eligible()`, 6.12): K >= (v - v0) W, since 7.2 in
    /// 128 bits. The sums are those of [`sums_with_curr`](Self::sums_with_curr).
    #[inline]
    pub(super) fn vruntime_eligible(&self, (sum_w_vruntime, sum_weight): (i64, i64), vruntime: u64) -> bool {
        let key = vruntime.wrapping_sub(self.zero_vruntime) as i64;
        if self.rules.full_weights {
            i128::from(sum_w_vruntime) >= i128::from(key) * i128::from(sum_weight)
        } else {
            sum_w_vruntime >= key.wrapping_mul(sum_weight)
        }
    }

    /// vruntime - zero_vruntime (`entity_key()`).
    #[inline]
    fn entity_key(&self, es: &Entities, task: TaskId) -> i64 {
        es[task].vruntime.wrapping_sub(self.zero_vruntime) as i64
    }

    /// A task's weight in the sums (`scale_load_down()`, 6.12; `avg_vruntime_weight()`, 7.2).
    #[inline]
    pub(super) fn avg_vruntime_weight(&self, es: &Entities, task: TaskId) -> i64 {
        if GROUPS && self.rules.full_weights {
            let weight = es[task].full_h_weight() as i64;
            return if self.weight_shift == 10 { weight } else { (weight >> (10 - self.weight_shift)).max(2) };
        }
        i64::from(es[task].h_load.weight) << self.weight_shift
    }

    /// Adds a task to the sums (`avg_vruntime_add()`, 6.12; `sum_w_vruntime_add()`, 7.2). It is not in the tree yet.
    pub(super) fn sum_w_vruntime_add(&mut self, es: &Entities, task: TaskId) {
        if self.params.paranoid_avg {
            self.sum_w_vruntime_add_paranoid(es, task);
        }
        let weight = self.avg_vruntime_weight(es, task);
        self.sum_w_vruntime = self.sum_w_vruntime.wrapping_add(self.entity_key(es, task).wrapping_mul(weight));
        self.sum_weight += weight;
    }

    /// Removes a task from the sums (`avg_vruntime_sub()`, 6.12; `sum_w_vruntime_sub()`, 7.2).
    pub(super) fn sum_w_vruntime_sub(&mut self, es: &Entities, task: TaskId) {
        let weight = self.avg_vruntime_weight(es, task);
        self.sum_w_vruntime = self.sum_w_vruntime.wrapping_sub(self.entity_key(es, task).wrapping_mul(weight));
        self.sum_weight -= weight;
    }

    /// K and W including the running task.
    #[inline]
    pub(super) fn sums_with_curr(&self, es: &Entities) -> (i64, i64) {
        match self.queued_curr(es) {
            None => (self.sum_w_vruntime, self.sum_weight),
            Some(curr) => {
                let weight = self.avg_vruntime_weight(es, curr);
                let key = self.entity_key(es, curr).wrapping_mul(weight);
                (self.sum_w_vruntime.wrapping_add(key), self.sum_weight + weight)
            }
        }
    }

    /// W including the running task.
    #[inline]
    pub(super) fn sum_weight_with_curr(&self, es: &Entities) -> i64 {
        self.sum_weight + self.queued_curr(es).map_or(0, |curr| self.avg_vruntime_weight(es, curr))
    }

    /// K and W of the waiting tasks, computed from the entities.
    pub(super) fn sum_waiting(&self, es: &Entities) -> (i64, i64) {
        self.tasks_timeline.iter(es).fold((0, 0), |(sum_w_vruntime, sum_weight): (i64, i64), task| {
            let weight = self.avg_vruntime_weight(es, task);
            (sum_w_vruntime.wrapping_add(self.entity_key(es, task).wrapping_mul(weight)), sum_weight + weight)
        })
    }

    /// Takes bits from all weights until K stays within 64 bits if `task` joins (`sum_w_vruntime_add_paranoid()`, 7.2).
    /// The bits are never given back.
    #[cold]
    fn sum_w_vruntime_add_paranoid(&mut self, es: &Entities, task: TaskId) {
        let fits = |rq: &Self| {
            let key = rq.entity_key(es, task).checked_mul(rq.avg_vruntime_weight(es, task));
            key.is_some_and(|key| rq.sum_w_vruntime.checked_add(key).is_some())
        };
        while !fits(self) {
            assert!(self.weight_shift > 0, "BUG_ON(cfs_rq->sum_shift >= 10)");
            self.weight_shift -= 1;
            (self.sum_w_vruntime, self.sum_weight) = self.sum_waiting(es);
        }
    }
}
