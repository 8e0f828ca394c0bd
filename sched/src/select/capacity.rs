//! CPUs of different capacity: whether the fast paths may take an idle CPU (`asym_fits_cpu()`), and the search for the
//! idle CPU that the task fits best (`select_idle_capacity()`), one look at a time.
//!
//! The search goes over the lowest domain that has all capacities, from the target on. It ends at the first idle CPU
//! that the task fits; without one it takes the best by how it fits, and among equals the largest. Kernels that know of
//! idle cores here (7.2) put a CPU of an idle core before all others while there is one, and limit the search by
//! SIS_UTIL otherwise.

use super::decision::Reason;
use super::fits::{CpuCapacity, Fit, wakee_fit};
use super::policy::{SearchPolicy, SisUtil};
use super::step::{Chosen, Cx, Select, Stage, choose_idle_cpu};
use super::{Event, Observer, Rules, Site, View};
use crate::cpumask::{Cpu, Wrap};
use crate::domain::{SchedDomain, SdFlags};
use wakelab_kernel::{CapacitySearch, Feature};

/// How good a CPU is: whether its core is to be avoided, then how the task fits. The smaller the better.
type Rank = (bool, Fit);

/// The search's state.
#[derive(Clone, Debug)]
pub(super) struct CapacityScan {
    walk: Wrap,
    /// The kernel's `nr`, counted down before each look unless an idle core is searched for.
    nr: i32,
    has_idle_core: bool,
    best: Option<Cpu>,
    rank: Rank,
    /// The capacity of the best, as far as it counts.
    capacity: u64,
}

impl Default for CapacityScan {
    fn default() -> Self {
        CapacityScan {
            walk: Wrap::new(0),
            nr: i32::MAX,
            has_idle_core: false,
            best: None,
            rank: (false, Fit::Misses),
            capacity: 0,
        }
    }
}

/// `asym_fits_cpu()`: whether a fast path may take this CPU, as far as its capacity goes.
#[inline]
pub(super) fn asym_fits_cpu<const ASYM: bool, V: View, O: Observer>(
    site: Site,
    cpu: Cpu,
    cx: Cx<'_, V>,
    observer: &mut O,
) -> bool {
    !ASYM || fits_fully(site, cpu, cx, observer)
}

fn fits_fully<V: View, O: Observer>(site: Site, cpu: Cpu, cx: Cx<'_, V>, observer: &mut O) -> bool {
    let code = cx.rules.code;
    if code.capacity_search == CapacitySearch::WakeCap {
        return true;
    }
    let fit = wakee_fit(code, &cx.wakeup.wakee, &CpuCapacity::of(cpu, cx.view));
    let core_busy = asks_for_cores(cx.rules) && !is_core_idle(cpu, cx);
    observer.event(Event::Fit { site, cpu, fit, core_busy });
    fit == Fit::Fits && !core_busy
}

/// Whether this kernel knows of idle cores here, on a machine that has cores.
fn asks_for_cores(rules: &Rules<'_>) -> bool {
    rules.code.capacity_search == CapacitySearch::GradedCores && rules.domains.smt_active
}

/// `is_core_idle()`: whether the siblings are idle, whatever the CPU itself does.
fn is_core_idle<V: View>(cpu: Cpu, cx: Cx<'_, V>) -> bool {
    cx.rules.domains.smt_mask[cpu as usize].iter().all(|sibling| sibling == cpu || cx.view.idle_cpu(sibling))
}

/// `sd_asym_cpucapacity` of the target; `None` where it has none: a partition of equal CPUs.
fn asym_domain<'a>(rules: &Rules<'a>, target: Cpu) -> Option<&'a SchedDomain> {
    let level = rules.domains.sd_asym_cpucapacity(target)?;
    Some(&rules.domains.domains[target as usize][level as usize])
}

