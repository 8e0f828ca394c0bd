//! `select_idle_cpu()`: the scan of the LLC for an idle core or an idle CPU, one probe at a time.
//!
//! The kernel's loop, as in 6.7, with the places in which proposed policies act, and the function here that does
//! each part:
//!
//! ```text
//! select_idle_cpu(p, sd, has_idle_core, target):
//!     nr = INT_MAX                                            Scan::begin
//!     SIS_PROP, SIS_LIMIT, SIS_SHORT, SIS_UTIL, SIS_FILTER        policy/: each may set nr, the start and a mask,
//!                                                                 end the search, or take a CPU
//!     cpus = sched_domain_span(sd) & p->cpus_ptr & the mask
//!
//!     for_each_cpu_wrap(cpu, cpus, target + 1):               Scan::advance
//!         if has_idle_core:
//!             if select_idle_core(p, cpu, cpus, &idle_cpu):   Scan::probe_core, in select_idle_core.rs
//!                 return that core
//!         else:
//!             if --nr <= 0: return -1                         Scan::advance
//!             if __select_idle_cpu(cpu, p): break             Scan::probe
//!
//!     if has_idle_core: set_idle_cores(target, false)         Scan::end
//!     SIS_PROP: update the average cost of a search           Scan::end, policy/
//!     return idle_cpu
//! ```
//!
//! Each kernel's differences are data ([`Code`](wakelab_kernel::Code)). Up to 5.11 there are two scans: first
//! `select_idle_core()`, a loop of its own without a limit, then `select_idle_cpu()` for a CPU. Since 6.7 the target's
//! cluster, the first group of `sd`, is scanned before the rest of the LLC.
//!
//! A search that is made in one call does not probe CPU by CPU if the view has masks: `scan_by_mask.rs`.

use super::decision::{Decision, Effects, Reason, SearchCount};
use super::policy::{self, Plan, SearchContext, Verdict};
use super::select_idle_core::Core;
use super::select_idle_sibling::choose_idle_cpu;
use super::select_task_rq_fair::{Chosen, Cx, Select, Stage};
use super::{Event, Observer, Rules, SearchView, Site};
use crate::cpumask::{Cpu, CpuMask, Wrap};
use crate::domain::{SchedDomain, SdFlags};
use wakelab_kernel::{Feature, IdleSearch};

/// `select_idle_cpu()` alone: the scan of the LLC of `target`, for an idle core if `has_idle_core` is set. If the scan
/// finds nothing (-1 in the kernel), the decision is the target, as it is in `select_idle_sibling()`.
#[inline]
pub fn select_idle_cpu<V: SearchView, O: Observer>(
    select: &mut Select,
    cx: Cx<'_, V>,
    has_idle_core: bool,
    target: Cpu,
    observer: &mut O,
) -> Decision {
    select.begin_at(target);
    let chosen = select.begin_scan(has_idle_core, cx, observer);
    select.finish_search(chosen, cx, observer)
}

impl Select {
    /// Enters select_idle_cpu().
    #[inline]
    pub(super) fn begin_scan<V: SearchView, O: Observer>(
        &mut self,
        has_idle_core: bool,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        observer.event(Event::SelectIdleCpu { cores: has_idle_core });
        let verdict = self.scan.begin(cx, has_idle_core, self.scan_target, self.probes(), &mut self.effects, observer);
        let next = match verdict {
            Verdict::Overloaded => ScanNext::Failed(Reason::Overloaded),
            Verdict::Take(cpu, reason) => ScanNext::Found(cpu, reason),
            Verdict::Scan => self.scan.advance(cx.rules, self.scan_target, &mut self.count),
        };
        self.continue_scan(next, cx, observer)
    }

    /// Goes on after the scan has begun or has probed a CPU.
    #[inline]
    pub(super) fn continue_scan<V: SearchView, O: Observer>(
        &mut self,
        next: ScanNext,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        match next {
            ScanNext::Probe(cpu) => {
                self.stage = Stage::Scan(cpu);
                None
            }
            ScanNext::Found(cpu, reason) => {
                self.end_scan(reason, cx);
                self.done(cpu, reason)
            }
            ScanNext::Failed(reason) => {
                self.end_scan(reason, cx);
                if self.scan.is_first_of_two(cx.rules) {
                    return self.begin_scan(false, cx, observer);
                }
                if self.node.under_way {
                    return self.search_next_llc(cx, observer);
                }
                self.scan_failed = reason;
                self.after_scan(cx, observer)
            }
        }
    }

