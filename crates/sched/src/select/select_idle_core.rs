//! `select_idle_core()`: whether all CPUs of a core are idle, one probe at a time.
//!
//! ```text
//! select_idle_core(p, core, cpus, &idle_cpu):                 6.1
//!     idle = true
//!     for cpu in cpu_smt_mask(core):                          one Scan::probe_core each
//!         if !available_idle_cpu(cpu):
//!             idle = false
//!             if idle_cpu is not set:
//!                 if sched_idle_cpu(cpu) and p may use it:  idle_cpu = cpu; break
//!                 continue
//!             break
//!         if idle_cpu is not set and p may use it:  idle_cpu = cpu
//!     if idle: return core
//!     cpus &= ~cpu_smt_mask(core)
//!     return -1
//! ```
//!
//! Up to 5.11 no idle CPU is kept on the way, and the loop over the cores belongs to this function.

use super::decision::{Reason, SearchCount};
use super::policy::{self, About, Recorded, Switch};
use super::select_idle_cpu::{Scan, ScanNext};
use super::select_idle_sibling::takes_sched_idle;
use super::select_task_rq_fair::Cx;
use super::{Event, Observer, Probe, SearchView, Site};
use crate::cpumask::{Cpu, CpuMask};
use wakelab_kernel::{Feature, IdleSearch};

/// SIS_CORE, the switch of the scan for an idle core.
pub(super) const SIS_CORE: About = About {
    switches: &[Switch {
        feature: Feature::SIS_CORE,
        does: "on by default: the LLC is scanned for an idle core while `has_idle_cores` is set. `NO_SIS_CORE` turns \
            it off",
        recorded: Recorded::Yes,
    }],
    tunables: &[],
};

/// SIS_SINGLE_PASS: the scan for a core is the scan for a CPU, too.
///
/// "[PATCH v5 0/4] Scan for an idle sibling in a single pass", Mel Gorman after Peter Zijlstra, 27 January 2021, merged
/// for 5.12. It acts on versions that make three scans. The siblings of a busy target are not looked at, the scan
/// starts at the target, an idle CPU that the scan for a core has passed is taken where no core is idle, without a
/// limit, and that scan's time is not entered into `avg_scan_cost`. 5.18 has more changes.
pub(super) const SIS_SINGLE_PASS: About = About {
    switches: &[Switch {
        feature: Feature::SIS_SINGLE_PASS,
        does: "up to 5.11: one scan of the LLC for a core and a CPU instead of three. If no core is idle, it takes the \
               first idle CPU of the whole LLC, and does not treat the target's siblings specially",
        recorded: Recorded::Yes,
    }],
    tunables: &[],
};

/// The core that is being probed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Core {
    /// The CPU by which the scan came to it.
    pub(super) cpu: Cpu,
    /// All its CPUs that were probed are idle.
    pub(super) idle: bool,
}

impl Scan {
    /// Probes one CPU of the core and advances: to its next sibling, or past the core.
    #[inline]
    pub(super) fn probe_core<V: SearchView, O: Observer>(
        &mut self,
        cpu: Cpu,
        cx: Cx<'_, V>,
        target: Cpu,
        count: &mut SearchCount,
        observer: &mut O,
    ) -> ScanNext {
        let may_use = |cpus: &CpuMask| {
            if self.one_per_core {
                // The wakee may use all of the LLC, and siblings are in it.
                true
            } else if cx.rules.code.core_scan_by_span {
                cpus.test(cpu)
            } else {
                cx.wakeup.wakee.cpus_ptr.test(cpu)
            }
        };
        let keeps_cpus = cx.rules.idle_search == IdleSearch::OneScan;
        let idle = cx.view.available_idle_cpu(cpu);
        let mut core_ends = false;
        let mut sched_idle = None;
        if idle {
            if keeps_cpus && self.idle_cpu.is_none() && may_use(&self.cpus) {
                self.idle_cpu = Some(cpu);
            }
        } else {
            self.core.idle = false;
            if keeps_cpus && self.idle_cpu.is_none() {
                let free = cx.view.sched_idle_cpu(cpu);
                sched_idle = Some(free);
                if free && takes_sched_idle(cx.rules, cx.wakeup) && may_use(&self.cpus) {
                    self.idle_cpu = Some(cpu);
                    core_ends = true;
                }
            } else {
                core_ends = !cx.rules.code.core_scan_whole;
            }
        }
        observer.event(Event::Probe(Probe { site: Site::Core, cpu, idle, sched_idle }));

        let siblings = &cx.rules.domains.smt_mask[self.core.cpu as usize];
        if !core_ends && let Some(next) = siblings.next_from(cpu + 1) {
            count.scanned += 1;
            return ScanNext::Probe(next);
        }
        if self.core.idle {
            if !policy::cache_hot_cpu(self.core.cpu, cx, count.scanned.saturating_sub(2)) {
                return ScanNext::Found(self.core.cpu, Reason::Core);
            }
            // Its CPUs stay in the mask: the walk comes to the siblings, too.
        } else if !self.one_per_core {
            self.cpus.andnot_with(siblings);
        }
        self.advance(cx.rules, target, count)
    }
}
