//! `select_idle_sibling()`: its fast paths, and what follows when they find nothing.
//!
//! ```text
//! select_idle_sibling(p, prev, target):
//!     target is idle:                                    return target          Select::probe_target
//!     prev shares its cache and is idle:                 return prev            Select::probe_prev
//!     a per-CPU kthread wakes a task of its own CPU:     return prev            Select::after_prev
//!     recent_used_cpu shares the cache and is idle:      return it              Select::probe_recent
//!     CPUs differ in capacity:                           return select_idle_capacity()
//!     has_idle_core = test_idle_cores(target)                                   Select::search_domain
//!     no idle core, and prev shares the cache:           select_idle_smt(prev)
//!     select_idle_cpu(has_idle_core)
//!     SIS_NODE: select_idle_node()                                              Select::fall_through
//!     nothing found:                                     return target
//! ```
//!
//! Each fast path also requires that the wakee fits the CPU if CPUs differ in capacity (`asym_fits_cpu()`). The
//! functions are compiled for both cases (`ASYM`, `sched_asym_cpucap_active()`), so that machines whose CPUs are alike
//! pay one branch for the others.

use super::decision::{Decision, Effects, Reason, SearchCount};
use super::select_idle_capacity::asym_fits_cpu;
use super::select_idle_node::test_idle_cores;
use super::select_task_rq_fair::{Chosen, Cx, Select, Stage};
use super::wake_affine::AffineDetail;
use super::{Event, Far, Observer, Probe, Rules, SearchView, Site, Wakeup};
use crate::cpumask::Cpu;
use wakelab_kernel::{Feature, IdleSearch};

/// `select_idle_sibling()`: the search around `target`, without what comes before it.
#[inline]
pub fn select_idle_sibling<V: SearchView, O: Observer>(
    select: &mut Select,
    cx: Cx<'_, V>,
    target: Cpu,
    observer: &mut O,
) -> Decision {
    select.begin_at(target);
    select.finish_search(None, cx, observer)
}

/// Probes one run queue as the kernel does if it wants an idle CPU: one that is idle, or runs SCHED_IDLE tasks only
/// (`choose_idle_cpu()` of 7.0; before, `available_idle_cpu() || sched_idle_cpu()`).
#[inline]
pub(super) fn choose_idle_cpu<V: SearchView, O: Observer>(
    site: Site,
    cpu: Cpu,
    cx: Cx<'_, V>,
    observer: &mut O,
) -> bool {
    let idle = cx.view.available_idle_cpu(cpu);
    let asks = !idle && cx.rules.code.sched_idle_cpus;
    let sched_idle = asks && cx.view.sched_idle_cpu(cpu);
    observer.event(Event::Probe(Probe { site, cpu, idle, sched_idle: asks.then_some(sched_idle) }));
    idle || (sched_idle && takes_sched_idle(cx.rules, cx.wakeup))
}

/// Whether a CPU that runs SCHED_IDLE tasks only is free for this wakee.
#[inline]
pub(super) fn takes_sched_idle(rules: &Rules<'_>, wakeup: &Wakeup<'_>) -> bool {
    !(rules.code.sched_idle_not_for_idle
        && rules.features.has(Feature::SCHED_IDLE_NOT_FOR_IDLE)
        && wakeup.wakee.idle_policy)
}

/// Whether an idle CPU outside of the target's cluster is kept for the end.
#[inline]
fn keeps_far(rules: &Rules<'_>) -> bool {
    rules.cluster_scan.is_some_and(|scan| scan.far != Far::Forgotten)
}

/// Whether such a CPU is taken in the end. v9 of SIS_CLUSTER looks again whether it is idle.
fn takes_far<V: SearchView>(cpu: Cpu, cx: Cx<'_, V>) -> bool {
    cx.rules.cluster_scan.is_none_or(|scan| scan.far != Far::TakenIfIdle)
        || cx.view.available_idle_cpu(cpu)
        || (cx.rules.code.sched_idle_cpus && cx.view.sched_idle_cpu(cpu) && takes_sched_idle(cx.rules, cx.wakeup))
}

impl Select {
    /// Forgets the last decision and enters select_idle_sibling() at this target.
    pub(super) fn begin_at(&mut self, target: Cpu) {
        self.target = target;
        self.affine = AffineDetail::NOT_ASKED;
        self.prev_far = None;
        self.recent_far = None;
        self.effects = Effects::default();
        self.begin_search();
    }

    /// Enters select_idle_sibling(). The fast paths count as one scan, however many CPUs they probe.
    #[inline]
    pub(super) fn begin_search(&mut self) {
        self.stage = Stage::Target;
        self.scan_target = self.target;
        self.node.reset();
        self.count = SearchCount { search: 1, domain_search: 0, scanned: 1, failed: 0 };
    }

