//! `select_idle_capacity()`: the search for the idle CPU that the task fits best, one probe at a time, if CPUs differ
//! in capacity; and `asym_fits_cpu()`, whether a fast path may take an idle CPU.
//!
//! ```text
//! select_idle_capacity(p, sd, target):                        6.1; sd is sd_asym_cpucapacity
//!     for_each_cpu_wrap(cpu, sched_domain_span(sd) & p->cpus_ptr, target):
//!         if !available_idle_cpu(cpu) && !sched_idle_cpu(cpu): continue
//!         fits = util_fits_cpu(task_util, util_min, util_max, cpu)
//!         if fits > 0: return cpu
//!         if fits < 0: cpu_cap = the CPU's capacity without what the minimum is compared with
//!         if fits < best_fits, or equal and cpu_cap > best_cap: best = cpu
//!     return best
//! ```
//!
//! The search ends at the first idle CPU that the task fits; without one it takes the best by how the task fits, and
//! among equals the largest. 7.2 also searches for idle cores here: it puts a CPU of an idle core before all others
//! while there is one, and limits the search by SIS_UTIL otherwise.

use super::decision::Reason;
use super::policy::{SearchPolicy, SisUtil};
use super::select_idle_sibling::choose_idle_cpu;
use super::select_task_rq_fair::{Chosen, Cx, Select, Stage};
use super::util_fits_cpu::{CpuCapacity, Fit, wakee_fit};
use super::{Event, Observer, Rules, SearchView, Site};
use crate::cpumask::{Cpu, Wrap};
use crate::domain::{SchedDomain, SdFlags};
use wakelab_kernel::{CapacitySearch, Feature};

/// How good a CPU is: whether its core is busy although an idle core is searched for, then how the task fits. The
/// smaller the better.
type Rank = (bool, Fit);

/// The state of the search.
#[derive(Clone, Debug)]
pub(super) struct CapacityScan {
    position: Wrap,
    /// The kernel's `nr`, counted down before each probe unless an idle core is searched for.
    nr: i32,
    has_idle_core: bool,
    best: Option<Cpu>,
    rank: Rank,
    /// The capacity of the best CPU, in the form in which it is compared.
    capacity: u64,
}

impl Default for CapacityScan {
    fn default() -> Self {
        CapacityScan {
            position: Wrap::new(0),
            nr: i32::MAX,
            has_idle_core: false,
            best: None,
            rank: (false, Fit::Misses),
            capacity: 0,
        }
    }
}

/// `asym_fits_cpu()`: whether the capacity of this CPU lets a fast path take it.
#[inline]
pub(super) fn asym_fits_cpu<const ASYM: bool, V: SearchView, O: Observer>(
    site: Site,
    cpu: Cpu,
    cx: Cx<'_, V>,
    observer: &mut O,
) -> bool {
    !ASYM || fits_fully(site, cpu, cx, observer)
}

fn fits_fully<V: SearchView, O: Observer>(site: Site, cpu: Cpu, cx: Cx<'_, V>, observer: &mut O) -> bool {
    let code = cx.rules.code;
    if code.capacity_search == CapacitySearch::WakeCap {
        return true;
    }
    let fit = wakee_fit(code, &cx.wakeup.wakee, &CpuCapacity::of(cpu, cx.view));
    let core_busy = searches_cores(cx.rules) && !is_core_idle(cpu, cx);
    observer.event(Event::Fit { site, cpu, fit, core_busy });
    fit == Fit::Fits && !core_busy
}

/// Whether this kernel searches for idle cores here, and the machine has SMT.
fn searches_cores(rules: &Rules<'_>) -> bool {
    by_cores(rules) && rules.domains.smt_active
}

/// Whether this kernel's search goes by cores and SIS_UTIL's limit: since 7.2, unless ASYM_SMT is off.
fn by_cores(rules: &Rules<'_>) -> bool {
    rules.code.capacity_search == CapacitySearch::GradedCores && rules.features.has(Feature::ASYM_SMT)
}

/// `is_core_idle()`: whether the siblings of the CPU are idle; the CPU itself is not read.
fn is_core_idle<V: SearchView>(cpu: Cpu, cx: Cx<'_, V>) -> bool {
    cx.rules.domains.smt_mask[cpu as usize].iter().all(|sibling| sibling == cpu || cx.view.idle_cpu(sibling))
}

/// `sd_asym_cpucapacity` of the target; `None` in a partition of equal CPUs.
fn asym_domain<'a>(rules: &Rules<'a>, target: Cpu) -> Option<&'a SchedDomain> {
    let level = rules.domains.sd_asym_cpucapacity(target)?;
    Some(&rules.domains.domains[target as usize][level as usize])
}

impl Select {
    /// The probes of the fast paths on a machine whose CPUs differ in capacity.
    #[cold]
    #[inline(never)]
    pub(super) fn probe_asym<V: SearchView, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match self.stage {
            Stage::Prev => self.probe_prev::<true, V, O>(cx, observer),
            Stage::Recent(cpu) => self.probe_recent::<true, V, O>(cpu, cx, observer),
            _ => self.probe_target::<true, V, O>(cx, observer),
        }
    }

    /// Whether select_idle_capacity() replaces the searches in the LLC.
    pub(super) fn searches_by_capacity(&self, rules: &Rules<'_>) -> bool {
        rules.code.capacity_search != CapacitySearch::WakeCap && asym_domain(rules, self.target).is_some()
    }

    /// Enters select_idle_capacity().
    pub(super) fn begin_capacity<V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        self.count.domain_search = 1;
        let sd = asym_domain(cx.rules, self.target)?;
        let with_cores = by_cores(cx.rules);
        let has_idle_core =
            searches_cores(cx.rules) && cx.rules.features.has(Feature::SIS_CORE) && cx.view.has_idle_cores(self.target);
        observer.event(Event::SelectIdleCapacity { cores: has_idle_core });
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
            position: Wrap::new(self.target),
            nr,
            has_idle_core,
            best: None,
            // With cores even an idle CPU without any capacity left beats nothing, if its core is idle.
            rank: (with_cores, Fit::Misses),
            capacity: 0,
        };
        self.next_by_capacity(cx)
    }

    /// Advances to the next CPU, or to the end.
    fn next_by_capacity<V: SearchView>(&mut self, cx: Cx<'_, V>) -> Option<Chosen> {
        let sd = asym_domain(cx.rules, self.target)?;
        let scan = &mut self.capacity;
        let Some(cpu) = scan.position.next_and(&sd.span, cx.wakeup.wakee.cpus_ptr) else {
            if scan.has_idle_core && scan.rank.0 {
                self.effects.clear_idle_cores = Some(self.target);
            }
            return self.best_by_capacity(Reason::None);
        };
        if by_cores(cx.rules) && !scan.has_idle_core {
            scan.nr = scan.nr.wrapping_sub(1);
            if scan.nr <= 0 {
                return self.best_by_capacity(Reason::Limit);
            }
        }
        self.count.scanned += 1;
        self.stage = Stage::Capacity(cpu);
        None
    }

    /// Probes one CPU of the search.
    #[cold]
    #[inline(never)]
    pub(super) fn probe_capacity<V: SearchView, O: Observer>(
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

    /// The best CPU found; the target if there is none, with the reason for that.
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
