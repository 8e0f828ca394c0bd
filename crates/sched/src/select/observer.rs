//! The steps of a decision, in order, for whoever observes it.

use super::util_fits_cpu::Fit;
use super::wake_affine::AffineDetail;
use super::{GroupLoads, GroupStats};
use crate::cpumask::Cpu;
use wakelab_kernel::Feature;

/// Where in the search a probe happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// The target, first of the fast paths.
    Target,
    /// The previous CPU.
    Prev,
    /// The recently used CPU.
    Recent,
    /// A sibling of the previous CPU: `select_idle_smt()`.
    Smt,
    /// A CPU of a core: `select_idle_core()`.
    Core,
    /// A CPU of the LLC: `select_idle_cpu()`.
    Scan,
    /// A CPU of the domain with all capacities: `select_idle_capacity()`.
    Capacity,
    /// A CPU of the slow path's group.
    Group,
}

/// One probe: a read of a run queue to see whether its CPU is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Where in the search.
    pub site: Site,
    /// The CPU.
    pub cpu: Cpu,
    /// The result of `available_idle_cpu()`.
    pub idle: bool,
    /// The result of `sched_idle_cpu()`; `None` if it was not called.
    pub sched_idle: Option<bool>,
}

/// The energy that a performance domain would spend, in the kernel's unit
/// ([`EmPerfDomain::em_cpu_energy`](crate::energy::EmPerfDomain::em_cpu_energy)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnergyProbe {
    /// The domain's lowest CPU.
    pub domain: Cpu,
    /// Without the wakee.
    pub base: u64,
    /// With the wakee on its previous CPU, if that is one of the domain's and the wakee fits it.
    pub prev: Option<u64>,
    /// With the wakee on the CPU that has most spare capacity, if that was computed.
    pub other: Option<(Cpu, u64)>,
}

/// One step of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// `wake_wide()` compared the flips of waker and wakee with the LLC's size.
    WakeWide {
        /// `current->wakee_flips`.
        waker_flips: u32,
        /// `p->wakee_flips`.
        wakee_flips: u32,
        /// `sd_llc_size` of the waking CPU.
        llc_size: u32,
        /// What it returned.
        wide: bool,
    },
    /// `find_energy_efficient_cpu()` came to a performance domain with a CPU for the wakee.
    Energy(EnergyProbe),
    /// `wake_affine()` chose the target.
    Affine {
        /// Which rule, with what it compared.
        detail: AffineDetail,
        /// Its choice.
        target: Cpu,
    },
    /// A run queue was probed.
    Probe(Probe),
    /// An idle CPU was not taken because the wakee may not use it.
    NotAllowed(Site, Cpu),
    /// An idle CPU lies outside the target's cluster and is kept for the end.
    Far(Site, Cpu),
    /// CPUs differ in capacity: `util_fits_cpu()` was called for the wakee and an idle CPU.
    Fit {
        /// Where in the search.
        site: Site,
        /// The CPU.
        cpu: Cpu,
        /// How the wakee fits.
        fit: Fit,
        /// A CPU of an idle core was wanted, and a sibling is busy.
        core_busy: bool,
    },
    /// `select_idle_capacity()` is next.
    SelectIdleCapacity {
        /// Whether it searches for an idle core.
        cores: bool,
    },
    /// The per-CPU kthread rule was evaluated.
    Kthread {
        /// Whether it took the previous CPU.
        taken: bool,
    },
    /// A search policy set the limit of the scan to at most `nr - 1` probes.
    Limit {
        /// The policy.
        by: Feature,
        /// The kernel's `nr`.
        nr: i32,
    },
    /// A search policy took a CPU of its own.
    Taken {
        /// The policy.
        by: Feature,
        /// The CPU.
        cpu: Cpu,
    },
    /// `select_idle_smt()` probes the siblings of this CPU next.
    SelectIdleSmt {
        /// The CPU.
        of: Cpu,
    },
    /// `select_idle_cpu()` scans the LLC next.
    SelectIdleCpu {
        /// Whether it searches for an idle core.
        cores: bool,
    },
    /// SIS_ORACLE knew this idle CPU.
    Oracle(Option<Cpu>),
    /// `has_idle_cores` was read.
    IdleCores(bool),
    /// The slow path goes on at this domain of this CPU.
    Domain {
        /// The domain's level, 0 the lowest.
        level: usize,
        /// The CPU whose domain it is.
        cpu: Cpu,
    },
    /// The slow path has the statistics of a group.
    Group {
        /// The group's lowest CPU.
        first: Cpu,
        /// Whether the waking CPU is in it.
        local: bool,
        /// Its statistics.
        stats: GroupStats,
    },
    /// The slow path has the loads of a group (up to 5.4).
    GroupLoads {
        /// The group's lowest CPU.
        first: Cpu,
        /// Whether the waking CPU is in it.
        local: bool,
        /// Its loads.
        loads: GroupLoads,
    },
    /// The slow path chose a group; `None` if the task stays in the local one.
    GroupChosen(Option<Cpu>),
    /// The slow path chose a CPU of the group.
    CpuChosen(Cpu),
}

/// Receives the steps of a decision. `()` ignores them and costs nothing.
pub trait Observer {
    /// Whether the observer needs every probe; if not, a decision may read whole words of masks instead.
    const PROBES: bool;

    /// Whether scans go on past the limits that search policies set, and past the CPUs that policies take: for
    /// measuring how far a scan would have to go. A policy that ends the search also keeps the policies after it from
    /// setting the plan ([`Plan::start`](super::policy::Plan::start) for one), in such a scan as in any. SIS_LIMIT's
    /// start is lost only if the waking CPU has no LLC, which ends SIS_PROP. That of a program's own policy, which
    /// comes last, is lost whenever another policy ended the search. A mask is no limit: CPUs that it leaves out are
    /// left out of such a scan, too.
    const UNLIMITED: bool = false;

    /// Receives one step.
    fn event(&mut self, event: Event);
}

impl Observer for () {
    const PROBES: bool = false;

    #[inline(always)]
    fn event(&mut self, _: Event) {}
}
