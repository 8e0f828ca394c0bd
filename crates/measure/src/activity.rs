//! [`Activity`]: how often the code ran that features and tunables switch, in the measured time of a run.
//!
//! A comparison of two settings says nothing if the code that reads them never decided anything. These counts tell.

use serde::{Deserialize, Serialize};
use wakelab_events::sim::{Event, Queued};
use wakelab_sched::balance::CpuIdleType;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Affine, Decision, Reason};

/// Counts of the decisions of the scheduler's parts, in the measured time and for all tasks of a run. Whether
/// `nr_idle_scan` had been written is known from the start of the run on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Wake-ups that chose a CPU by the fair class.
    pub decisions: u64,
    /// Counts by reason, in the order of the type ([`Activity::of`]).
    pub reasons: [u64; Reason::ALL.len()],
    /// The wake-ups of which a limit had ended the scan, or kept it from beginning, whatever was chosen then.
    pub limited: u64,
    /// The wake-ups whose target WA_IDLE's rules chose.
    pub affine_idle: u64,
    /// Those for which `wake_affine()` compared loads.
    pub affine_compared: u64,
    /// Those whose target that comparison chose: the waking CPU.
    pub affine_weight: u64,
    /// Those whose target is the waking CPU because its only task is short (SIS_SHORT).
    pub affine_short: u64,
    /// Wake-ups that went through the wakelist of their target.
    pub wakelist: u64,
    /// Forks and execs that were placed.
    pub forks: u64,
    /// Tasks that came to a run queue which had a task already.
    pub queued_behind: u64,
    /// Balance passes over a domain: of idle CPUs, of busy ones, and of CPUs about to go idle.
    pub passes: [u64; 3],
    /// How often `nr_idle_scan` of an LLC was written.
    pub idle_scans: u64,
    /// How often it was written before the measured time.
    pub idle_scans_before: u64,
    /// How often, or of how many LLCs when measuring began, it was below the number of the LLC's CPUs.
    pub idle_scans_below: u64,
}

impl Activity {
    /// The wake-ups with this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.reasons[reason as usize]
    }

    fn decided(&mut self, decision: &Decision, scanned: bool) {
        self.decisions += 1;
        self.reasons[decision.reason as usize] += 1;
        // A scan that ended in vain may be followed by a look at the siblings, or by a CPU that was kept for the end.
        self.limited += u64::from(match decision.reason {
            Reason::Limit | Reason::Overloaded => true,
            Reason::Smt | Reason::PrevFar | Reason::RecentFar => scanned,
            _ => false,
        });
        match decision.affine.rule {
            Affine::WakerIdle | Affine::BothIdle | Affine::Sync | Affine::PrevIdle => self.affine_idle += 1,
            Affine::Short => self.affine_short += 1,
            Affine::Weight => self.affine_weight += 1,
            Affine::NotAsked | Affine::Prev => {}
        }
        self.affine_compared += u64::from(decision.affine.loads.is_some());
    }
}

/// Counts an [`Activity`].
#[derive(Clone, Debug)]
pub(crate) struct Counting {
    counts: Activity,
    settle_ns: u64,
    end_ns: u64,
    /// By CPU: whether its run queue has a task, as far as a task came to it or runs.
    occupied: Vec<bool>,
    /// By LLC: whether `nr_idle_scan` was below its CPUs when it was last written before measuring began.
    below: Vec<(Cpu, bool)>,
}

impl Counting {
    pub(crate) fn new(settle_ns: u64, end_ns: u64, nr_cpus: u32) -> Self {
        let occupied = vec![false; nr_cpus as usize];
        Counting { counts: Activity::default(), settle_ns, end_ns, occupied, below: Vec::new() }
    }

    pub(crate) fn finish(mut self) -> Activity {
        self.counts.idle_scans_below += self.below.iter().filter(|(_, below)| *below).count() as u64;
        self.counts
    }

    #[inline]
    pub(crate) fn event(&mut self, time: u64, event: &Event) {
        let measured = (self.settle_ns..self.end_ns).contains(&time);
        match *event {
            Event::Wakeup { ref decision, queued, scan_began, .. } if measured => {
                if let Some(decision) = decision {
                    self.counts.decided(decision, scan_began.is_some());
                }
                self.counts.wakelist += u64::from(queued == Queued::Wakelist);
            }
            Event::Fork { .. } if measured => self.counts.forks += 1,
            Event::Enqueue { cpu, .. } | Event::Migrate { to: cpu, .. } => {
                let occupied = std::mem::replace(&mut self.occupied[cpu as usize], true);
                self.counts.queued_behind += u64::from(occupied && measured);
            }
            Event::Switch { cpu, next, .. } => self.occupied[cpu as usize] = next.is_some(),
            Event::Balance { idle, .. } if measured => {
                let kind = match idle {
                    CpuIdleType::Idle => 0,
                    CpuIdleType::NotIdle => 1,
                    CpuIdleType::NewlyIdle => 2,
                };
                self.counts.passes[kind] += 1;
            }
            Event::IdleScan { llc, weight, nr_idle_scan: Some(nr), .. } if time < self.end_ns => {
                let below = i64::from(nr) < i64::from(weight);
                if measured {
                    self.counts.idle_scans += 1;
                    self.counts.idle_scans_below += u64::from(below);
                    return;
                }
                self.counts.idle_scans_before += 1;
                match self.below.iter_mut().find(|(first, _)| *first == llc) {
                    Some(known) => known.1 = below,
                    None => self.below.push((llc, below)),
                }
            }
            _ => {}
        }
    }
}
