//! The sums that V is computed from.

use super::EevdfRq;
use crate::runqueue::{Entities, TaskId};

impl EevdfRq {
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
