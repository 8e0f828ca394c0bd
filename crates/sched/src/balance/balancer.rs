//! `Balance`: one kernel's load balancer on one machine. It holds the version's rules, the features, the tunables and
//! the domains, all of which stay the same from pass to pass.

use super::BalanceRules;
use super::sched_cache::SchedCache;
use crate::boost::BoostSite;
use crate::cpumask::Cpu;
use crate::domain::{Level, SchedDomain, SchedDomains, SdFlags};
use std::fmt;
use wakelab_kernel::{Feature, FeatureSet};

/// The tunables and configuration options that balancing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceTunables {
    /// `sysctl_sched_migration_cost`, ns: how long a task counts as cache-hot after it ran. 0 means never, `u32::MAX`
    /// (the kernel's -1) for ever.
    pub migration_cost: u32,
    /// `sysctl_sched_nr_migrate`: the number of tasks of a run queue that one pass considers.
    pub nr_migrate: u32,
    /// `CONFIG_PREEMPTION`: a newly idle pass ends with the first task. PREEMPT_DYNAMIC, x86's default since 5.18,
    /// selects it whichever preemption model is chosen at boot.
    pub preemption: bool,
    /// `CONFIG_HZ`: jiffies per second.
    pub hz: u32,
}

/// A kernel's load balancer on a machine: its rules, features and tunables, and the machine's domains.
#[derive(Clone, Copy, Debug)]
pub struct Balance<'a> {
    pub(super) rules: BalanceRules,
    pub(super) features: FeatureSet,
    pub(super) tunables: BalanceTunables,
    pub(super) domains: &'a SchedDomains,
    /// `sched_energy_enabled()`.
    pub(super) energy: bool,
    /// Cache-aware balancing, if it is on.
    pub(super) sched_cache: Option<SchedCache>,
    /// Whether `cpu_util_cfs_boost()` is read if utilisation is moved.
    pub(super) util_boost: bool,
}

impl<'a> Balance<'a> {
    /// Creates the balancer that follows `rules` on a machine with `domains`. Of `features` it reads ASYM_SMT,
    /// CACHE_HOT_BUDDY, LB_MIN, NI_COST_BUMP, NI_MIGRATION_COST_GATE, NI_RANDOM, NI_RATE, PLACE_LAG and those that
    /// boost utilisation ([`BoostSite::Lb`]).
    ///
    /// # Errors
    /// If CPUs differ in priority (ITMT), or up to 5.4 in capacity: that is not modelled.
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
        let misfit_to_idle_core = rules.misfit_to_idle_core && features.has(Feature::ASYM_SMT);
        let rules = BalanceRules { misfit_to_idle_core, ..rules };
        Ok(Balance { rules, features, tunables, domains, energy: false, sched_cache: None, util_boost })
    }

    /// Returns the balancer of a machine with energy-aware placement
    /// ([`build_perf_domains`](crate::energy::build_perf_domains)). While no CPU is overutilized, it balances nothing
    /// except misfit tasks, in the versions that allow those.
    #[must_use]
    pub fn with_energy(self) -> Self {
        Balance { energy: true, ..self }
    }

    /// Returns the balancer with cache-aware balancing, on a machine that has LLCs to choose from
    /// ([`SchedCache::is_present`]).
    #[must_use]
    pub fn with_sched_cache(self, cache: SchedCache) -> Self {
        Balance { sched_cache: Some(cache), ..self }
    }

    /// Returns cache-aware balancing, if it is on.
    #[inline]
    pub fn sched_cache(&self) -> Option<&SchedCache> {
        self.sched_cache.as_ref()
    }

    /// Returns a CPU's domain at `level` (0 is the lowest).
    ///
    /// # Panics
    /// If the CPU has no such domain.
    #[inline]
    pub fn sd(&self, cpu: Cpu, level: usize) -> &'a SchedDomain {
        &self.domains.domains[cpu as usize][level]
    }

    /// Returns the number of a CPU's domains (`for_each_domain()`).
    #[inline]
    pub fn nr_levels(&self, cpu: Cpu) -> usize {
        self.domains.domains[cpu as usize].len()
    }

    /// Returns the version's rules.
    pub fn rules(&self) -> &BalanceRules {
        &self.rules
    }
}

/// Why load balancing on a machine is not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceError {
    /// CPUs differ in priority, or in capacity under rules that balance by load alone.
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
             CPUs the same priority (no ITMT), and before 5.5 also the same capacity",
            flags.join(" and ")
        )
    }
}

impl std::error::Error for BalanceError {}