    #[inline]
    pub(super) fn probe_target<const ASYM: bool, V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if choose_idle_cpu(Site::Target, self.target, cx, observer)
            && asym_fits_cpu::<ASYM, V, O>(Site::Target, self.target, cx, observer)
        {
            return self.done(self.target, Reason::Target);
        }
        let prev = cx.wakeup.wakee.prev_cpu;
        if prev != self.target && cx.rules.domains.cpus_share_cache(prev, self.target) {
            self.stage = Stage::Prev;
            return None;
        }
        self.after_prev::<ASYM, V, O>(cx, observer)
    }

    #[inline]
    pub(super) fn probe_prev<const ASYM: bool, V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        let prev = cx.wakeup.wakee.prev_cpu;
        if choose_idle_cpu(Site::Prev, prev, cx, observer)
            && asym_fits_cpu::<ASYM, V, O>(Site::Prev, prev, cx, observer)
        {
            if self.near(cx.rules, prev) {
                return self.done(prev, Reason::Prev);
            }
            if keeps_far(cx.rules) {
                observer.event(Event::Far(Site::Prev, prev));
                self.prev_far = Some(prev);
            }
        }
        self.after_prev::<ASYM, V, O>(cx, observer)
    }

    /// The per-CPU kthread rule, which reads the waking CPU only, and the recently used CPU.
    #[inline]
    fn after_prev<const ASYM: bool, V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        let (waker, wakee) = (&cx.wakeup.waker, &cx.wakeup.wakee);
        if waker.per_cpu_kthread && cx.rules.code.kthread_stack {
            // The wakee queued work for the kthread of its own CPU and is notified that it is done: in effect a sync
            // wake-up. If the kthread was interrupted, the wake-up is that of another task.
            let taken = waker.in_task
                && wakee.prev_cpu == waker.cpu
                && cx.view.nr_running(waker.cpu) <= 1
                && asym_fits_cpu::<ASYM, V, O>(Site::Prev, wakee.prev_cpu, cx, observer);
            observer.event(Event::Kthread { taken });
            if taken {
                return self.done(wakee.prev_cpu, Reason::Kthread);
            }
        }
        if cx.rules.code.recent_used_always {
            self.effects.recent_used_cpu = Some(wakee.prev_cpu);
        }
        match wakee.recent_used_cpu {
            Some(recent)
                if recent != wakee.prev_cpu
                    && recent != self.target
                    && cx.rules.domains.cpus_share_cache(recent, self.target) =>
            {
                self.stage = Stage::Recent(recent);
                None
            }
            _ => self.search_domain::<ASYM, V, O>(cx, observer),
        }
    }

    #[inline]
    pub(super) fn probe_recent<const ASYM: bool, V: SearchView, O: Observer>(
        &mut self,
        recent: Cpu,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if choose_idle_cpu(Site::Recent, recent, cx, observer) {
            // For a while the field had been overwritten before its affinity was tested.
            let tested = if cx.rules.code.recent_used_prev_affinity { cx.wakeup.wakee.prev_cpu } else { recent };
            if !cx.wakeup.wakee.cpus_ptr.test(tested) {
                observer.event(Event::NotAllowed(Site::Recent, recent));
            } else if asym_fits_cpu::<ASYM, V, O>(Site::Recent, recent, cx, observer) {
                if self.near(cx.rules, recent) {
                    self.effects.recent_used_cpu = Some(cx.wakeup.wakee.prev_cpu);
                    return self.done(recent, Reason::Recent);
                }
                if keeps_far(cx.rules) {
                    observer.event(Event::Far(Site::Recent, recent));
                    self.recent_far = Some(recent);
                }
            }
        }
        self.search_domain::<ASYM, V, O>(cx, observer)
    }

    /// Whether an idle CPU ends the search: without clusters always, with clusters if it is in the target's.
    #[inline]
    fn near(&self, rules: &Rules<'_>, cpu: Cpu) -> bool {
        rules.cluster_scan.is_none() || rules.domains.cpus_share_resources(cpu, self.target)
    }

    /// Past the fast paths.
    #[inline]
    fn search_domain<const ASYM: bool, V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if ASYM && self.searches_by_capacity(cx.rules) {
            return self.begin_capacity(cx, observer);
        }
        if cx.rules.domains.sd_llc(self.target).is_none() {
            return self.done(self.target, Reason::None);
        }
        self.count.domain_search = 1;
        let has_idle_core = test_idle_cores(cx.rules, self.target, cx.view, observer);
        let prev = cx.wakeup.wakee.prev_cpu;
        if cx.rules.idle_search == IdleSearch::OneScan
            && !cx.rules.single_pass
            && cx.rules.domains.smt_active
            && !has_idle_core
            && cx.rules.domains.cpus_share_cache(prev, self.target)
        {
            return self.next_sibling(prev, 0, cx, observer);
        }
        self.begin_scan(has_idle_core, cx, observer)
    }

    /// The scan found nothing.
    #[inline]
    pub(super) fn after_scan<V: SearchView, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match cx.rules.idle_search {
            IdleSearch::ThreeScans if cx.rules.domains.smt_active => self.next_sibling(self.target, 0, cx, observer),
            _ => self.fall_through(cx, observer),
        }
    }

    /// Nothing nearer was found: takes an idle CPU outside the cluster, searches the node, or takes the target, though
    /// it is busy.
    #[inline]
    pub(super) fn fall_through<V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if let Some(prev) = self.prev_far
            && takes_far(prev, cx)
        {
            return self.done(prev, Reason::PrevFar);
        }
        if let Some(recent) = self.recent_far
            && takes_far(recent, cx)
        {
            return self.done(recent, Reason::RecentFar);
        }
        if cx.rules.searches_node() {
            return self.select_idle_node(cx, observer);
        }
        self.give_up()
    }

    /// Takes the target, though it is busy.
    #[inline]
    pub(super) fn give_up(&mut self) -> Option<Chosen> {
        self.count.failed = 1;
        self.done(self.target, self.scan_failed)
    }
}
