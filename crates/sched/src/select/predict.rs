//! Predicting the end of a decision in simulated time.
//!
//! Each probe takes time, so a simulator would need an event for each. It needs one for the whole decision if it
//! finishes a copy of it on the present state: that is the prediction. It predicts anew, from the probe that is due
//! then, if a CPU that is still to be probed ([`Select::may_probe`]) goes idle or busy, or if what the search policies
//! read changes before the scan begins ([`Select::before_scan`], [`Select::before_policies`]).

use super::decision::{Decision, Reason};
use super::select_idle_cpu::Scan;
use super::select_task_rq_fair::{Cx, Select, Stage};
use super::{Rules, View, Wakeup};
use crate::cpumask::{Cpu, Wrap};
use wakelab_kernel::IdleSearch;

/// The range of CPUs that the scan of a decision has probed: a quick test that rules most CPUs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanRange {
    /// No CPU.
    None,
    /// The CPUs from `start` on, around to `end`, or all.
    Wrap {
        /// Where the scan began.
        start: Cpu,
        /// Where it ended.
        end: Option<Cpu>,
    },
    /// Possibly all.
    All,
}

impl ScanRange {
    /// Whether the scan may have probed `cpu`.
    #[inline]
    pub fn may_contain(self, cpu: Cpu) -> bool {
        match self {
            ScanRange::None => false,
            ScanRange::Wrap { start, end } => Wrap::new(start).comes_to(cpu, end),
            ScanRange::All => true,
        }
    }
}

impl Select {
    /// The range that the scan of a decision that is made has probed.
    #[inline]
    pub fn scan_range(&self, rules: &Rules<'_>, decision: &Decision) -> ScanRange {
        let domains = rules.domains;
        // With capacities even the fast paths read siblings.
        if rules.idle_search == IdleSearch::ThreeScans
            || domains.cluster_active
            || domains.asym_cpucap_active
            || rules.late_reads()
        {
            return ScanRange::All;
        }
        match decision.reason {
            _ if decision.count.domain_search == 0 => ScanRange::None,
            Reason::Smt | Reason::Overloaded => ScanRange::None,
            Reason::Scan if !self.scan.has_idle_core => {
                ScanRange::Wrap { start: self.scan.plan.start, end: Some(decision.cpu) }
            }
            _ => ScanRange::All,
        }
    }

    /// How many probes of the domain search have been made: those of wake_affine() and the fast paths take no time.
    #[inline]
    pub fn probes(&self) -> u32 {
        // The fast paths count as one scan, and a probe is counted before it is made.
        let pending = u32::from(matches!(self.stage, Stage::Smt(_) | Stage::Scan(_) | Stage::Capacity(_)));
        self.count.scanned.saturating_sub(1 + pending)
    }

    /// Makes probes until there are `probes` of them, or the decision is made. A decision may pass the number, because
    /// a sibling outside the wakee's affinity is counted without a probe.
    pub fn probe_until<V: View>(&mut self, probes: u32, cx: Cx<'_, V>) -> Option<Decision> {
        loop {
            let left = probes.saturating_sub(self.probes());
            if left == 0 {
                return None;
            }
            if let (Stage::Scan(cpu), Some(idle)) = (self.stage, cx.view.idle_mask())
                && left > 1
                && !idle.test(cpu)
                && let Some(cores) = cx.view.idle_cores()
            {
                // A probe that would end the scan is not skipped: in a scan for a CPU that of the next idle CPU.
                let skipped = self.scan.skip(cpu, left - 1, cx.rules, cores, &mut self.count);
                self.stage = Stage::Scan(skipped.pending);
            }
            if let Some(chosen) = self.probe_stage(cx, &mut ()) {
                return Some(self.decision(chosen));
            }
        }
    }

    /// Whether the next step is `wake_affine()`, `wake_on_current()` or energy-aware placement, which read loads,
    /// running tasks and utilisation besides whether CPUs are idle.
    #[inline]
    pub fn reads_averages(&self) -> bool {
        matches!(self.stage, Stage::Energy | Stage::Current | Stage::Affine)
    }

    /// The CPU around which the search is made.
    #[inline]
    pub fn target(&self) -> Cpu {
        self.target
    }

    /// Whether `has_idle_cores` is still to be read, of whatever LLC.
    #[inline]
    pub fn before_scan(&self, rules: &Rules<'_>) -> bool {
        match self.stage {
            Stage::Done => false,
            Stage::Scan(_) => rules.late_reads(),
            _ => true,
        }
    }

