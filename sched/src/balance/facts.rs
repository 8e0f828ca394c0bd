//! What the formulas of a pass read besides sums.

use super::env::CpuIdleType;
use super::rules::BalanceRules;
use crate::domain::SdFlags;

/// The fields of `struct lb_env` and of its domain that comparing groups and working out the imbalance go by.
#[derive(Clone, Copy, Debug)]
pub struct LbFacts<'a> {
    /// The kernel's forms.
    pub rules: &'a BalanceRules,
    /// `sd->flags`.
    pub flags: SdFlags,
    /// `sd->imbalance_pct`, per cent.
    pub imbalance_pct: u32,
    /// `sd->imb_numa_nr`, tasks.
    pub imb_numa_nr: u32,
    /// What the pulling CPU does.
    pub idle: CpuIdleType,
    /// `capacity_of()` of the pulling CPU; read where CPUs differ in capacity, since 5.14.
    pub dst_capacity: u64,
    /// The other CPUs of its core are idle too (`env->dst_core_idle`, 7.2); read where CPUs differ in capacity.
    pub dst_core_idle: bool,
}

impl LbFacts<'_> {
    /// The pulling CPU idles, or is about to.
    #[inline]
    pub(super) fn idles(&self) -> bool {
        self.idle != CpuIdleType::NotIdle
    }

    /// The domain's CPUs differ in capacity.
    #[inline]
    pub(super) fn asym_capacity(&self) -> bool {
        self.flags.contains(SdFlags::ASYM_CPUCAPACITY)
    }
}
