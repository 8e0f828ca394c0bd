//! `select_idle_smt()`: the siblings of the previous CPU, one probe at a time.
//!
//! ```text
//! select_idle_smt(p, sd, target):                             6.1; called for prev, before the scan of the LLC
//!     for_each_cpu_and(cpu, cpu_smt_mask(target), p->cpus_ptr):
//!         if cpu == target: continue
//!         if cpu is not in sd: continue
//!         if available_idle_cpu(cpu) || sched_idle_cpu(cpu): return cpu
//!     return -1
//! ```
//!
//! Up to 5.11 it comes last, after both scans, and probes the siblings of the target.

use super::decision::Reason;
use super::select_idle_sibling::choose_idle_cpu;
use super::select_task_rq_fair::{Chosen, Cx, Select, Stage};
use super::{Event, Observer, Rules, SearchView, Site, Wakeup};
use crate::cpumask::Cpu;
use wakelab_kernel::{IdleSearch, SmtScan};

impl Select {
    /// Goes on to the next sibling of `of` at or above `from`, or past the siblings.
    #[inline]
    pub(super) fn next_sibling<V: SearchView, O: Observer>(
        &mut self,
        of: Cpu,
        from: Cpu,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if from == 0 {
            observer.event(Event::SelectIdleSmt { of });
        }
        // None: any CPU will do.
        let span = match cx.rules.code.smt_scan {
            SmtScan::OtherOfAnyDomain => None,
            _ => cx.rules.domains.sd_llc(self.target).map(|sd| &sd.span),
        };
        let mut from = from;
        while let Some(cpu) = cx.rules.domains.smt_mask[of as usize].next_from(from) {
            from = cpu + 1;
            if cx.rules.code.smt_scan != SmtScan::WholeCore && cpu == of {
                continue;
            }
            // Counted before the affinity test, as the posting's statistics do.
            self.count.scanned += 1;
            if cx.wakeup.wakee.cpus_ptr.test(cpu) && span.is_none_or(|span| span.test(cpu)) {
                self.stage = Stage::Smt(cpu);
                return None;
            }
        }
        match cx.rules.idle_search {
            IdleSearch::OneScan => self.begin_scan(false, cx, observer),
            IdleSearch::ThreeScans => self.fall_through(cx, observer),
        }
    }

    #[inline]
    pub(super) fn probe_sibling<V: SearchView, O: Observer>(
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

    /// The CPU whose siblings are probed: the previous CPU, before 5.12 the target.
    #[inline]
    fn sibling_of(&self, rules: &Rules<'_>, wakeup: &Wakeup<'_>) -> Cpu {
        match rules.idle_search {
            IdleSearch::OneScan => wakeup.wakee.prev_cpu,
            IdleSearch::ThreeScans => self.target,
        }
    }
}