    /// Whether the search policies, and `nr_idle_scan` and the clocks that they read, are still to be asked. Up to 5.11
    /// a scan for a core comes before the one on which they act.
    #[inline]
    pub fn before_policies(&self, rules: &Rules<'_>) -> bool {
        self.before_scan(rules) || (self.stage != Stage::Done && self.scan.is_first_of_two(rules))
    }

    /// Whether the decision may still probe `cpu` before its predicted end: `finished` is the copy that was finished,
    /// `predicted` what it decided. True as well if the answer would not be cheap.
    #[inline]
    pub fn may_probe(
        &self,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        finished: &Select,
        predicted: &Decision,
        cpu: Cpu,
    ) -> bool {
        // Up to 5.11 up to three scans follow each other. With capacities even the fast paths read siblings.
        if rules.idle_search == IdleSearch::ThreeScans || rules.domains.asym_cpucap_active || rules.late_reads() {
            return self.stage != Stage::Done;
        }
        // An idle CPU that was kept while searching for a core lies on the way, not at the end. One in another cluster
        // was kept before a scan that found none.
        let far = matches!(predicted.reason, Reason::PrevFar | Reason::RecentFar);
        let ends = !predicted.reason.is_failed_search() && predicted.reason != Reason::CoreCpu && !far;
        let found = ends.then_some(predicted.cpu);
        match self.stage {
            Stage::Done => false,
            // v9 of SIS_CLUSTER looks at these again in the end.
            Stage::Scan(_) if self.prev_far == Some(cpu) || self.recent_far == Some(cpu) => true,
            Stage::Scan(next) => next == cpu || self.scan.may_probe(rules, cpu, found),
            Stage::Energy | Stage::Current | Stage::Affine | Stage::Capacity(_) | Stage::Slow(_) => true,
            Stage::Target | Stage::Prev | Stage::Recent(_) | Stage::Smt(_) => {
                let prev = wakeup.wakee.prev_cpu;
                cpu == self.target
                    || cpu == prev
                    || wakeup.wakee.recent_used_cpu == Some(cpu)
                    || (predicted.count.domain_search == 1
                        && (rules.domains.smt_mask[prev as usize].test(cpu)
                            || ((far
                                || matches!(
                                    predicted.reason,
                                    Reason::Scan | Reason::Core | Reason::CoreCpu | Reason::None | Reason::Limit
                                ))
                                && rules.domains.cpus_share_cache(cpu, self.target)
                                && finished.scan.whole_may_probe(rules, cpu, found))))
            }
        }
    }
}

impl Scan {
    /// Whether the scan, from its position to where it would end at `found` (or without a CPU), probes `cpu`. True as
    /// well if the answer would not be cheap.
    #[inline]
    fn may_probe(&self, rules: &Rules<'_>, cpu: Cpu, found: Option<Cpu>) -> bool {
        if self.in_cluster {
            return true;
        }
        if !self.has_idle_core {
            return self.cpus.test(cpu) && self.position.comes_to(cpu, found);
        }
        let smt_mask = &rules.domains.smt_mask;
        if self.one_per_core {
            let first = |cpu: Cpu| self.cpus.next_from_and(&smt_mask[cpu as usize], 0);
            return smt_mask[self.core.cpu as usize].test(cpu)
                || first(cpu).is_some_and(|cpu| self.position.comes_to(cpu, found.and_then(first)));
        }
        // The core that is being probed has left the mask already.
        smt_mask[self.core.cpu as usize].test(cpu)
            || comes_to_core(rules, &self.position, cpu, found, |cpu| self.cpus.test(cpu))
    }

    /// Whether the whole of a scan that is over may have probed `cpu`.
    #[inline]
    fn whole_may_probe(&self, rules: &Rules<'_>, cpu: Cpu, found: Option<Cpu>) -> bool {
        let position = Wrap::new(self.plan.start);
        if rules.domains.cluster_active {
            return true;
        }
        if !self.has_idle_core {
            position.comes_to(cpu, found)
        } else {
            comes_to_core(rules, &position, cpu, found, |_| true)
        }
    }
}

/// Whether a scan for a core comes to the core of `cpu`, by any of its CPUs that is in the scan, before it has passed
/// the core of `found`.
#[inline]
fn comes_to_core(
    rules: &Rules<'_>,
    position: &Wrap,
    cpu: Cpu,
    found: Option<Cpu>,
    in_scan: impl Fn(Cpu) -> bool,
) -> bool {
    let siblings = |of: Cpu| rules.domains.smt_mask[of as usize].iter();
    siblings(cpu).any(|cpu| {
        in_scan(cpu)
            && match found {
                Some(found) => siblings(found).any(|end| position.comes_to(cpu, Some(end))),
                None => position.comes_to(cpu, None),
            }
    })
}
