//! Short cuts of the scan: words of masks instead of single probes.
//!
//! A search that is made in one call, with nobody observing its probes, need not probe CPU by CPU if the view keeps its
//! idle CPUs as a mask ([`MaskView`](super::MaskView)). The decision and all its counts are those of the probes;
//! property tests compare the two.
//!
//! **A scan for a CPU** ([`Scan::by_mask`]). 16 CPUs, target 4, limit `nr` = 6, so that 5 CPUs may be probed:
//!
//! ```text
//!            0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
//! cpus       x  x  .  x  x  x  x  x  x  x  x  x  x  x  x  x      domain & allowed & a policy's mask
//! idle       .  x  .  .  .  .  .  .  .  x  .  .  .  .  x  .
//! position                  5 ───────────▶
//!                           busy 5 6 7 8, then idle 9: found = first bit of cpus & idle from 5 on, around to 4
//!                           probes = bits of cpus from 5 to 9 = 5 ≤ 5: CPU 9; nr = 5 would end the scan before it
//! ```
//!
//! **A scan for a core** ([`Scan::cores_by_mask`]). A core none of whose CPUs is idle is passed in one step: without an
//! idle CPU kept so far all its siblings are probed, with one only the first.
//!
//! **A scan for a core, in an LLC of pairs** ([`Scan::pairs_by_mask`]). If each core has two CPUs and the wakee may use
//! the whole LLC, `cpus` has one bit for each core
//! ([`CoreWalks`](crate::domain::CoreWalks)), and [`IdleCores`] has for each core whether
//! any CPU, all CPUs and its first CPU are idle. 8 cores, scanned from core 2 on:
//!
//! ```text
//! core              2     3     4     5     6     7     0     1
//! CPUs idle       . .   . .   . x   . .   x .   . .   x x   . .
//! any               .     .     x     .     x     .     x     .
//! first             .     .     .     .     x     .     x     .
//! all               .     .     .     .     .     .     x     .
//! probes            2     2     2     1     2     1     2            = 12, and core 0 is idle
//!                   │           └ its idle CPU is kept: from here on a busy first CPU ends its core
//!                   └ no idle CPU is kept yet: both CPUs of a busy core are probed
//! ```
//!
//! The first of these two stretches ends at the first bit of `cpus & any`, the second at the first bit of `cpus & all`.
//! The probes are 2 for each core of the first stretch, and in the second 1 for each core and 1 more for each bit of
//! `first`.

use super::decision::{Reason, SearchCount};
use super::select_idle_core::Core;
use super::select_idle_cpu::{Scan, ScanNext, llc};
use super::select_idle_sibling::{choose_idle_cpu, takes_sched_idle};
use super::select_task_rq_fair::Cx;
use super::{IdleCores, Rules, SearchView, Site};
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedDomain;
use wakelab_kernel::{Feature, IdleSearch};

/// Probes that were skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skipped {
    /// The CPU of the probe that is pending now.
    pub(super) pending: Cpu,
    /// How many probes were skipped.
    pub(super) probes: u32,
}

impl Scan {
    /// Whether the scan for a core can go from core to core; `cpus` then becomes a mask with one CPU of each core.
    #[inline]
    pub(super) fn begin_with_one_per_core<V: SearchView>(
        &mut self,
        cx: Cx<'_, V>,
        sd: &SchedDomain,
        target: Cpu,
    ) -> bool {
        if self.has_idle_core
            && !self.in_cluster
            && !self.core_limited
            && !cx.rules.features.has(Feature::SIS_CACHE)
            && !cx.rules.code.core_scan_whole
            && self.plan.mask().is_none()
            && cx.view.idle_cores().is_some()
            && sd.span.is_subset(cx.wakeup.wakee.cpus_ptr)
            && let Some(walks) = &cx.rules.domains.core_walks
            && let Some(walk) = walks.from_start(target, self.plan.start)
        {
            self.cpus.clone_from(walk);
            return true;
        }
        false
    }

