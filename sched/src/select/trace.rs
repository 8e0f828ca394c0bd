//! What a decision looked at, in order, for whoever wants to know.

use super::fits::Fit;
use super::slow::{GroupLoads, GroupStats};
use super::wake_affine::AffineDetail;
use crate::cpumask::Cpu;
use wakelab_kernel::Feature;

/// Where in the search a look happens.
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

/// One look at a run queue for idleness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Where in the search.
    pub site: Site,
    /// At which CPU.
    pub cpu: Cpu,
    /// What `available_idle_cpu()` said.
    pub idle: bool,
    /// What `sched_idle_cpu()` said, where it was asked.
    pub sched_idle: Option<bool>,
}

/// What a performance domain would spend, in the kernel's unit
/// ([`EmPerfDomain::em_cpu_energy`](crate::energy::EmPerfDomain::em_cpu_energy)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnergyLook {
    /// The domain's lowest CPU.
    pub domain: Cpu,
    /// Without the wakee.
    pub base: u64,
    /// With it on its previous CPU, if that is one of the domain's and it fits.
    pub prev: Option<u64>,
    /// With it on the CPU that has most room, if that was worked out.
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
        /// The answer.
        wide: bool,
    },
    /// `find_energy_efficient_cpu()` came to a performance domain with a CPU for the wakee.
    Energy(EnergyLook),
    /// `wake_affine()` was asked and chose.
    Affine {
        /// Which rule, with what it compared.
        detail: AffineDetail,
        /// Its choice.
        target: Cpu,
    },
    /// A run queue was looked at.
    Look(Look),
    /// An idle CPU was not taken because the wakee may not use it.
    NotAllowed(Site, Cpu),
    /// An idle CPU lies outside the target's cluster and is kept for the end.
    Far(Site, Cpu),
    /// CPUs differ in capacity: whether the wakee fits an idle CPU was asked.
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
    /// The search by capacity is next: `select_idle_capacity()`.
    CapacitySearch {
        /// Whether it looks for an idle core.
        cores: bool,
    },
    /// The per-CPU kthread rule was asked.
    Kthread {
        /// Whether it took the previous CPU.
        taken: bool,
    },
    /// A search policy set the limit: how many CPUs may be looked at, at most `nr - 1`.
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
    /// The siblings of this CPU are looked at next: `select_idle_smt()`.
    Siblings {
        /// The CPU.
        of: Cpu,
    },
    /// The walk over the LLC is next: `select_idle_cpu()`.
    Walk {
        /// Whether it looks for an idle core.
        cores: bool,
    },
    /// SIS_ORACLE was asked, and knew this idle CPU.
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
    /// The slow path summed up a group.
    Group {
        /// The group's lowest CPU.
        first: Cpu,
        /// Whether the waking CPU is in it.
        local: bool,
        /// Its statistics.
        stats: GroupStats,
    },
    /// The slow path summed up a group, up to 5.4.
    GroupLoads {
        /// The group's lowest CPU.
        first: Cpu,
        /// Whether the waking CPU is in it.
        local: bool,
        /// Its loads.
        loads: GroupLoads,
    },
    /// The slow path chose a group; `None` to stay.
    GroupChosen(Option<Cpu>),
    /// The slow path chose a CPU of the group.
    CpuChosen(Cpu),
}

/// Who listens. `()` listens to nothing and costs nothing.
pub trait Observer {
    /// Whether single looks are wanted; without them a decision may use whole words of masks.
    const LOOKS: bool;

    /// Whether walks go on past the limits that search policies set, and past the CPUs that these take: for whoever asks how
    /// far a walk would have to go. A policy that ends the search ends the asking, too: those after it are not asked, and what they
    /// would have set of the plan ([`Plan::start`](super::policy::Plan::start) for one) is not in such a walk. SIS_LIMIT's
    /// start is lost only where the waking CPU has no LLC, which ends SIS_PROP;
    /// that of a program's own policy, which is asked last, wherever one did.
    const UNLIMITED: bool = false;

    /// A step was made.
    fn event(&mut self, event: Event);
}

impl Observer for () {
    const LOOKS: bool = false;

    #[inline(always)]
    fn event(&mut self, _: Event) {}
}
