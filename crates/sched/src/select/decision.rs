//! The result of a decision: the CPU, why it was chosen, and what the kernel writes on the way.

use super::wake_affine::AffineDetail;
use crate::cpumask::Cpu;
use std::fmt;

/// Why a CPU was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The target (the waking or the previous CPU) was idle.
    Target,
    /// The previous CPU was idle and shares the target's cache.
    Prev,
    /// A per-CPU kernel thread woke a task that ran last on its own CPU: stack them.
    Kthread,
    /// The CPU used before the previous one was idle.
    Recent,
    /// An SMT sibling of the previous CPU was idle.
    Smt,
    /// A core was idle as a whole.
    Core,
    /// No core was idle as a whole; the scan found an idle CPU on the way.
    CoreCpu,
    /// The scan of the LLC found an idle CPU.
    Scan,
    /// SIS_SHORT, SIS_SHORT_V6: the target, whose only task is about to sleep.
    Short,
    /// SIS_ORACLE knew an idle CPU.
    Oracle,
    /// CPUs differ in capacity: the idle CPU that the task fits best.
    Capacity,
    /// The scan reached its limit: the target, though it is busy.
    Limit,
    /// The LLC is overloaded (`nr_idle_scan` is 0), so there was no scan: the target. SIS_PROP does not scan either if
    /// the waking CPU is alone in its LLC, because it then has no average cost of a search.
    Overloaded,
    /// No idle CPU was found: the target.
    None,
    /// Clusters: the previous CPU, which is idle but outside the target's cluster, because nothing nearer was found.
    PrevFar,
    /// Clusters: the recently used CPU, which is idle but outside the target's cluster, because nothing nearer was
    /// found.
    RecentFar,
    /// A fork or exec took the slow path, `find_idlest_cpu()`.
    Slow,
    /// The waker asked for its own CPU (WF_CURRENT_CPU), or SIS_CURRENT stacks the wakee on it.
    CurrentCpu,
    /// A fork or exec without a domain that balances it: the previous CPU.
    Stay,
    /// Energy-aware placement: the CPU on which the wakee costs least, or its previous one.
    Energy,
}

impl Reason {
    /// All reasons, in the order of the code.
    pub const ALL: [Reason; 20] = [
        Reason::CurrentCpu,
        Reason::Energy,
        Reason::Slow,
        Reason::Stay,
        Reason::Oracle,
        Reason::Target,
        Reason::Prev,
        Reason::Kthread,
        Reason::Recent,
        Reason::Capacity,
        Reason::Smt,
        Reason::Core,
        Reason::CoreCpu,
        Reason::Scan,
        Reason::Short,
        Reason::Overloaded,
        Reason::Limit,
        Reason::None,
        Reason::PrevFar,
        Reason::RecentFar,
    ];

    /// The name used in all output and by `--reason`.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Target => "target",
            Reason::Prev => "prev",
            Reason::Kthread => "kthread",
            Reason::Recent => "recent",
            Reason::Smt => "smt",
            Reason::Core => "core",
            Reason::CoreCpu => "core-cpu",
            Reason::Scan => "scan",
            Reason::Short => "short",
            Reason::Oracle => "oracle",
            Reason::Capacity => "capacity",
            Reason::Energy => "energy",
            Reason::Limit => "limit",
            Reason::Overloaded => "overloaded",
            Reason::None => "none",
            Reason::PrevFar => "prev-far",
            Reason::RecentFar => "recent-far",
            Reason::Slow => "slow",
            Reason::CurrentCpu => "current-cpu",
            Reason::Stay => "stay",
        }
    }

    /// The reason of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Whether the search found no idle CPU and fell through to the target.
    pub fn is_failed_search(self) -> bool {
        matches!(self, Reason::Limit | Reason::Overloaded | Reason::None)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The rule of `wake_affine()` that chose the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Affine {
    /// `wake_affine()` was not called: waker and wakee were on one CPU, the wake-up is wide, or affinity forbids it.
    NotAsked,
    /// The waking CPU is idle (an interrupt) and shares a cache with the previous one, which is busy.
    WakerIdle,
    /// The waking CPU and the previous one are idle and share a cache: the previous one.
    BothIdle,
    /// Sync, and the waker is alone on its CPU.
    Sync,
    /// The previous CPU is idle.
    PrevIdle,
    /// SIS_SHORT, SIS_SHORT_V6: the only task of the waking CPU is short.
    Short,
    /// The waking CPU's effective load is lower.
    Weight,
    /// No rule preferred the waking CPU.
    Prev,
}

/// SIS_PROP's averages after a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanCost {
    /// `rq->wake_stamp` of the waking CPU, jiffies.
    pub wake_stamp: u64,
    /// `rq->wake_avg_idle` of the waking CPU, ns.
    pub wake_avg_idle: u64,
    /// `sd_llc->avg_scan_cost` of the waking CPU, ns.
    pub avg_scan_cost: u64,
}

/// The writes of the kernel on the way. The decision itself writes nothing: the caller applies the effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The wakee's `recent_used_cpu` becomes this.
    pub recent_used_cpu: Option<Cpu>,
    /// The waker's `recent_used_cpu` becomes this (before 5.12 only).
    pub waker_recent_used_cpu: Option<Cpu>,
    /// `has_idle_cores` of the LLC of this CPU becomes false, because a scan found no idle core.
    pub clear_idle_cores: Option<Cpu>,
    /// SIS_PROP's averages become these.
    pub scan_cost: Option<ScanCost>,
    /// SIS_LIMIT: `next_cpu` of the first CPU becomes the second.
    pub next_cpu: Option<(Cpu, Cpu)>,
}

/// The decision's share of the search statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchCount {
    /// `sis_search`: 1 if select_idle_sibling() was called.
    pub search: u32,
    /// `sis_domain_search`: 1 if the search went past its fast paths.
    pub domain_search: u32,
    /// `sis_scanned`: 1 for the fast paths, however many CPUs they probe, and 1 for each probe of the domain search.
    pub scanned: u32,
    /// `sis_failed`: 1 if the search fell through to the target.
    pub failed: u32,
}

/// One placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The chosen CPU.
    pub cpu: Cpu,
    /// Why.
    pub reason: Reason,
    /// Where select_idle_sibling() started: `wake_affine()`'s choice; for the slow path the previous CPU.
    pub target: Cpu,
    /// The rule that chose the target.
    pub affine: AffineDetail,
    /// The writes of the kernel.
    pub effects: Effects,
    /// The decision's contribution to the search statistics.
    pub count: SearchCount,
}
