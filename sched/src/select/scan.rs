//! `select_idle_cpu()`'s walk over the LLC, for an idle core or an idle CPU, one look at a time.

use super::decision::{Effects, Reason, SearchCount};
use super::policy::{self, Before, Plan, SearchContext};
use super::step::{Cx, choose_idle_cpu, takes_sched_idle};
use super::{Event, IdleCores, Look, Observer, Rules, Site, View};
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
    /// `cpus` has one CPU of each core, the one that the walk comes to first, so that none has to be taken off it.
    by_core: bool,
    /// The limit counts CPUs of the LLC that the wakee may not use, too, and they are passed without a look.
    counts_all: bool,
    /// Whether it is in the target's cluster (which comes first) or in the whole LLC.
    in_cluster: bool,
    /// The core that is being looked at, if the walk looks for one.
    core: Core,
    /// An idle CPU met while looking for a core.
    idle_cpu: Option<Cpu>,
    /// The CPU that the walk came to last, where a policy wants to know.
    last: Option<Cpu>,
}

/// The core under examination in select_idle_core().
#[derive(Clone, Copy, Debug, Default)]
struct Core {
    cpu: Cpu,
    idle: bool,
}

/// What was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skipped {
    /// The CPU of the look that is pending now.
    pub(super) pending: Cpu,
    /// How many looks were made.
    pub(super) looks: u32,
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
            plan: Plan::unlimited(0),
            cores: false,
            by_core: false,
            counts_all: false,
            in_cluster: false,
            core: Core::default(),
            idle_cpu: None,
            last: None,
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
        looks: u32,
        effects: &mut Effects,
        observer: &mut O,
    ) -> Before {
        let sd = llc(cx.rules, target);
        let three_walks = cx.rules.code.idle_search == IdleSearch::ThreeWalks;
        // The fast path has looked at the target already; later versions begin past it.
        let start = target + u32::from(cx.rules.code.scan_after_target);
        self.plan = Plan::unlimited(start);
        self.last = None;
        self.cores = has_idle_core;
        self.idle_cpu = None;
        // Up to 5.11 the walk for an idle CPU begins by fetching the waking CPU's sd_llc, whatever the features say.
        if three_walks && !has_idle_core && cx.rules.domains.sd_llc(cx.wakeup.waker.cpu).is_none() {
            return Before::Overloaded;
        }
        // The walk for a core, which came first, has no limit: the policies are asked before the one for a CPU.
        if !(three_walks && has_idle_core) {
            let word = policy::before(&self.context(cx, sd, target, looks), cx.view, &mut self.plan, effects, observer);
            if O::UNLIMITED {
                self.plan.nr = i32::MAX;
            } else if word != Before::Walk {
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
        self.by_core = false;
        self.counts_all =
            !cx.rules.code.scan_counts_allowed_only && !self.cores && !sd.span.is_subset(cx.wakeup.wakee.cpus_ptr);
        if self.cores
            && !self.in_cluster
            && !cx.rules.code.core_scan_whole
            && cx.view.idle_cores().is_some()
            && sd.span.is_subset(cx.wakeup.wakee.cpus_ptr)
            && let Some(walks) = cx.rules.domains.core_walk.get(target as usize)
            && let Some(at) = [target, target + 1].iter().position(|&start| start == self.plan.start)
        {
            self.cpus.clone_from(&walks[at]);
            self.by_core = true;
        }
        self.walk = Wrap::new(self.plan.start);
        Before::Walk
    }

    /// Goes on to the next CPU of the walk.
    #[inline]
    pub(super) fn advance(&mut self, rules: &Rules<'_>, target: Cpu, count: &mut SearchCount) -> ScanEnd {
        if self.counts_all {
            return self.advance_over_all(rules, target, count);
        }
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
        self.last = Some(cpu);
        self.plan.nr = self.plan.nr.wrapping_sub(1);
        if self.limit_reached(rules) {
            return ScanEnd::Failed(Reason::Limit);
        }
        count.scanned += 1;
        ScanEnd::LookAt(cpu)
    }

    /// The same where every CPU of the LLC counts towards the limit.
    #[cold]
    fn advance_over_all(&mut self, rules: &Rules<'_>, target: Cpu, count: &mut SearchCount) -> ScanEnd {
        while let Some(cpu) = self.walk.next(&llc(rules, target).span) {
            self.last = Some(cpu);
            self.plan.nr = self.plan.nr.wrapping_sub(1);
            if self.limit_reached(rules) {
                return ScanEnd::Failed(Reason::Limit);
            }
            if self.cpus.test(cpu) {
                count.scanned += 1;
                return ScanEnd::LookAt(cpu);
            }
        }
        ScanEnd::Failed(Reason::None)
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
        // A cluster is a few CPUs, and the rest of the LLC comes after it. Old kernels with an affinity are rare.
        if self.in_cluster || self.counts_all || self.plan.tells_last {
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
        if self.by_core
            && let Some(cores) = cx.view.idle_cores()
        {
            return self.leap_by_core(cpu, cx, target, cores, count);
        }
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
            let looks_at_all = cx.rules.code.core_scan_whole || (keeps_cpus && self.idle_cpu.is_none());
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

    /// The same where the walk has one CPU of each core, and the view keeps idle cores as masks.
    fn leap_by_core<V: View>(
        &mut self,
        mut cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        idle: &IdleCores,
        count: &mut SearchCount,
    ) -> ScanEnd {
        let smt_mask = &cx.rules.domains.smt_mask;
        let keeps_cpus = cx.rules.code.idle_search == IdleSearch::OneWalk;
        // To the beginning of a core, and past it if it is the one whose idle CPU is kept.
        loop {
            let core = self.core.cpu;
            let begins = smt_mask[core as usize].first() == Some(cpu);
            if begins && !(keeps_cpus && self.idle_cpu.is_none() && idle.any.test(core)) {
                break;
            }
            match self.look_at_core_cpu(cpu, cx, target, count, &mut ()) {
                ScanEnd::LookAt(next) => cpu = next,
                end => return end,
            }
        }
        let mut core = self.core.cpu;
        if keeps_cpus && self.idle_cpu.is_none() {
            // Without an idle CPU to keep, both CPUs of a busy core are looked at. One look is counted already.
            let next = self.walk.next_and_count(&self.cpus, &idle.any);
            count.scanned += 2 * next.passed + 1;
            let Some(found) = next.found else { return ScanEnd::Failed(Reason::None) };
            core = found;
            count.scanned += 1;
            if !idle.all.test(core) {
                self.idle_cpu = smt_mask[core as usize].iter().find(|&cpu| cx.view.available_idle_cpu(cpu));
            }
            count.scanned += u32::from(!idle.first.test(core));
        }
        if idle.all.test(core) {
            count.scanned += 1;
            return ScanEnd::Found(core, Reason::Core);
        }
        // With one, the second CPU of a core is looked at only where the first is idle.
        count.scanned += u32::from(idle.first.test(core));
        let walk = self.walk;
        let next = self.walk.next_and_count(&self.cpus, &idle.all);
        let partly = walk.count_to_and(&self.cpus, &idle.first, next.found) - u32::from(next.found.is_some());
        count.scanned += next.passed + partly;
        match (next.found, self.idle_cpu) {
            (Some(core), _) => {
                count.scanned += 2;
                ScanEnd::Found(core, Reason::Core)
            }
            (None, Some(cpu)) => ScanEnd::Found(cpu, Reason::CoreCpu),
            (None, None) => ScanEnd::Failed(Reason::None),
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
            if self.by_core {
                // The wakee may use all of the LLC, and siblings are in it.
                true
            } else if cx.rules.code.core_scan_by_span {
                cpus.test(cpu)
            } else {
                cx.wakeup.wakee.cpus_ptr.test(cpu)
            }
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
                core_ends = !cx.rules.code.core_scan_whole;
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
        if !self.by_core {
            self.cpus.andnot_with(siblings);
        }
        self.advance(cx.rules, target, count)
    }

    /// Makes `n` looks from the pending one at `cpu` on, of which it is known that none of them ends the walk, and returns
    /// the CPU of the look that is then pending; `None` where they are to be made one by one.
    #[inline]
    pub(super) fn skip(
        &mut self,
        cpu: Cpu,
        n: u32,
        rules: &Rules<'_>,
        idle: &IdleCores,
        count: &mut SearchCount,
    ) -> Skipped {
        if self.in_cluster || self.counts_all || self.plan.tells_last {
            return Skipped { pending: cpu, looks: 0 };
        }
        if self.cores {
            return self.skip_cores(cpu, n, rules, idle, count);
        }
        let nr = self.plan.nr.wrapping_sub(n as i32);
        let mut walk = self.walk;
        match walk.skip(&self.cpus, n) {
            Some(pending) if nr > 0 && self.plan.nr > 0 => {
                (self.walk, self.plan.nr) = (walk, nr);
                count.scanned += n;
                Skipped { pending, looks: n }
            }
            _ => Skipped { pending: cpu, looks: 0 },
        }
    }

    /// The same in a walk over cores, as far as whole cores of one kind are passed.
    fn skip_cores(
        &mut self,
        cpu: Cpu,
        n: u32,
        rules: &Rules<'_>,
        idle: &IdleCores,
        count: &mut SearchCount,
    ) -> Skipped {
        let none = Skipped { pending: cpu, looks: 0 };
        let smt_mask = &rules.domains.smt_mask;
        if !self.by_core || smt_mask[self.core.cpu as usize].first() != Some(cpu) {
            return none;
        }
        // Until an idle CPU is kept, both CPUs of a busy core are looked at; then the first, unless it is idle.
        let keeps = rules.code.idle_search == IdleSearch::OneWalk && self.idle_cpu.is_none();
        let (stops, looks) = if keeps { (&idle.any, 2) } else { (&idle.first, 1) };
        if stops.test(self.core.cpu) {
            return none;
        }
        let mut walk = self.walk;
        let next = walk.next_and_count(&self.cpus, stops);
        let cores = (next.passed + 1).min(n / looks);
        if cores == 0 {
            return none;
        }
        let mut walk = self.walk;
        let Some(core) = walk.skip(&self.cpus, cores) else { return none };
        self.walk = walk;
        self.core = Core { cpu: core, idle: true };
        count.scanned += cores * looks;
        Skipped { pending: smt_mask[core as usize].first().unwrap_or(core), looks: cores * looks }
    }

    /// Whether the walk, from where it stands to where it would end at `found` (or without anything), looks at `cpu`.
    /// True too where that cannot be told cheaply.
    #[inline]
    pub(super) fn may_look_at(&self, rules: &Rules<'_>, cpu: Cpu, found: Option<Cpu>) -> bool {
        if self.in_cluster {
            return true;
        }
        if !self.cores {
            return self.cpus.test(cpu) && self.walk.comes_to(cpu, found);
        }
        if self.by_core {
            let first = |cpu: Cpu| self.cpus.next_from_and(&rules.domains.smt_mask[cpu as usize], 0);
            return rules.domains.smt_mask[self.core.cpu as usize].test(cpu)
                || first(cpu).is_some_and(|cpu| self.walk.comes_to(cpu, found.and_then(first)));
        }
        // The core under way is off the mask already.
        rules.domains.smt_mask[self.core.cpu as usize].test(cpu)
            || comes_to_core(rules, &self.walk, cpu, found, |cpu| self.cpus.test(cpu))
    }

    /// The same of the whole of a walk that is over.
    #[inline]
    pub(super) fn walk_passes(&self, rules: &Rules<'_>, cpu: Cpu, found: Option<Cpu>) -> bool {
        let walk = Wrap::new(self.plan.start);
        if rules.domains.cluster_active {
            return true;
        }
        if !self.cores { walk.comes_to(cpu, found) } else { comes_to_core(rules, &walk, cpu, found, |_| true) }
    }

    /// Where the walk began.
    #[inline]
    pub(super) fn start(&self) -> Cpu {
        self.plan.start
    }

    /// Whether it is for an idle core.
    #[inline]
    pub(super) fn looks_for_core(&self) -> bool {
        self.cores
    }

    /// Whether this was the first of three walks, the one for a core (up to 5.11); the one for a CPU follows.
    #[inline]
    pub(super) fn only_for_cores(&self, rules: &Rules<'_>) -> bool {
        self.cores && rules.code.idle_search == IdleSearch::ThreeWalks
    }

    /// What is written when the walk is over.
    #[inline]
    pub(super) fn close<V: View>(
        &mut self,
        reason: Reason,
        cx: Cx<'_, V>,
        target: Cpu,
        looks: u32,
        effects: &mut Effects,
    ) {
        if self.plan.tells_last {
            let sd = llc(cx.rules, target);
            policy::ended(&self.context(cx, sd, target, looks), self.last, effects);
        }
        // An idle core, a used-up limit and an overloaded LLC return from the middle of the function.
        if matches!(reason, Reason::Core | Reason::Limit | Reason::Overloaded | Reason::Short) {
            return;
        }
        if self.cores {
            effects.clear_idle_cores = Some(target);
        }
        let sd = llc(cx.rules, target);
        policy::after(&self.context(cx, sd, target, looks), cx.view, &self.plan, effects);
    }

    #[inline]
    fn context<'a, V>(&self, cx: Cx<'a, V>, sd: &'a SchedDomain, target: Cpu, looks: u32) -> SearchContext<'a> {
        SearchContext { rules: cx.rules, wakeup: cx.wakeup, sd, target, has_idle_core: self.cores, looks }
    }
}

/// Whether a walk over cores comes to the core of `cpu`, by any of its CPUs that is in the walk, before it has passed the
/// core of `found`.
#[inline]
fn comes_to_core(rules: &Rules<'_>, walk: &Wrap, cpu: Cpu, found: Option<Cpu>, in_walk: impl Fn(Cpu) -> bool) -> bool {
    let siblings = |of: Cpu| rules.domains.smt_mask[of as usize].iter();
    siblings(cpu).any(|cpu| {
        in_walk(cpu)
            && match found {
                Some(found) => siblings(found).any(|end| walk.comes_to(cpu, Some(end))),
                None => walk.comes_to(cpu, None),
            }
    })
}

fn llc<'a>(rules: &Rules<'a>, target: Cpu) -> &'a SchedDomain {
    rules.domains.sd_llc(target).expect("a search begins only where the target has an LLC domain")
}
