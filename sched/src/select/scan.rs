//! `select_idle_cpu()`'s walk over the LLC, for an idle core or an idle CPU, one look at a time.

use super::decision::{Effects, Reason, SearchCount};
use super::policy::{self, Before, Plan, SearchContext};
use super::step::{Cx, choose_idle_cpu, takes_sched_idle};
use super::{Event, Look, Observer, Rules, Site, View};
use crate::cpumask::{Cpu, CpuMask, Wrap};
use crate::domain::{SchedDomain, SdFlags};
use wakelab_kernel::IdleSearch;

/// The walk's state.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// `select_rq_mask`: the CPUs still to be walked over.
    cpus: CpuMask,
    walk: Wrap,
    plan: Plan,
    /// Whether the walk looks for an idle core.
    cores: bool,
    /// Whether it is in the target's cluster (which comes first) or in the whole LLC.
    in_cluster: bool,
    /// The core that is being looked at, if the walk looks for one.
    core: Core,
    /// An idle CPU met while looking for a core.
    idle_cpu: Option<Cpu>,
}

/// The core under examination in select_idle_core().
#[derive(Clone, Copy, Debug, Default)]
struct Core {
    cpu: Cpu,
    idle: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanEnd {
    /// A look at this CPU.
    LookAt(Cpu),
    /// The end: this CPU.
    Found(Cpu, Reason),
    /// The end: nothing.
    Failed(Reason),
}

impl Default for Scan {
    fn default() -> Self {
        Scan {
            cpus: CpuMask::new(0),
            walk: Wrap::new(0),
            plan: Plan { nr: i32::MAX, start: 0, sis_prop: None },
            cores: false,
            in_cluster: false,
            core: Core::default(),
            idle_cpu: None,
        }
    }
}

impl Scan {
    /// Asks the policies and lays out the walk.
    #[inline]
    pub(super) fn prepare<V: View, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        has_idle_core: bool,
        target: Cpu,
        effects: &mut Effects,
        observer: &mut O,
    ) -> Before {
        let sd = llc(cx.rules, target);
        let three_walks = cx.rules.code.idle_search == IdleSearch::ThreeWalks;
        // The fast path has looked at the target already; later versions begin past it.
        let start = target + u32::from(cx.rules.code.scan_after_target);
        self.plan = Plan { nr: i32::MAX, start, sis_prop: None };
        self.cores = has_idle_core;
        self.idle_cpu = None;
        // Up to 5.11 the walk for an idle CPU begins by fetching the waking CPU's sd_llc, whatever the features say.
        if three_walks && !has_idle_core && cx.rules.domains.sd_llc(cx.wakeup.waker.cpu).is_none() {
            return Before::Overloaded;
        }
        // The walk for a core, which came first, has no limit: the policies are asked before the one for a CPU.
        if !(three_walks && has_idle_core) {
            let word = policy::before(&self.context(cx, sd, target), cx.view, &mut self.plan, effects, observer);
            if word != Before::Walk {
                return word;
            }
        }
        let any = self.cpus.set_and(&sd.span, cx.wakeup.wakee.cpus_ptr);
        if !any && cx.rules.code.empty_mask_returns {
            self.cores = false;
        }
        self.in_cluster = cx.rules.code.cluster_scan
            && cx.rules.domains.cluster_active
            && sd.groups().next().is_some_and(|group| group.flags.contains(SdFlags::CLUSTER));
        self.walk = Wrap::new(self.plan.start);
        Before::Walk
    }

    /// Goes on to the next CPU of the walk.
    #[inline]
    pub(super) fn advance(&mut self, rules: &Rules<'_>, target: Cpu, count: &mut SearchCount) -> ScanEnd {
        let next = if self.in_cluster { self.next_in_cluster(rules, target) } else { self.walk.next(&self.cpus) };
        let Some(cpu) = next else {
            return match self.idle_cpu {
                Some(cpu) => ScanEnd::Found(cpu, Reason::CoreCpu),
                None => ScanEnd::Failed(Reason::None),
            };
        };
        if self.cores {
            self.core = Core { cpu, idle: true };
            count.scanned += 1;
            return ScanEnd::LookAt(rules.domains.smt_mask[cpu as usize].first().unwrap_or(cpu));
        }
        self.plan.nr = self.plan.nr.wrapping_sub(1);
        if self.limit_reached(rules) {
            return ScanEnd::Failed(Reason::Limit);
        }
        count.scanned += 1;
        ScanEnd::LookAt(cpu)
    }

