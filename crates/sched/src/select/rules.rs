//! Under which rules a decision is made.

use super::policy::SisParamRules;
use super::{ClusterScan, RqView, select_idle_node};
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
use crate::energy::PerfDomains;
use std::fmt;
use wakelab_kernel::{CapacitySearch, Code, Feature, FeatureSet, IdleSearch, Preset};

/// A kernel version, what is switched on, and the machine's domains.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The form of each mechanism in the kernel.
    pub code: &'a Code,
    /// The features that are on.
    pub features: FeatureSet,
    /// The machine's domains.
    pub domains: &'a SchedDomains,
    /// `sysctl_sched_min_granularity`, since 6.6 `sysctl_sched_base_slice`, as scaled for this machine, ns; 0 where
    /// that is not known. Read with SIS_SHORT and SIS_SHORT_V6 on.
    pub min_granularity: u64,
    /// `sysctl_sched_migration_cost`, ns; 0 where that is not known. Read with SIS_CURRENT and SIS_CACHE on.
    pub migration_cost: u64,
    /// The parameters of SIS_PARAM; those of SIS_UTIL if it is off.
    pub sis_param: SisParamRules,
    /// The shape of the search: the version's, or one scan with SIS_SINGLE_PASS.
    pub idle_search: IdleSearch,
    /// SIS_SINGLE_PASS: one scan where the version makes three, and no look at siblings.
    pub single_pass: bool,
    /// How the target's cluster is scanned before the LLC; `None` if it is not, or if there are no clusters.
    pub cluster_scan: Option<ClusterScan>,
    /// `rd->pd`; `None` where placement does not go by energy (`sched_energy_enabled()`).
    pub energy: Option<&'a PerfDomains>,
}

impl<'a> Rules<'a> {
    /// The rules of `kernel` with `features` on, on a machine with `domains`.
    ///
    /// # Errors
    /// Where the kernel's placement is not modelled.
    pub fn new(kernel: &'a Preset, features: FeatureSet, domains: &'a SchedDomains) -> Result<Self, RulesError> {
        if kernel.code.capacity_search == CapacitySearch::WakeCap && domains.asym_cpucap_active {
            return Err(RulesError::WakeCap { kernel: kernel.name });
        }
        let tunables = kernel.tunables.scaled(domains.nr_cpus as usize);
        let min_granularity = tunables.min_granularity.or(tunables.base_slice).unwrap_or(0);
        let migration_cost = tunables.migration_cost.unwrap_or(500_000);
        let sis_param = SisParamRules::new(features, &kernel.tunables);
        Ok(Rules { min_granularity, migration_cost, sis_param, ..Rules::of(&kernel.code, features, domains) })
    }

    /// The rules of this code, whose tunables are not known.
    pub fn of(code: &'a Code, features: FeatureSet, domains: &'a SchedDomains) -> Self {
        let cluster_scan = ClusterScan::of(code, features).filter(|_| domains.cluster_active);
        let single_pass = code.idle_search == IdleSearch::ThreeScans && features.has(Feature::SIS_SINGLE_PASS);
        Rules {
            code,
            features,
            domains,
            min_granularity: 0,
            migration_cost: 0,
            sis_param: SisParamRules::SIS_UTIL,
            idle_search: if single_pass { IdleSearch::OneScan } else { code.idle_search },
            single_pass,
            cluster_scan,
            energy: None,
        }
    }

    /// The same where wake-ups go by energy: [`build_perf_domains`](crate::energy::build_perf_domains) says whether
    /// they do.
    #[must_use]
    pub fn with_energy(self, energy: &'a PerfDomains) -> Self {
        Rules { energy: Some(energy), ..self }
    }

    /// Whether a search goes on with the other LLCs of the node: SIS_NODE, in one of its forms.
    #[inline]
    pub fn searches_node(&self) -> bool {
        self.features.intersects(select_idle_node::FORMS)
    }

    /// Whether an LLC that was searched in vain is remembered: SIS_EFF_BUSY and SIS_EFF_FILTER.
    #[inline]
    pub(super) fn keeps_busy(&self) -> bool {
        const BUSY: FeatureSet =
            FeatureSet::EMPTY.with(Feature::SIS_EFF_BUSY, true).with(Feature::SIS_EFF_FILTER, true);
        self.features.intersects(BUSY)
    }

    /// Whether a scan reads more, after it has begun, than whether CPUs are idle.
    #[inline]
    pub(super) fn late_reads(&self) -> bool {
        const LATE: FeatureSet = select_idle_node::FORMS.with(Feature::SIS_CACHE, true);
        self.features.intersects(LATE)
    }

    /// A CPU's load where placement compares loads.
    #[inline]
    pub(super) fn load_of(&self, cpu: Cpu, view: &impl RqView) -> u64 {
        if self.code.runnable_load { view.cpu_runnable_load(cpu) } else { view.cpu_load(cpu) }
    }
}

/// The kernel needs what the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesError {
    /// A kernel before 5.7 on CPUs of different capacities, where `wake_cap()` sends wake-ups to the slow path.
    WakeCap {
        /// The preset.
        kernel: &'static str,
    },
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::WakeCap { kernel } => write!(
                f,
                "the CPUs differ in capacity, and {kernel} sends tasks that may not fit their CPU to the slow path \
                 (wake_cap(), before 5.7), which is not modelled; expected v5.10 or later"
            ),
        }
    }
}

impl std::error::Error for RulesError {}