    /// What [`Scan::probe`] would come to from `cpu` on, probe by probe.
    ///
    /// Never inlined: the fast paths end before it, and should not save registers for it.
    #[inline(never)]
    pub(super) fn by_mask<V: SearchView>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        idle: &CpuMask,
        count: &mut SearchCount,
    ) -> ScanNext {
        // A limit on cores is small. SIS_CACHE may pass over every idle CPU.
        if self.core_limited || cx.rules.features.has(Feature::SIS_CACHE) {
            return self.probe(cpu, cx, target, count, &mut ());
        }
        if self.has_idle_core {
            return self.cores_by_mask(cpu, cx, target, idle, count);
        }
        // A cluster is a few CPUs, and the rest of the LLC comes after it. Old kernels with an affinity are rare.
        if self.in_cluster || self.counts_disallowed || self.plan.report_last {
            return self.probe(cpu, cx, target, count, &mut ());
        }
        // `advance` has taken `cpu` off the scan and counted it.
        if choose_idle_cpu(Site::Scan, cpu, cx, &mut ()) {
            return ScanNext::Found(cpu, Reason::Scan);
        }
        let sched_idle = cx
            .view
            .sched_idle_mask()
            .filter(|_| cx.rules.code.sched_idle_cpus && takes_sched_idle(cx.rules, cx.wakeup));
        let mut position = self.position;
        let found = match sched_idle {
            None => position.next_and(&self.cpus, idle),
            Some(sched_idle) => position.next_and_or(&self.cpus, idle, sched_idle),
        };
        let probes = self.position.count_to(&self.cpus, found);
        // `nr` counts down before each probe and ends the scan at 0, so nr - 1 more probes are allowed. If it was
        // negative from the start (an overflow) it does not reach 0 in any scan.
        let allowed = if self.plan.nr > 0 { self.plan.nr as u32 - 1 } else { u32::MAX };
        if probes > allowed {
            count.scanned += allowed;
            return ScanNext::Failed(Reason::Limit);
        }
        count.scanned += probes;
        match found {
            Some(cpu) => ScanNext::Found(cpu, Reason::Scan),
            None => ScanNext::Failed(Reason::None),
        }
    }

    /// What [`Scan::probe_core`] would come to from `cpu` on; a core without an idle CPU is passed in one step.
    #[inline]
    fn cores_by_mask<V: SearchView>(
        &mut self,
        mut cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        idle: &CpuMask,
        count: &mut SearchCount,
    ) -> ScanNext {
        let keeps_cpus = cx.rules.idle_search == IdleSearch::OneScan;
        if self.one_per_core
            && let Some(cores) = cx.view.idle_cores()
        {
            return self.pairs_by_mask(cpu, cx, target, cores, count);
        }
        let sched_idle = cx.view.sched_idle_mask().filter(|_| keeps_cpus && takes_sched_idle(cx.rules, cx.wakeup));
        let any_free =
            |cpus: &CpuMask| cpus.intersects(idle) || sched_idle.is_some_and(|sched_idle| cpus.intersects(sched_idle));
        // Whether `cpu` is the first CPU of its core, so that no sibling has been probed yet.
        let mut core_begins = cx.rules.domains.smt_mask[self.core.cpu as usize].first() == Some(cpu);

        // The hint was stale and all of the LLC is busy. Without an idle CPU to keep, each sibling of each core is
        // probed; if the wakee may use the whole LLC, these are the CPUs of the scan: siblings share their LLC.
        if core_begins
            && keeps_cpus
            && self.idle_cpu.is_none()
            && self.plan.mask().is_none()
            && !any_free(&self.cpus)
            && llc(cx.rules, target).span.is_subset(cx.wakeup.wakee.cpus_ptr)
        {
            // `advance` has counted `cpu`.
            count.scanned += self.cpus.weight() - 1;
            return ScanNext::Failed(Reason::None);
        }
        loop {
            let core = self.core.cpu;
            let siblings = &cx.rules.domains.smt_mask[core as usize];
            let probes_all = cx.rules.code.core_scan_whole || (keeps_cpus && self.idle_cpu.is_none());
            let next = if core_begins && probes_all && !any_free(siblings) {
                count.scanned += siblings.weight() - 1;
                self.cpus.andnot_with(siblings);
                self.advance(cx.rules, target, count)
            } else if core_begins && !probes_all && !idle.test(cpu) {
                // With an idle CPU kept, the first busy CPU ends its core.
                self.cpus.andnot_with(siblings);
                self.advance(cx.rules, target, count)
            } else {
                self.probe_core(cpu, cx, target, count, &mut ())
            };
            match next {
                ScanNext::Probe(next) => cpu = next,
                end => return end,
            }
            core_begins = self.core.cpu != core;
        }
    }

    /// The scan for a core in an LLC of pairs, with one bit for each core.
    fn pairs_by_mask<V: SearchView>(
        &mut self,
        mut cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        idle: &IdleCores,
        count: &mut SearchCount,
    ) -> ScanNext {
        let smt_mask = &cx.rules.domains.smt_mask;
        let keeps_cpus = cx.rules.idle_search == IdleSearch::OneScan;
        // Probes up to the beginning of a core, and past it if it is the one whose idle CPU is kept.
        loop {
            let core = self.core.cpu;
            let begins = smt_mask[core as usize].first() == Some(cpu);
            if begins && !(keeps_cpus && self.idle_cpu.is_none() && idle.any.test(core)) {
                break;
            }
            match self.probe_core(cpu, cx, target, count, &mut ()) {
                ScanNext::Probe(next) => cpu = next,
                end => return end,
            }
        }
        let mut core = self.core.cpu;
        if keeps_cpus && self.idle_cpu.is_none() {
            // Without an idle CPU kept, both CPUs of a busy core are probed. One probe is counted already.
            let next = self.position.next_and_count(&self.cpus, &idle.any);
            count.scanned += 2 * next.passed + 1;
            let Some(found) = next.found else { return ScanNext::Failed(Reason::None) };
            core = found;
            count.scanned += 1;
            if !idle.all.test(core) {
                self.idle_cpu = smt_mask[core as usize].iter().find(|&cpu| cx.view.available_idle_cpu(cpu));
            }
            count.scanned += u32::from(!idle.first.test(core));
        }
        if idle.all.test(core) {
            count.scanned += 1;
            return ScanNext::Found(core, Reason::Core);
        }
        // With one kept, the second CPU of a core is probed only if the first is idle.
        count.scanned += u32::from(idle.first.test(core));
        let position = self.position;
        let next = self.position.next_and_count(&self.cpus, &idle.all);
        let partly = position.count_to_and(&self.cpus, &idle.first, next.found) - u32::from(next.found.is_some());
        count.scanned += next.passed + partly;
        match (next.found, self.idle_cpu) {
            (Some(core), _) => {
                count.scanned += 2;
                ScanNext::Found(core, Reason::Core)
            }
            (None, Some(cpu)) => ScanNext::Found(cpu, Reason::CoreCpu),
            (None, None) => ScanNext::Failed(Reason::None),
        }
    }

    /// Makes `n` probes from the pending one at `cpu` on, none of which ends the scan, and returns the CPU whose probe
    /// is then pending. Makes none if they have to be made one by one.
    #[inline]
    pub(super) fn skip(
        &mut self,
        cpu: Cpu,
        n: u32,
        rules: &Rules<'_>,
        idle: &IdleCores,
        count: &mut SearchCount,
    ) -> Skipped {
        let one_by_one = self.core_limited || rules.features.has(Feature::SIS_CACHE);
        if self.in_cluster || self.counts_disallowed || self.plan.report_last || one_by_one {
            return Skipped { pending: cpu, probes: 0 };
        }
        if self.has_idle_core {
            return self.skip_cores(cpu, n, rules, idle, count);
        }
        let nr = self.plan.nr.wrapping_sub(n as i32);
        let mut position = self.position;
        match position.skip(&self.cpus, n) {
            Some(pending) if nr > 0 && self.plan.nr > 0 => {
                (self.position, self.plan.nr) = (position, nr);
                count.scanned += n;
                Skipped { pending, probes: n }
            }
            _ => Skipped { pending: cpu, probes: 0 },
        }
    }

    /// Makes up to `n` probes of a scan for a core in an LLC of pairs, as long as whole cores of one kind are passed.
    fn skip_cores(
        &mut self,
        cpu: Cpu,
        n: u32,
        rules: &Rules<'_>,
        idle: &IdleCores,
        count: &mut SearchCount,
    ) -> Skipped {
        let none = Skipped { pending: cpu, probes: 0 };
        let smt_mask = &rules.domains.smt_mask;
        if !self.one_per_core || smt_mask[self.core.cpu as usize].first() != Some(cpu) {
            return none;
        }
        // As long as no idle CPU is kept, both CPUs of a busy core are probed; then only the first, unless it is idle.
        let keeps = rules.idle_search == IdleSearch::OneScan && self.idle_cpu.is_none();
        let (stops, probes) = if keeps { (&idle.any, 2) } else { (&idle.first, 1) };
        if stops.test(self.core.cpu) {
            return none;
        }
        let mut position = self.position;
        let next = position.next_and_count(&self.cpus, stops);
        let cores = (next.passed + 1).min(n / probes);
        if cores == 0 {
            return none;
        }
        let mut position = self.position;
        let Some(core) = position.skip(&self.cpus, cores) else { return none };
        self.position = position;
        self.core = Core { cpu: core, idle: true };
        count.scanned += cores * probes;
        Skipped { pending: smt_mask[core as usize].first().unwrap_or(core), probes: cores * probes }
    }
}
