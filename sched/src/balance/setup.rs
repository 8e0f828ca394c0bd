//! A kernel and a machine to balance.

use super::rules::BalanceRules;
use crate::boost::BoostSite;
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
    /// `sched_energy_enabled()`.
    pub(super) energy: bool,
    /// `uclamp_is_used()`.
    pub(super) uclamp_used: bool,
    /// `cpu_util_cfs_boost()` where utilisation is moved.
    pub(super) util_boost: bool,
}

impl<'a> Balance<'a> {
    /// Balancing by `rules` on a machine with `domains`. Of `features`, CACHE_HOT_BUDDY, LB_MIN,
    /// NI_RANDOM, NI_RATE, PLACE_LAG and what boosts utilisation ([`BoostSite::Lb`]) are read.
    ///
    /// # Errors
    /// Where CPUs differ in priority (ITMT), and up to 5.4 where they differ in capacity: that is not modelled.
    pub fn new(
        rules: BalanceRules,
        features: FeatureSet,
        tunables: BalanceTunables,
        domains: &'a SchedDomains,
    ) -> Result<Self, BalanceError> {
        let by_load = if rules.by_load { SdFlags::ASYM_CPUCAPACITY } else { SdFlags::empty() };
        let unequal = SdFlags::ASYM_PACKING | by_load;
        for (cpu, chain) in (0..).zip(&domains.domains) {
            if let Some(sd) = chain.iter().find(|sd| sd.flags.intersects(unequal)) {
                return Err(BalanceError::UnequalCpus { cpu, level: sd.level, flags: sd.flags & unequal });
            }
        }
        let util_boost = BoostSite::Lb.is_on(features);
        Ok(Balance { rules, features, tunables, domains, energy: false, uclamp_used: false, util_boost })
    }

    /// The same on a machine that is placed on by energy ([`build_perf_domains`](crate::energy::build_perf_domains)): while no
    /// CPU is overutilized, nothing is balanced but what the version lets pass.
    #[must_use]
    pub fn with_energy(self) -> Self {
        Balance { energy: true, ..self }
    }

    /// The same where somebody has set a utilisation clamp (`uclamp_is_used()`).
    #[must_use]
    pub fn with_uclamp(self) -> Self {
        Balance { uclamp_used: true, ..self }
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
    /// CPUs differ in priority, or in capacity where balancing goes by load alone.
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
            "CPU {cpu}: its {level:?} domain has {}, and load balancing between such CPUs is not modelled; give all \
             CPUs the same priority (no ITMT), and before 5.5 the same capacity",
            flags.join(" and ")
        )
    }
}

impl std::error::Error for BalanceError {}
