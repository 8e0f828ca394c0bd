//! Under which rules balancing is decided.

use crate::cpumask::Cpu;
use crate::domain::{Level, SchedDomain, SchedDomains, SdFlags};
use std::fmt;
use wakelab_kernel::FeatureSet;

/// The version-dependent parts of balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BalanceRules {
    /// A newly-idle CPU does not balance once it has a task or a wake-up is on its way (`should_we_balance()`,
    /// 792b9f65a568; in 6.1, not in 5.18).
    pub newidle_bails_out: bool,
    /// A CPU whose capacity other classes and interrupts have reduced makes its group one to pull from
    /// (`sched_reduced_capacity()`; in 6.1, not in 5.18).
    pub reduced_capacity: bool,
    /// Failed passes let tasks of more utilisation move, as they do with load (`detach_tasks()`, migrate_util; in 6.1 as
    /// maintained, not in the tip tree of June 2022).
    pub util_relaxed: bool,
    /// Nothing is pulled to a fully busy group above the domain's average load (`calculate_imbalance()`,
    /// 91dcf1e8068e; in 6.1 as maintained). Before, the difference wraps and drops out of the minimum.
    pub local_above_average: bool,
    /// The number of tasks is halved after a NUMA imbalance is allowed for, not before (cb29a5c19d2d; in the tip tree
    /// of June 2022, not in 5.18).
    pub halved_after_numa: bool,
    /// Pinned tasks are offered only to CPUs of the group's balance mask (`dst_grpmask`; in 6.1 as maintained, not in
    /// the tip tree of June 2022). It differs from the span where groups overlap.
    pub dst_balance_mask: bool,
}

impl BalanceRules {
    /// Linux 5.18 and 5.19-rc1. Read in torvalds/linux at 13ede3315087, the parent of the first change below.
    pub const V5_18: BalanceRules = BalanceRules {
        newidle_bails_out: false,
        reduced_capacity: false,
        util_relaxed: false,
        local_above_average: false,
        halved_after_numa: false,
        dst_balance_mask: false,
    };
    /// The tip tree of June 2022. Read in torvalds/linux at cb29a5c19d2d; 792b9f65a568 comes after it.
    pub const V5_19_RC2_TIP: BalanceRules = BalanceRules { halved_after_numa: true, ..Self::V5_18 };
    /// Linux 6.1 as maintained (6.1.176).
    pub const V6_1: BalanceRules = BalanceRules {
        newidle_bails_out: true,
        reduced_capacity: true,
        util_relaxed: true,
        local_above_average: true,
        dst_balance_mask: true,
        ..Self::V5_19_RC2_TIP
    };
}

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
    /// Balancing by `rules` on a machine with `domains`. Of `features`, CACHE_HOT_BUDDY and LB_MIN are read.
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
