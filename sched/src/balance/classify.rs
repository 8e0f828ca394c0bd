//! The type of a group that is summed up (`group_classify()`).

use super::group_type::GroupType;
use super::stats::SgLbStats;

impl SgLbStats {
    /// `group_classify()`. `sg_imbalanced` is `sgc->imbalance`: it is asked only where it matters.
    #[inline]
    pub fn group_classify(&self, imbalance_pct: u32, sg_imbalanced: impl FnOnce() -> bool) -> GroupType {
        if self.is_overloaded(imbalance_pct) {
            GroupType::Overloaded
        } else if sg_imbalanced() {
            GroupType::Imbalanced
        } else if self.group_asym_packing {
            GroupType::AsymPacking
        } else if self.group_smt_balance {
            GroupType::SmtBalance
        } else if self.group_misfit_task_load != 0 {
            GroupType::MisfitTask
        } else if !self.has_capacity(imbalance_pct) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    /// `group_is_overloaded()`: more tasks than CPUs, and the CPUs' time used up or waited for.
    #[inline]
    fn is_overloaded(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        !self.spare_by_energy
            && self.sum_nr_running > self.group_weight
            && (self.group_capacity * 100 < self.group_util * pct
                || self.group_capacity * pct < self.group_runnable * 100)
    }

    /// `group_has_capacity()`.
    #[inline]
    fn has_capacity(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        self.sum_nr_running < self.group_weight
            || (self.group_capacity * pct >= self.group_runnable * 100
                && self.group_capacity * 100 > self.group_util * pct)
    }
}