    /// Applies the writes of the kernel after a scan. The hint of the target's LLC is cleared by the effects, those of
    /// other LLCs by a list of their own.
    #[inline]
    fn end_scan<V: SearchView>(&mut self, reason: Reason, cx: Cx<'_, V>) {
        let probes = self.probes();
        if !self.node.under_way {
            return self.scan.end(reason, cx, self.scan_target, probes, &mut self.effects);
        }
        let own = self.effects.clear_idle_cores.take();
        self.scan.end(reason, cx, self.scan_target, probes, &mut self.effects);
        self.node.cleared.extend(self.effects.clear_idle_cores.take());
        self.effects.clear_idle_cores = own;
    }
}

/// The state of a scan.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// `select_rq_mask`: the CPUs that are still to be scanned.
    pub(super) cpus: CpuMask,
    /// The position of `for_each_cpu_wrap()`.
    pub(super) position: Wrap,
    pub(super) plan: Plan,
    /// Whether the scan searches for an idle core.
    pub(super) has_idle_core: bool,
    /// SIS_EFF_CORE_LIMIT: the limit counts cores, too.
    pub(super) core_limited: bool,
    /// `cpus` has one CPU of each core, the one that the scan reaches first, so that no sibling has to be cleared.
    pub(super) one_per_core: bool,
    /// CPUs of the LLC that the wakee may not use also count towards the limit, although they are skipped and not
    /// probed.
    pub(super) counts_disallowed: bool,
    /// Whether the scan is in the target's cluster (which comes first) or in the whole LLC.
    pub(super) in_cluster: bool,
    /// The core that select_idle_core() probes, if the scan searches for one.
    pub(super) core: Core,
    /// An idle CPU that was found while searching for a core.
    pub(super) idle_cpu: Option<Cpu>,
    /// SIS_CACHE: the first idle CPU that was passed over.
    first_hot: Option<Cpu>,
    /// The CPU that the scan reached last, if a policy needs it.
    last: Option<Cpu>,
}

/// The next step of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanNext {
    /// It probes this CPU.
    Probe(Cpu),
    /// It ends with this CPU.
    Found(Cpu, Reason),
    /// It ends without a CPU.
    Failed(Reason),
}

impl Default for Scan {
    fn default() -> Self {
        Scan {
            cpus: CpuMask::new(0),
            position: Wrap::new(0),
            plan: Plan::new(0),
            has_idle_core: false,
            core_limited: false,
            one_per_core: false,
            counts_disallowed: false,
            in_cluster: false,
            core: Core::default(),
            idle_cpu: None,
            first_hot: None,
            last: None,
        }
    }
}

