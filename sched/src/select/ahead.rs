//! Running a decision ahead of time, on the guess that nothing changes on its way.
//!
//! Each look takes time, so a simulator would need an event for every one. It needs one for the whole decision where
//! it runs a copy ahead, takes the end as a guess, and runs ahead again from the present look when a CPU that is still
//! to be looked at ([`Select::may_look_at`]) goes idle or busy.

use super::decision::{Decision, Reason};
use super::step::{Cx, Select, Stage};
use super::{Rules, View, Wakeup};
use crate::cpumask::{Cpu, Wrap};
use wakelab_kernel::IdleSearch;

/// Which CPUs of the LLC a decision passed on its walk, roughly: enough to tell most of the others off cheaply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// None.
    None,
    /// Those from `start` on, around to `end`, or all.
    Walk {
        /// Where the walk began.
        start: Cpu,
        /// Where it ended.
        end: Option<Cpu>,
    },
    /// Possibly all.
    All,
}

impl Path {
    /// Whether it may have passed `cpu`.
    #[inline]
    pub fn passes(self, cpu: Cpu) -> bool {
        match self {
            Path::None => false,
            Path::Walk { start, end } => Wrap::new(start).comes_to(cpu, end),
            Path::All => true,
        }
    }
}

impl Select {
    /// The path of a decision that is made.
    #[inline]
    pub fn path(&self, rules: &Rules<'_>, decision: &Decision) -> Path {
        if rules.code.idle_search == IdleSearch::ThreeWalks || rules.domains.cluster_active {
            return Path::All;
        }
        match decision.reason {
            _ if decision.count.domain_search == 0 => Path::None,
            Reason::Smt | Reason::Overloaded => Path::None,
            Reason::Scan if !self.scan.looks_for_core() => {
                Path::Walk { start: self.scan.start(), end: Some(decision.cpu) }
            }
            _ => Path::All,
        }
    }

    /// How many looks of the walk have been made: those before it, of wake_affine() and the fast paths, take no time.
    #[inline]
    pub fn looks(&self) -> u32 {
        // The fast paths count as one scan, and a probe is counted before it is made.
        let pending = u32::from(matches!(self.stage, Stage::Smt(_) | Stage::Scan(_)));
        self.count.scanned.saturating_sub(1 + pending)
    }

    /// Makes looks until there are `looks` of them, or the decision is made. A decision may pass the number: a sibling
    /// outside the wakee's affinity is counted and not looked at.
    pub fn run_until<V: View>(&mut self, looks: u32, cx: Cx<'_, V>) -> Option<Decision> {
        loop {
            let left = looks.saturating_sub(self.looks());
            if left == 0 {
                return None;
            }
            if let (Stage::Scan(cpu), Some(idle)) = (self.stage, cx.view.idle_mask())
                && left > 1
                && !idle.test(cpu)
                && let Some(cores) = cx.view.idle_cores()
            {
                // A look that would end the walk is not skipped: in a plain walk the next idle CPU.
                let skipped = self.scan.skip(cpu, left - 1, cx.rules, cores, &mut self.count);
                self.stage = Stage::Scan(skipped.pending);
            }
            if let Some(chosen) = self.look(cx, &mut ()) {
                return Some(self.decision(chosen));
            }
        }
    }

    /// Whether the next look is `wake_affine()`'s or that of energy-aware placement, which read loads and utilisation besides
    /// idleness.
    #[inline]
    pub fn at_affine(&self) -> bool {
        matches!(self.stage, Stage::Energy | Stage::Affine)
    }

    /// Whether the LLC's hints (`has_idle_cores`, `nr_idle_scan`) are still to be read.
    #[inline]
    pub fn before_walk(&self) -> bool {
        !matches!(self.stage, Stage::Scan(_) | Stage::Done)
    }

    /// Whether the decision may still look at `cpu` on its way to the guessed end: `ahead` is the copy that was run ahead,
    /// `guess` what it decided. Where that cannot be told cheaply the answer is yes.
    #[inline]
    pub fn may_look_at(
        &self,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        ahead: &Select,
        guess: &Decision,
        cpu: Cpu,
    ) -> bool {
        // Up to 5.11 up to three walks follow each other.
        if rules.code.idle_search == IdleSearch::ThreeWalks {
            return self.stage != Stage::Done;
        }
        // An idle CPU that was kept while looking for a core lies on the way, not at the end.
        let ends = !guess.reason.is_failed_search() && guess.reason != Reason::CoreCpu;
        let found = ends.then_some(guess.cpu);
        match self.stage {
            Stage::Done => false,
            Stage::Scan(next) => next == cpu || self.scan.may_look_at(rules, cpu, found),
            Stage::Energy | Stage::Affine | Stage::Capacity(_) | Stage::Slow(_) => true,
            Stage::Target | Stage::Prev | Stage::Recent(_) | Stage::Smt(_) => {
                let prev = wakeup.wakee.prev_cpu;
                cpu == self.target
                    || cpu == prev
                    || wakeup.wakee.recent_used_cpu == Some(cpu)
                    || (guess.count.domain_search == 1
                        && (rules.domains.smt_mask[prev as usize].test(cpu)
                            || (matches!(
                                guess.reason,
                                Reason::Scan | Reason::Core | Reason::CoreCpu | Reason::None | Reason::Limit
                            ) && rules.domains.cpus_share_cache(cpu, self.target)
                                && ahead.scan.walk_passes(rules, cpu, found))))
            }
        }
    }
}
