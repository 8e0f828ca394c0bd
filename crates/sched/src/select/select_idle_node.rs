//! SIS_NODE, `select_idle_node()`: the node's other LLCs, where the search of the target's LLC has found nothing.
//!
//! ```text
//! select_idle_node(p, sd_llc(target), target):                c5214e13ad60; at the end of select_idle_sibling()
//!     parent = sd->parent                                     SchedDomains::node_of_llcs
//!     if !parent || parent has SD_NUMA: return -1
//!     for each group sg of parent, from the target's own on:  Select::search_next_llc
//!         cpu = first CPU of sg
//!         if cpus_share_cache(cpu, target): continue
//!         i = select_idle_cpu(p, sd_llc(cpu), test_idle_cores(cpu), cpu)
//!         if found: return i
//!         SIS_NODE_LIMIT: if !--nr: return -1                 nr = 4 at first
//!     return -1
//! ```
//!
//! Each LLC has its own `has_idle_cores` and `nr_idle_scan`, and they are read when its scan begins. The scan begins
//! behind the group's first CPU, so that this one is probed last.
//!
//! SIS_NODE_TOPOEXT has a level of two neighbouring LLCs ([`Level::Mmc`](crate::domain::Level::Mmc)) as `parent`.
//! SIS_NODE_PAIR does not take a task that only wakes its waker, and that only its waker wakes, to another LLC.
//!
//! "sched/fair: Multi-LLC select_idle_sibling()", Peter Zijlstra, June 2023, in the form of c5214e13ad60. It was never
//! merged. The form of 5 July 2023 asks for a domain flag that MC of x86 always has, and decides the same. That of May
//! (c7dfd6b9122d) searched the target's LLC twice.

use super::policy::{About, Recorded, Switch};
use super::select_task_rq_fair::{Chosen, Cx, Select};
use super::{Event, Observer, Rules, SearchView};
use crate::cpumask::Cpu;
use crate::domain::{SchedDomain, SchedDomains, SdFlags};
use wakelab_kernel::{Feature, FeatureSet};

/// The inputs that a search of other LLCs reads and no recording holds.
const OTHER_LLCS: &str = "has_idle_cores and nr_idle_scan of the node's other LLCs";

/// SIS_NODE and its forms.
pub(super) const ABOUT: About = About {
    switches: &[
        Switch {
            feature: Feature::SIS_NODE,
            does: "if the search has found no idle CPU: goes on with select_idle_cpu() in each other LLC of the node \
                   (of the domain above the LLC's, unless that is NUMA), each with its own hints",
            recorded: Recorded::Not(OTHER_LLCS),
        },
        Switch {
            feature: Feature::SIS_NODE_LIMIT,
            does: "SIS_NODE with four other LLCs at most",
            recorded: Recorded::Not(OTHER_LLCS),
        },
        Switch {
            feature: Feature::SIS_NODE_TOPOEXT,
            does: "SIS_NODE with a domain of two neighbouring LLCs (MMC) above the LLC's: there is one other LLC, and \
                one more level of balancing",
            recorded: Recorded::Not(OTHER_LLCS),
        },
        Switch {
            feature: Feature::SIS_NODE_PAIR,
            does: "SIS_NODE, but a wakee and its waker that only wake each other (no wakee_flips) stay in their LLC",
            recorded: Recorded::Not(OTHER_LLCS),
        },
    ],
    tunables: &[],
};

/// How many other LLCs SIS_NODE_LIMIT searches.
const NR_LLCS: u32 = 4;

/// The forms of SIS_NODE.
pub(super) const FORMS: FeatureSet = FeatureSet::EMPTY
    .with(Feature::SIS_NODE, true)
    .with(Feature::SIS_NODE_LIMIT, true)
    .with(Feature::SIS_NODE_TOPOEXT, true)
    .with(Feature::SIS_NODE_PAIR, true);

/// How far a search of other LLCs has come.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeSearch {
    /// The target's LLC has been searched.
    pub(super) under_way: bool,
    /// The next group, counted from the target's own.
    next: usize,
    /// How many LLCs may still be searched.
    left: u32,
    /// A CPU of each LLC whose `has_idle_cores` becomes false.
    pub(super) cleared: Vec<Cpu>,
}

impl NodeSearch {
    /// Before a search.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.under_way = false;
        self.cleared.clear();
    }
}

impl SchedDomains {
    /// The domain whose groups are the LLCs of the node of `cpu`: the one above `sd_llc`. `None` if there is none, or
    /// if it spans nodes.
    pub fn node_of_llcs(&self, cpu: Cpu) -> Option<&SchedDomain> {
        let above = self.sd_llc[cpu as usize]? as usize + 1;
        self.domains[cpu as usize].get(above).filter(|parent| !parent.flags.contains(SdFlags::NUMA))
    }
}

impl Select {
    /// Begins with the first LLC after the target's; `None` if no other LLC is searched for this wake-up.
    #[cold]
    pub(super) fn select_idle_node<V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if cx.rules.features.has(Feature::SIS_NODE_PAIR) && is_pair(cx) {
            return self.give_up();
        }
        self.node.under_way = true;
        self.node.next = 0;
        self.node.left = if cx.rules.features.has(Feature::SIS_NODE_LIMIT) { NR_LLCS } else { u32::MAX };
        self.search_next_llc(cx, observer)
    }

    /// Goes on with the next LLC, or gives up.
    pub(super) fn search_next_llc<V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        let domains = cx.rules.domains;
        let Some(parent) = domains.node_of_llcs(self.target) else { return self.give_up() };
        while self.node.left != 0 {
            let Some(group) = parent.groups().nth(self.node.next) else { break };
            self.node.next += 1;
            let Some(cpu) = group.span.first() else { continue };
            if domains.cpus_share_cache(cpu, self.target) || domains.sd_llc(cpu).is_none() {
                continue;
            }
            self.node.left -= 1;
            self.scan_target = cpu;
            let has_idle_core = test_idle_cores(cx.rules, cpu, cx.view, observer);
            return self.begin_scan(has_idle_core, cx, observer);
        }
        self.give_up()
    }

    /// The LLCs besides the target's whose `has_idle_cores` becomes false because of this search, each by one of its
    /// CPUs. The target's is in the decision's [`Effects`](super::Effects).
    pub fn cleared_idle_cores(&self) -> &[Cpu] {
        &self.node.cleared
    }
}

/// `test_idle_cores()`, if there is SMT.
#[inline]
pub(super) fn test_idle_cores<V: SearchView, O: Observer>(
    rules: &Rules<'_>,
    cpu: Cpu,
    view: &V,
    observer: &mut O,
) -> bool {
    if !rules.domains.smt_active || !rules.features.has(Feature::SIS_CORE) {
        return false;
    }
    let has_idle_core = view.has_idle_cores(cpu);
    observer.event(Event::IdleCores(has_idle_core));
    has_idle_core
}

/// Whether waker and wakee only wake each other. `current->last_wakee` is the wakee since `record_wakee()`.
fn is_pair<V>(cx: Cx<'_, V>) -> bool {
    let (waker, wakee) = (&cx.wakeup.waker, &cx.wakeup.wakee);
    wakee.wakes_waker && waker.wakee_flips == 0 && wakee.wakee_flips == 0
}
