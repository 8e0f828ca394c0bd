//! `select_idle_sibling()`: its fast paths, the siblings of the previous CPU, and what is left after the walk.
//!
//! `ASYM` is `sched_asym_cpucap_active()`: the fast paths are compiled for both, so that machines of equal CPUs pay one
//! branch for the others.

use super::capacity::asym_fits_cpu;
use super::decision::Reason;
use super::policy::{About, Recorded, Switch};
use super::step::{Chosen, Cx, Select, Stage, choose_idle_cpu};
use super::{Event, Observer, Rules, Site, View, Wakeup};
use crate::cpumask::Cpu;
use wakelab_kernel::{Feature, IdleSearch, SmtScan};

/// The walk for an idle core.
pub(super) const SIS_CORE: About = About {
    switches: &[Switch {
        feature: Feature::SIS_CORE,
        does: "on by default: a walk for an idle core is made while `has_idle_cores` is set. `NO_SIS_CORE` turns it off",
        recorded: Recorded::Yes,
    }],
    tunables: &[],
};

impl Select {
    #[inline]
    pub(super) fn look_at_target<const ASYM: bool, V: View, O: Observer>(
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
    pub(super) fn look_at_prev<const ASYM: bool, V: View, O: Observer>(
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
            observer.event(Event::Far(Site::Prev, prev));
            self.prev_far = Some(prev);
        }
        self.after_prev::<ASYM, V, O>(cx, observer)
    }

    /// The per-CPU kthread rule, which looks at the waking CPU only, and the recently used CPU.
    #[inline]
    fn after_prev<const ASYM: bool, V: View, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        let (waker, wakee) = (&cx.wakeup.waker, &cx.wakeup.wakee);
        if waker.per_cpu_kthread && cx.rules.code.kthread_stack {
            // The wakee queued work for the kthread of its own CPU and is told that it is done: in effect a sync
            // wake-up, unless the kthread was interrupted, when the wake-up is somebody else's.
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
    pub(super) fn look_at_recent<const ASYM: bool, V: View, O: Observer>(
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
                observer.event(Event::Far(Site::Recent, recent));
                self.recent_far = Some(recent);
            }
        }
        self.search_domain::<ASYM, V, O>(cx, observer)
    }

    /// Whether an idle CPU is taken at once: without clusters always, with them where it is in the target's.
    #[inline]
    fn near(&self, rules: &Rules<'_>, cpu: Cpu) -> bool {
        !(rules.code.cluster_scan && rules.domains.cluster_active)
            || rules.domains.cpus_share_resources(cpu, self.target)
    }

    /// Past the fast paths.
    #[inline]
    fn search_domain<const ASYM: bool, V: View, O: Observer>(
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
        let mut has_idle_core = false;
        if cx.rules.domains.smt_active && cx.rules.features.has(Feature::SIS_CORE) {
            has_idle_core = cx.view.has_idle_cores(self.target);
            observer.event(Event::IdleCores(has_idle_core));
        }
        let prev = cx.wakeup.wakee.prev_cpu;
        if cx.rules.code.idle_search == IdleSearch::OneWalk
            && cx.rules.domains.smt_active
            && !has_idle_core
            && cx.rules.domains.cpus_share_cache(prev, self.target)
        {
            return self.next_sibling(prev, 0, cx, observer);
        }
        self.begin_walk(has_idle_core, cx, observer)
    }

    /// select_idle_smt(): goes on to the next sibling of `of` at or above `from`, or past the siblings.
    #[inline]
    pub(super) fn next_sibling<V: View, O: Observer>(
        &mut self,
        of: Cpu,
        from: Cpu,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if from == 0 {
            observer.event(Event::Siblings { of });
        }
        let span = cx.rules.domains.sd_llc(self.target).map(|sd| &sd.span);
        let mut from = from;
        while let Some(cpu) = cx.rules.domains.smt_mask[of as usize].next_from(from) {
            from = cpu + 1;
            if cx.rules.code.smt_scan == SmtScan::OtherSiblings && cpu == of {
                continue;
            }
            // Counted before the affinity test, as the posting's statistics do.
            self.count.scanned += 1;
            if cx.wakeup.wakee.cpus_ptr.test(cpu) && span.is_some_and(|span| span.test(cpu)) {
                self.stage = Stage::Smt(cpu);
                return None;
            }
        }
        match cx.rules.code.idle_search {
            IdleSearch::OneWalk => self.begin_walk(false, cx, observer),
            IdleSearch::ThreeWalks => self.fall_through(),
        }
    }

    #[inline]
    pub(super) fn look_at_sibling<V: View, O: Observer>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if choose_idle_cpu(Site::Smt, cpu, cx, observer) {
            return self.done(cpu, Reason::Smt);
        }
        let of = self.sibling_of(cx.rules, cx.wakeup);
        self.next_sibling(of, cpu + 1, cx, observer)
    }

    /// Whose siblings are looked at: the previous CPU's, before 5.12 the target's.
    #[inline]
    fn sibling_of(&self, rules: &Rules<'_>, wakeup: &Wakeup<'_>) -> Cpu {
        match rules.code.idle_search {
            IdleSearch::OneWalk => wakeup.wakee.prev_cpu,
            IdleSearch::ThreeWalks => self.target,
        }
    }

    /// The walk found nothing.
    #[inline]
    pub(super) fn after_walk<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match cx.rules.code.idle_search {
            IdleSearch::ThreeWalks if cx.rules.domains.smt_active => self.next_sibling(self.target, 0, cx, observer),
            _ => self.fall_through(),
        }
    }

    /// Nothing nearer was found: an idle CPU outside the cluster, or the target, busy as it is.
    #[inline]
    fn fall_through(&mut self) -> Option<Chosen> {
        if let Some(prev) = self.prev_far {
            return self.done(prev, Reason::PrevFar);
        }
        if let Some(recent) = self.recent_far {
            return self.done(recent, Reason::RecentFar);
        }
        self.count.failed = 1;
        self.done(self.target, self.walk_end)
    }
}