impl Select {
    /// The fast paths' looks on a machine of different capacities.
    #[cold]
    #[inline(never)]
    pub(super) fn look_asym<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match self.stage {
            Stage::Prev => self.look_at_prev::<true, V, O>(cx, observer),
            Stage::Recent(cpu) => self.look_at_recent::<true, V, O>(cpu, cx, observer),
            _ => self.look_at_target::<true, V, O>(cx, observer),
        }
    }

    /// Whether the search by capacity takes the place of all searches in the LLC.
    pub(super) fn searches_by_capacity(&self, rules: &Rules<'_>) -> bool {
        rules.code.capacity_search != CapacitySearch::WakeCap && asym_domain(rules, self.target).is_some()
    }

    /// Enters select_idle_capacity().
    pub(super) fn begin_capacity<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        self.count.domain_search = 1;
        let sd = asym_domain(cx.rules, self.target)?;
        let with_cores = cx.rules.code.capacity_search == CapacitySearch::GradedCores;
        let has_idle_core =
            asks_for_cores(cx.rules) && cx.rules.features.has(Feature::SIS_CORE) && cx.view.has_idle_cores(self.target);
        observer.event(Event::CapacitySearch { cores: has_idle_core });
        let mut nr = i32::MAX;
        // Overlapping domains have no shared object of their own.
        if with_cores && SisUtil::is_on(cx.rules) && !sd.flags.contains(SdFlags::NUMA) {
            nr = cx.view.asym_nr_idle_scan(self.target).wrapping_add(1);
            observer.event(Event::Limit { by: Feature::SIS_UTIL, nr });
            if nr == 1 {
                return self.no_capacity(Reason::Overloaded);
            }
        }
        self.capacity = CapacityScan {
            walk: Wrap::new(self.target),
            nr,
            has_idle_core,
            best: None,
            // With cores even an idle CPU without any capacity left beats nothing, if its core is idle.
            rank: (with_cores, Fit::Misses),
            capacity: 0,
        };
        self.next_by_capacity(cx)
    }

    /// Goes on to the next CPU, or to the end.
    fn next_by_capacity<V: View>(&mut self, cx: Cx<'_, V>) -> Option<Chosen> {
        let sd = asym_domain(cx.rules, self.target)?;
        let scan = &mut self.capacity;
        let Some(cpu) = scan.walk.next_and(&sd.span, cx.wakeup.wakee.cpus_ptr) else {
            if scan.has_idle_core && scan.rank.0 {
                self.effects.clear_idle_cores = Some(self.target);
            }
            return self.best_by_capacity(Reason::None);
        };
        if cx.rules.code.capacity_search == CapacitySearch::GradedCores && !scan.has_idle_core {
            scan.nr = scan.nr.wrapping_sub(1);
            if scan.nr <= 0 {
                return self.best_by_capacity(Reason::Limit);
            }
        }
        self.count.scanned += 1;
        self.stage = Stage::Capacity(cpu);
        None
    }

    /// Looks at one CPU of the search.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at_capacity<V: View, O: Observer>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if !choose_idle_cpu(Site::Capacity, cpu, cx, observer) {
            return self.next_by_capacity(cx);
        }
        let code = cx.rules.code;
        let of_cpu = CpuCapacity::of(cpu, cx.view);
        let fit = wakee_fit(code, &cx.wakeup.wakee, &of_cpu);
        let core_busy = self.capacity.has_idle_core && !is_core_idle(cpu, cx);
        observer.event(Event::Fit { site: Site::Capacity, cpu, fit, core_busy });
        if fit == Fit::Fits && !core_busy {
            return self.done(cpu, Reason::Capacity);
        }
        let capacity = if fit == Fit::MissesMinimum { of_cpu.without_minimum(code) } else { of_cpu.capacity };
        let (rank, scan) = ((core_busy, fit), &mut self.capacity);
        if rank < scan.rank || (rank == scan.rank && capacity > scan.capacity) {
            (scan.best, scan.rank, scan.capacity) = (Some(cpu), rank, capacity);
        }
        self.next_by_capacity(cx)
    }

    /// The best CPU met; the target if there is none, with the reason for that.
    fn best_by_capacity(&mut self, without: Reason) -> Option<Chosen> {
        match self.capacity.best {
            Some(cpu) => self.done(cpu, Reason::Capacity),
            None => self.no_capacity(without),
        }
    }

    fn no_capacity(&mut self, reason: Reason) -> Option<Chosen> {
        self.count.failed = 1;
        self.done(self.target, reason)
    }
}