impl Scan {
    /// Calls the policies and sets the scan up.
    #[inline]
    fn begin<V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        has_idle_core: bool,
        target: Cpu,
        probes: u32,
        effects: &mut Effects,
        observer: &mut O,
    ) -> Verdict {
        let sd = llc(cx.rules, target);
        let three_scans = cx.rules.idle_search == IdleSearch::ThreeScans;
        // The first checks have probed the target already; since 56498cfb045d (5.12) the scan starts at target + 1.
        let start = target + u32::from(cx.rules.code.scan_after_target);
        self.plan.reset(start);
        self.last = None;
        self.has_idle_core = has_idle_core;
        self.idle_cpu = None;
        self.first_hot = None;
        // `this_sd = rcu_dereference(*this_cpu_ptr(&sd_llc)); if (!this_sd) return -1;`, whatever features are on. The
        // reason is that of a search that does not scan.
        let in_select_idle_cpu = !(three_scans && has_idle_core);
        if cx.rules.code.scan_needs_this_llc
            && in_select_idle_cpu
            && cx.rules.domains.sd_llc(cx.wakeup.waker.cpu).is_none()
        {
            return Verdict::Overloaded;
        }
        // Up to 5.11 the scan for a core comes first and has no limit: policies apply to the scan for a CPU only.
        if in_select_idle_cpu {
            let context = self.context(cx, sd, target, probes);
            let verdict = policy::before_scan(&context, cx.view, &mut self.plan, effects, observer);
            if O::UNLIMITED {
                self.plan.nr = i32::MAX;
            } else if verdict != Verdict::Scan {
                return verdict;
            }
        }
        let mut any = self.cpus.set_and(&sd.span, cx.wakeup.wakee.cpus_ptr);
        if let Some(mask) = self.plan.mask() {
            any = self.cpus.and_with(mask);
        }
        if !any && cx.rules.code.empty_mask_returns {
            self.has_idle_core = false;
        }
        self.in_cluster = cx.rules.cluster_scan.is_some_and(|scan| !scan.ascending || !cx.rules.domains.smt_active)
            && sd.groups().next().is_some_and(|group| group.flags.contains(SdFlags::CLUSTER));
        self.counts_disallowed = !cx.rules.code.scan_counts_allowed_only
            && !self.has_idle_core
            && !sd.span.is_subset(cx.wakeup.wakee.cpus_ptr);
        self.core_limited =
            self.has_idle_core && self.plan.nr != i32::MAX && cx.rules.features.has(Feature::SIS_EFF_CORE_LIMIT);
        self.one_per_core = self.begin_with_one_per_core(cx, sd, target);
        let ascends = self.in_cluster && cx.rules.cluster_scan.is_some_and(|scan| scan.ascending);
        self.position = Wrap::new(if ascends { 0 } else { self.plan.start });
        Verdict::Scan
    }

    /// Advances to the next CPU, or ends the scan.
    #[inline]
    pub(super) fn advance(&mut self, rules: &Rules<'_>, target: Cpu, count: &mut SearchCount) -> ScanNext {
        if self.counts_disallowed {
            return self.advance_over_all(rules, target, count);
        }
        let next = if self.in_cluster { self.next_in_cluster(rules, target) } else { self.position.next(&self.cpus) };
        let Some(cpu) = next else {
            return match (self.idle_cpu, self.first_hot) {
                (Some(cpu), _) => ScanNext::Found(cpu, Reason::CoreCpu),
                (None, Some(cpu)) => ScanNext::Found(cpu, Reason::Scan),
                (None, None) => ScanNext::Failed(Reason::None),
            };
        };
        if self.has_idle_core {
            if self.core_limited {
                self.plan.nr -= 1;
                if self.plan.nr == 0 {
                    return match self.idle_cpu {
                        Some(cpu) => ScanNext::Found(cpu, Reason::CoreCpu),
                        None => ScanNext::Failed(Reason::Limit),
                    };
                }
            }
            self.core = Core { cpu, idle: true };
            count.scanned += 1;
            return ScanNext::Probe(rules.domains.smt_mask[cpu as usize].first().unwrap_or(cpu));
        }
        self.last = Some(cpu);
        self.plan.nr = self.plan.nr.wrapping_sub(1);
        if self.limit_reached(rules) {
            return ScanNext::Failed(Reason::Limit);
        }
        count.scanned += 1;
        ScanNext::Probe(cpu)
    }

    /// The next CPU of a loop over all of the LLC, in which CPUs that the wakee may not use count towards the limit
    /// (before 60588bfa223f). CPUs outside a policy's mask do not count.
    #[cold]
    fn advance_over_all(&mut self, rules: &Rules<'_>, target: Cpu, count: &mut SearchCount) -> ScanNext {
        while let Some(cpu) = self.position.next(&llc(rules, target).span) {
            if self.plan.mask().is_some_and(|mask| !mask.test(cpu)) {
                continue;
            }
            self.last = Some(cpu);
            self.plan.nr = self.plan.nr.wrapping_sub(1);
            if self.limit_reached(rules) {
                return ScanNext::Failed(Reason::Limit);
            }
            if self.cpus.test(cpu) {
                count.scanned += 1;
                return ScanNext::Probe(cpu);
            }
        }
        match self.first_hot {
            Some(cpu) => ScanNext::Found(cpu, Reason::Scan),
            None => ScanNext::Failed(Reason::None),
        }
    }

    /// The next CPU of the target's cluster, and after these the first of the rest of the LLC.
    #[cold]
    fn next_in_cluster(&mut self, rules: &Rules<'_>, target: Cpu) -> Option<Cpu> {
        let cluster = &llc(rules, target).groups().next().expect("a domain has groups").span;
        self.position.next_and(&self.cpus, cluster).or_else(|| {
            self.cpus.andnot_with(cluster);
            self.in_cluster = false;
            self.position = Wrap::new(self.plan.start);
            self.position.next(&self.cpus)
        })
    }

    /// `!--nr`, which since the cluster scan reads `--nr <= 0`.
    #[inline]
    fn limit_reached(&self, rules: &Rules<'_>) -> bool {
        if rules.code.cluster_scan || rules.cluster_scan.is_some() { self.plan.nr <= 0 } else { self.plan.nr == 0 }
    }

    /// Probes `cpu` (`__select_idle_cpu()`, or one CPU of `select_idle_core()`) and advances.
    #[inline]
    pub(super) fn probe<V: SearchView, O: Observer>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        count: &mut SearchCount,
        observer: &mut O,
    ) -> ScanNext {
        if self.has_idle_core {
            return self.probe_core(cpu, cx, target, count, observer);
        }
        if choose_idle_cpu(Site::Scan, cpu, cx, observer) {
            if !policy::cache_hot_cpu(cpu, cx, count.scanned.saturating_sub(2)) {
                return ScanNext::Found(cpu, Reason::Scan);
            }
            self.first_hot.get_or_insert(cpu);
        }
        self.advance(cx.rules, target, count)
    }

    /// Whether this was the first of two scans, the one for a core (up to 5.11); the one for a CPU follows.
    #[inline]
    pub(super) fn is_first_of_two(&self, rules: &Rules<'_>) -> bool {
        self.has_idle_core && rules.idle_search == IdleSearch::ThreeScans
    }

    /// Applies the writes of the kernel after the loop.
    #[inline]
    fn end<V: SearchView>(&mut self, reason: Reason, cx: Cx<'_, V>, target: Cpu, probes: u32, effects: &mut Effects) {
        if self.plan.report_last {
            let sd = llc(cx.rules, target);
            policy::scan_ended(&self.context(cx, sd, target, probes), self.last, effects);
        }
        // If it has found an idle core, reached the limit or refused to scan, the kernel returns early and skips the
        // updates below. With SIS_EFF_CORE_LIMIT the limit leaves the loop.
        if matches!(reason, Reason::Core | Reason::Overloaded | Reason::Short) {
            return;
        }
        let became_busy = cx.rules.keeps_busy() && cx.rules.domains.smt_active && policy::found_nothing(reason);
        if reason == Reason::Limit && !cx.rules.features.has(Feature::SIS_EFF_CORE_LIMIT) && !became_busy {
            return;
        }
        // Another CPU may have set the hint meanwhile; `sd_is_busy` is written over it.
        if self.has_idle_core || became_busy {
            // As first merged, SIS_SINGLE_PASS clears the hint of the waking CPU's LLC.
            effects.clear_idle_cores = Some(if cx.rules.single_pass { cx.wakeup.waker.cpu } else { target });
        }
        let sd = llc(cx.rules, target);
        policy::after_scan(&self.context(cx, sd, target, probes), cx.view, &self.plan, effects);
    }

    #[inline]
    fn context<'a, V>(&self, cx: Cx<'a, V>, sd: &'a SchedDomain, target: Cpu, probes: u32) -> SearchContext<'a> {
        SearchContext { rules: cx.rules, wakeup: cx.wakeup, sd, target, has_idle_core: self.has_idle_core, probes }
    }
}

/// The LLC domain of the target, `per_cpu(sd_llc, target)`.
#[inline]
pub(super) fn llc<'a>(rules: &Rules<'a>, target: Cpu) -> &'a SchedDomain {
    rules.domains.sd_llc(target).expect("a search begins only if the target has an LLC domain")
}
