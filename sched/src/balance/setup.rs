//! A kernel and a machine to balance.

use super::rules::BalanceRules;
use crate::cpumask::Cpu;
use crate::domain::{Level, SchedDomain, SchedDomains, SdFlags};
use std::fmt;
use wakelab_kernel::FeatureSet;

/// What balancing reads of the kernel's tunables and its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceTunables {
    /// `sysctl_sched_migration_cost`, ns: for how long a task that ran counts as cache-hot. 0: not at all; `u32::MAX` (the
    /// kernel's -1): for ever.
    pub migration_cost: u32,
    /// `sysctl_sched_nr_migrate`: how many tasks of a run queue one pass looks at.
    pub nr_migrate: u32,
    /// `CONFIG_PREEMPTION`: a newly-idle pass ends with the first task. PREEMPT_DYNAMIC, x86's default since 5.18,
    /// selects it, whichever preemption model is then chosen at boot.
    pub preemption: bool,
    /// `CONFIG_HZ`.
    pub hz: u32,
}

/// A kernel, what is switched on, and the machine's domains.
#[derive(Clone, Copy, Debug)]
pub struct Balance<'a> {
    pub(super) rules: BalanceRules,
    pub(super) features: FeatureSet,
    pub(super) tunables: BalanceTunables,
    pub(super) domains: &'a SchedDomains,
}

impl<'a> Balance<'a> {
    /// Balancing by `rules` on a machine with `domains`. Of `features`, CACHE_HOT_BUDDY, LB_MIN,
    /// NI_RANDOM, NI_RATE and PLACE_LAG are read.
    ///
    /// # Errors
    /// Where the machine's CPUs are not equal: that is not modelled.
    pub fn new(
        rules: BalanceRules,
        features: FeatureSet,
        tunables: BalanceTunables,
        domains: &'a SchedDomains,
    ) -> Result<Self, BalanceError> {
        let unequal = SdFlags::ASYM_CPUCAPACITY | SdFlags::ASYM_PACKING;
        for (cpu, chain) in (0..).zip(&domains.domains) {
            if let Some(sd) = chain.iter().find(|sd| sd.flags.intersects(unequal)) {
                return Err(BalanceError::UnequalCpus { cpu, level: sd.level, flags: sd.flags & unequal });
            }
        }
        Ok(Balance { rules, features, tunables, domains })
    }

    /// A CPU's domain at `level` (0 is the lowest).
    ///
    /// # Panics
    /// If the CPU has no such domain.
    #[inline]
    pub fn sd(&self, cpu: Cpu, level: usize) -> &'a SchedDomain {
        &self.domains.domains[cpu as usize][level]
    }

    /// `for_each_domain()`: how many domains a CPU has.
    #[inline]
    pub fn nr_levels(&self, cpu: Cpu) -> usize {
        self.domains.domains[cpu as usize].len()
    }

    /// The kernel's forms.
    pub fn rules(&self) -> &BalanceRules {
        &self.rules
    }

    /// The tunables.
    pub fn tunables(&self) -> &BalanceTunables {
        &self.tunables
    }
}

/// The machine needs what the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceError {
    /// CPUs differ in capacity or in priority.
    UnequalCpus {
        /// A CPU of such a domain.
        cpu: Cpu,
        /// The domain's level.
        level: Level,
        /// The flags that say so.
        flags: SdFlags,
    },
}

impl fmt::Display for BalanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BalanceError::UnequalCpus { cpu, level, flags } = self;
        let flags: Vec<_> = flags.names().collect();
        write!(
            f,
            "CPU {cpu}: its {level:?} domain has {}, and load balancing between unequal CPUs is not modelled; give all \
             CPUs the same capacity, without ITMT",
            flags.join(" and ")
        )
    }
}

impl std::error::Error for BalanceError {}