    /// The next CPU of the target's cluster, and when that is done, the first of the rest of the LLC.
    #[cold]
    fn next_in_cluster(&mut self, rules: &Rules<'_>, target: Cpu) -> Option<Cpu> {
        let cluster = &llc(rules, target).groups().next().expect("a domain has groups").span;
        self.walk.next_and(&self.cpus, cluster).or_else(|| {
            self.cpus.andnot_with(cluster);
            self.in_cluster = false;
            self.walk = Wrap::new(self.plan.start);
            self.walk.next(&self.cpus)
        })
    }

    /// `!--nr`, which since the cluster scan reads `--nr <= 0`.
    #[inline]
    fn limit_reached(&self, rules: &Rules<'_>) -> bool {
        if rules.code.cluster_scan { self.plan.nr <= 0 } else { self.plan.nr == 0 }
    }

    /// Looks at `cpu` and goes on.
    #[inline]
    pub(super) fn look<V: View, O: Observer>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        count: &mut SearchCount,
        observer: &mut O,
    ) -> ScanEnd {
        if self.cores {
            return self.look_at_core_cpu(cpu, cx, target, count, observer);
        }
        if choose_idle_cpu(Site::Scan, cpu, cx, observer) {
            return ScanEnd::Found(cpu, Reason::Scan);
        }
        self.advance(cx.rules, target, count)
    }

    /// Like [`Scan::look`] at `cpu` and all CPUs after it, with words of the view's masks instead of single looks.
    ///
    /// Never inlined: the fast paths end before it, and should not save registers for it.
    #[inline(never)]
    pub(super) fn leap<V: View>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        idle: &CpuMask,
        count: &mut SearchCount,
    ) -> ScanEnd {
        if self.cores {
            return self.leap_over_cores(cpu, cx, target, idle, count);
        }
        // A cluster is a few CPUs, and the rest of the LLC comes after it.
        if self.in_cluster {
            return self.look(cpu, cx, target, count, &mut ());
        }
        // `cpu` was taken off the walk and counted by `advance`; look at it here.
        if choose_idle_cpu(Site::Scan, cpu, cx, &mut ()) {
            return ScanEnd::Found(cpu, Reason::Scan);
        }
        let sched_idle = cx
            .view
            .sched_idle_mask()
            .filter(|_| cx.rules.code.sched_idle_cpus && takes_sched_idle(cx.rules, cx.wakeup));
        let mut walk = self.walk;
        let found = match sched_idle {
            None => walk.next_and(&self.cpus, idle),
            Some(sched_idle) => walk.next_and_or(&self.cpus, idle, sched_idle),
        };
        let looks = self.walk.count_to(&self.cpus, found);
        // `nr` counts down before each look and ends the walk at 0, so nr - 1 more looks are allowed. Where it was
        // negative from the start (an overflow) it does not come to 0 in any walk.
        let allowed = if self.plan.nr > 0 { self.plan.nr as u32 - 1 } else { u32::MAX };
        if looks > allowed {
            count.scanned += allowed;
            return ScanEnd::Failed(Reason::Limit);
        }
        count.scanned += looks;
        match found {
            Some(cpu) => ScanEnd::Found(cpu, Reason::Scan),
            None => ScanEnd::Failed(Reason::None),
        }
    }

    /// Like [`Scan::look_at_core_cpu`] at `cpu` and all CPUs after it: a core without an idle CPU is passed at once.
    #[inline]
    fn leap_over_cores<V: View>(
        &mut self,
        mut cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        idle: &CpuMask,
        count: &mut SearchCount,
    ) -> ScanEnd {
        let keeps_cpus = cx.rules.code.idle_search == IdleSearch::OneWalk;
        let sched_idle = cx.view.sched_idle_mask().filter(|_| keeps_cpus && takes_sched_idle(cx.rules, cx.wakeup));
        let any_free =
            |cpus: &CpuMask| cpus.intersects(idle) || sched_idle.is_some_and(|sched_idle| cpus.intersects(sched_idle));
        // Whether `cpu` is the first CPU of its core, so that no look at the core has been made yet.
        let mut core_begins = cx.rules.domains.smt_mask[self.core.cpu as usize].first() == Some(cpu);

        // The flag was stale and all of the LLC is busy. Without an idle CPU to keep, each sibling of each core is
        // looked at; where the wakee may use the whole LLC, these are the CPUs of the walk: siblings share their LLC.
        if core_begins
            && keeps_cpus
            && self.idle_cpu.is_none()
            && !any_free(&self.cpus)
            && llc(cx.rules, target).span.is_subset(cx.wakeup.wakee.cpus_ptr)
        {
            // `advance` has counted `cpu`.
            count.scanned += self.cpus.weight() - 1;
            return ScanEnd::Failed(Reason::None);
        }
        loop {
            let core = self.core.cpu;
            let siblings = &cx.rules.domains.smt_mask[core as usize];
            let looks_at_all = keeps_cpus && self.idle_cpu.is_none();
            let end = if core_begins && looks_at_all && !any_free(siblings) {
                count.scanned += siblings.weight() - 1;
                self.cpus.andnot_with(siblings);
                self.advance(cx.rules, target, count)
            } else if core_begins && !looks_at_all && !idle.test(cpu) {
                // With an idle CPU to keep, the first busy CPU ends the look at its core.
                self.cpus.andnot_with(siblings);
                self.advance(cx.rules, target, count)
            } else {
                self.look_at_core_cpu(cpu, cx, target, count, &mut ())
            };
            match end {
                ScanEnd::LookAt(next) => cpu = next,
                end => return end,
            }
            core_begins = self.core.cpu != core;
        }
    }

    /// One CPU of select_idle_core(): the core is idle if all its CPUs are; the first idle CPU that the wakee may use
    /// is kept, and once there is one, a busy CPU ends the look at its core.
    #[inline]
    fn look_at_core_cpu<V: View, O: Observer>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        count: &mut SearchCount,
        observer: &mut O,
    ) -> ScanEnd {
        let may_take = |cpus: &CpuMask| {
            if cx.rules.code.core_scan_by_span { cpus.test(cpu) } else { cx.wakeup.wakee.cpus_ptr.test(cpu) }
        };
        let keeps_cpus = cx.rules.code.idle_search == IdleSearch::OneWalk;
        let idle = cx.view.available_idle_cpu(cpu);
        let mut core_ends = false;
        let mut sched_idle = None;
        if idle {
            if keeps_cpus && self.idle_cpu.is_none() && may_take(&self.cpus) {
                self.idle_cpu = Some(cpu);
            }
        } else {
            self.core.idle = false;
            if keeps_cpus && self.idle_cpu.is_none() {
                let free = cx.view.sched_idle_cpu(cpu);
                sched_idle = Some(free);
                if free && takes_sched_idle(cx.rules, cx.wakeup) && may_take(&self.cpus) {
                    self.idle_cpu = Some(cpu);
                    core_ends = true;
                }
            } else {
                core_ends = true;
            }
        }
        observer.event(Event::Look(Look { site: Site::Core, cpu, idle, sched_idle }));

        let siblings = &cx.rules.domains.smt_mask[self.core.cpu as usize];
        if !core_ends && let Some(next) = siblings.next_from(cpu + 1) {
            count.scanned += 1;
            return ScanEnd::LookAt(next);
        }
        if self.core.idle {
            return ScanEnd::Found(self.core.cpu, Reason::Core);
        }
        self.cpus.andnot_with(siblings);
        self.advance(cx.rules, target, count)
    }

    /// Whether this was the first of three walks, the one for a core (up to 5.11); the one for a CPU follows.
    #[inline]
    pub(super) fn only_for_cores(&self, rules: &Rules<'_>) -> bool {
        self.cores && rules.code.idle_search == IdleSearch::ThreeWalks
    }

    /// What is written when the walk is over.
    #[inline]
    pub(super) fn close<V: View>(&mut self, reason: Reason, cx: Cx<'_, V>, target: Cpu, effects: &mut Effects) {
        // An idle core, a used-up limit and an overloaded LLC return from the middle of the function.
        if matches!(reason, Reason::Core | Reason::Limit | Reason::Overloaded) {
            return;
        }
        if self.cores {
            effects.clear_idle_cores = Some(target);
        }
        let sd = llc(cx.rules, target);
        policy::after(&self.context(cx, sd, target), cx.view, &self.plan, effects);
    }

    #[inline]
    fn context<'a, V>(&self, cx: Cx<'a, V>, sd: &'a SchedDomain, target: Cpu) -> SearchContext<'a> {
        SearchContext { rules: cx.rules, wakeup: cx.wakeup, sd, target, has_idle_core: self.cores }
    }
}

fn llc<'a>(rules: &Rules<'a>, target: Cpu) -> &'a SchedDomain {
    rules.domains.sd_llc(target).expect("a search begins only where the target has an LLC domain")
}
