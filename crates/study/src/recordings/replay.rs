//! What other features would have chosen at each recorded wake-up. The recorded states stay as they are, so that this
//! is the first-order effect of a change and no more.

use super::decider::{Decider, DeciderError};
use super::progress::{FileOutcome, Progress};
use super::rows::{SourceKinds, read_files};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use wakelab_events::{Row, TopoFile};
use wakelab_kernel::Feature;
use wakelab_measure::SearchStats;
use wakelab_sched::select::{Decision, Reason, Select};

/// One set of features over all wake-ups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// The search statistics.
    pub search: SearchStats,
    /// The choices by reason.
    pub reasons: BTreeMap<Reason, u64>,
    /// The searches in which perfect knowledge finds an idle CPU, starting from the target of this side.
    pub idle_existed: u64,
    /// Those of `idle_existed` that ended on a busy CPU: SIS_ORACLE would not have missed it.
    pub missed: u64,
    /// The searches that ended on an idle CPU.
    pub found: u64,
    /// The probes of domain searches in which no idle CPU was to be found.
    pub futile: u64,
}

/// The choices with one reason as recorded and another then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The number of wake-ups.
    pub rows: u64,
    /// The wake-ups that get another CPU.
    pub other_cpu: u64,
}

/// The result of a replay.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// The wake-ups that were decided twice.
    pub rows: u64,
    /// The wake-ups that were not decided, because their state changed meanwhile, or because an input is not known.
    pub unscored: u64,
    /// Those of `unscored` with an input that is neither recorded nor assumed.
    pub lacking: u64,
    /// The wake-ups at which an assumed value was read.
    pub assumed: u64,
    /// Those of `assumed` for which the value was recorded, too, and not used.
    pub overridden: u64,
    /// Who made the decisions.
    pub kinds: SourceKinds,
    /// The kernels (`v6.12`) of the decided wake-ups.
    pub kernels: BTreeSet<&'static str>,
    /// The wake-ups that get another CPU.
    pub other_cpu: u64,
    /// Those of `other_cpu` that go from a busy CPU to an idle one.
    pub gained: u64,
    /// Those of `other_cpu` that go from an idle CPU to a busy one.
    pub lost: u64,
    /// The changes by the reason as recorded and the reason then.
    pub changes: BTreeMap<(Reason, Reason), Change>,
    /// The features of the recording.
    pub base: Side,
    /// The switched features.
    pub with: Side,
}

/// A decider, as it is and with SIS_ORACLE.
#[derive(Clone, Debug)]
struct Asked {
    decider: Decider,
    oracle: Decider,
}

impl Asked {
    fn new(decider: &Decider) -> Result<Self, DeciderError> {
        Ok(Asked { decider: decider.clone(), oracle: decider.and(Feature::SIS_ORACLE, true)? })
    }

    fn decide(&self, row: &Row, topo: &TopoFile, select: &mut Select, side: &mut Side) -> Decision {
        let decision = self.decider.decide(row, topo, select, &mut ());
        side.search.add(&decision.count);
        *side.reasons.entry(decision.reason).or_default() += 1;
        if decision.count.search == 1 {
            let best = self.oracle.decide(row, topo, select, &mut ());
            let existed = !best.reason.is_failed_search() && takes(row, best.cpu);
            let found = takes(row, decision.cpu);
            side.idle_existed += u64::from(existed);
            side.found += u64::from(found);
            side.missed += u64::from(existed && !found);
            if !existed && decision.count.domain_search == 1 {
                side.futile += u64::from(decision.count.scanned.saturating_sub(1));
            }
        }
        decision
    }
}

/// Whether a CPU was idle for the wakee, or ran only SCHED_IDLE tasks.
fn takes(row: &Row, cpu: u32) -> bool {
    row.idle_mask.test(cpu) || row.sched_idle_mask.test(cpu)
}

/// Replays all wake-ups of `files` that can be decided again.
///
/// # Errors
/// Fails if the features cannot be replayed, whatever the recording.
pub fn replay(
    files: &[PathBuf],
    decider: &Decider,
    progress: &dyn Progress,
) -> Result<(Replay, Vec<FileOutcome<()>>), DeciderError> {
    let recorded = Decider::as_recorded().assuming(*decider.assumed());
    let (base, with) = (Asked::new(&recorded)?, Asked::new(decider)?);
    let outcomes = read_files(files, decider, progress, |(counted, select): &mut (Replay, Select), row, topo| {
        counted.kinds.add(row);
        // The decision as recorded needs all inputs, too.
        if !row.stable || recorded.lacks(row, topo).is_some() {
            counted.unscored += 1;
            counted.lacking += u64::from(row.stable);
            return;
        }
        counted.rows += 1;
        counted.kernels.insert(topo.preset.name);
        if [&base, &with].iter().any(|side| side.decider.features(row).has(Feature::SIS_PROP)) {
            let (read, recorded_too) = decider.assumed().used(&row.scan, topo.preset.code.sis_prop);
            counted.assumed += u64::from(read);
            counted.overridden += u64::from(recorded_too);
        }
        let before = base.decide(row, topo, select, &mut counted.base);
        let then = with.decide(row, topo, select, &mut counted.with);
        let change = counted.changes.entry((before.reason, then.reason)).or_default();
        change.rows += 1;
        if before.cpu != then.cpu {
            change.other_cpu += 1;
            counted.other_cpu += 1;
            counted.gained += u64::from(!takes(row, before.cpu) && takes(row, then.cpu));
            counted.lost += u64::from(takes(row, before.cpu) && !takes(row, then.cpu));
        }
    });
    let mut total = Replay::default();
    let outcomes = outcomes.into_iter().map(|FileOutcome { path, value: (counted, _), error }| {
        total.merge(&counted);
        FileOutcome { path, value: (), error }
    });
    let outcomes = outcomes.collect();
    Ok((total, outcomes))
}

impl Replay {
    fn merge(&mut self, other: &Replay) {
        self.rows += other.rows;
        self.unscored += other.unscored;
        self.lacking += other.lacking;
        self.assumed += other.assumed;
        self.overridden += other.overridden;
        self.kinds.merge(other.kinds);
        self.kernels.extend(&other.kernels);
        self.other_cpu += other.other_cpu;
        self.gained += other.gained;
        self.lost += other.lost;
        for (&key, change) in &other.changes {
            let sum = self.changes.entry(key).or_default();
            sum.rows += change.rows;
            sum.other_cpu += change.other_cpu;
        }
        self.base.merge(&other.base);
        self.with.merge(&other.with);
    }
}

impl Side {
    fn merge(&mut self, other: &Side) {
        self.search += other.search;
        for (&reason, n) in &other.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
        self.idle_existed += other.idle_existed;
        self.missed += other.missed;
        self.found += other.found;
        self.futile += other.futile;
    }
}
