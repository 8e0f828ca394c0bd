//! Cache-aware balancing (`CONFIG_SCHED_CACHE`, merged in 7.2): tasks of one process are drawn to one LLC.

use super::BalanceRules;
use super::describe::{forms, rules};
use crate::{Feature, FeatureSet};

rules! {
    /// The version-dependent parts of cache-aware balancing. The sources are 7.2.12 and 7.3.4, and the posting "[PATCH
    /// 00/19] Cache Aware Scheduling", Tim Chen, October 2025, called the first posting below.
    pub struct SchedCacheRules {
        /// A group whose tasks prefer the destination's LLC has a type of its own, between imbalanced and overloaded
        /// (`group_llc_balance`, as merged). In the first posting it is a flag, and the group comes before any other.
        pub group_type: bool,
        /// When a process has too many running threads for one LLC (`invalid_llc_nr()`).
        pub llc_threads: LlcThreads,
        /// The source of the size of a process's memory (`exceed_llc_capacity()`).
        pub footprint: Footprint,
        /// The utilisation from which an LLC is too busy to take more (`fits_llc_capacity()`).
        pub llc_busy: LlcBusy,
        /// The test whether both LLCs are too busy counts the task's utilisation as moved (`can_migrate_llc()`, as
        /// merged). The first posting tests it before.
        pub moved_first: bool,
        /// After `cache_nice_tries + 1` failed passes preferences are ignored (`migrate_degrades_llc()` and
        /// `llc_balance()`, as merged).
        pub failures_override: bool,
        /// A pass whose tasks all stay for their LLC is not counted as failed (`LBF_LLC_PINNED`, as merged).
        pub not_a_failure: bool,
        /// Tasks that prefer the destination's LLC are taken first, then those without a preference
        /// (`order_tasks_by_llc()` of the first posting). As merged, the order is that of the list.
        pub tasks_ordered: bool,
        /// The stopper of a pass for a preference pushes only a task that prefers the destination
        /// (`active_load_balance_llc_cpu_stop()`, as merged).
        pub push_checked: bool,
    }
}

forms! {
    /// When a process has too many running threads for one LLC.
    pub enum LlcThreads {
        /// When they would take more than four fifths of its CPUs (`fits_capacity()`), each a core's worth (7.2).
        Fits = "four fifths of the CPUs",
        /// When they are more than its CPUs, each a core's worth (the postings).
        All = "all CPUs",
    }
}

forms! {
    /// The source of the size of a process's memory.
    pub enum Footprint {
        /// The faults that NUMA balancing counts, so that without NUMA balancing no process is too large (7.2).
        NumaFaults = "NUMA faults",
        /// The resident set (the postings).
        Rss = "resident set",
    }
}

forms! {
    /// The utilisation from which an LLC is too busy.
    pub enum LlcBusy {
        /// `llc_overaggr_pct`; half as much again without SMT (7.2).
        MoreWithoutSmt = "more without SMT",
        /// `llc_overaggr_pct` over the number of threads of a core (the first posting, its last patch).
        BySmt = "over the threads of a core",
        /// `llc_overaggr_pct` (the RFC, version 4).
        Plain = "the same for all",
    }
}

impl SchedCacheRules {
    /// Linux 7.2 (7.2.12) and 7.3 (7.3.4), which differ with ITMT only.
    pub const V7_2: Self = SchedCacheRules {
        group_type: true,
        llc_threads: LlcThreads::Fits,
        footprint: Footprint::NumaFaults,
        llc_busy: LlcBusy::MoreWithoutSmt,
        moved_first: true,
        failures_override: true,
        not_a_failure: true,
        tasks_ordered: false,
        push_checked: true,
    };

    /// The first posting, October 2025.
    pub const POSTED_V1: Self = SchedCacheRules {
        group_type: false,
        llc_threads: LlcThreads::All,
        footprint: Footprint::Rss,
        llc_busy: LlcBusy::BySmt,
        moved_first: false,
        failures_override: false,
        not_a_failure: false,
        tasks_ordered: true,
        push_checked: false,
    };

    /// The RFC's version 4, August 2025, with SCHED_CACHE_WAKE off.
    pub const RFC_V4: Self = SchedCacheRules { llc_busy: LlcBusy::Plain, ..Self::POSTED_V1 };

    /// The form that `features` ask for in a version with these rules of balancing; `None` if it is off. A version
    /// without one gets that of 7.2.
    pub fn of(rules: &BalanceRules, features: FeatureSet) -> Option<Self> {
        let posted = [(Feature::SCHED_CACHE_LB, Self::RFC_V4), (Feature::SCHED_CACHE_V1, Self::POSTED_V1)];
        let posted = posted.into_iter().find(|(feature, _)| features.has(*feature)).map(|(_, form)| form);
        posted.or_else(|| features.has(Feature::SCHED_CACHE).then(|| rules.sched_cache.unwrap_or(Self::V7_2)))
    }
}
