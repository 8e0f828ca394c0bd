//! How often each reason decided.

use super::decider::Decider;
use super::explain::Filter;
use super::progress::{FileOutcome, Progress};
use super::rows::{SourceKinds, read_files};
use std::collections::BTreeMap;
use std::path::PathBuf;
use wakelab_sched::select::{Reason, Select, WakeFlags};

/// The rows that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// The kernel (`v6.12`).
    pub kernel: &'static str,
    /// The load, with the features that were switched for it.
    pub load: String,
    /// The kind of wake-up: `TTWU`, `TTWU|SYNC`, `FORK`, `EXEC`.
    pub flags: &'static str,
}

/// The number of rows by reason.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The rows that are not counted, because their state changed meanwhile.
    pub unstable: u64,
    /// Who made the decisions.
    pub kinds: SourceKinds,
    /// The number of rows by group and reason.
    pub groups: BTreeMap<Group, BTreeMap<Reason, u64>>,
}

impl Summary {
    /// The number of rows by reason, of all groups.
    pub fn reasons(&self) -> BTreeMap<Reason, u64> {
        let mut all = BTreeMap::new();
        for (&reason, rows) in self.groups.values().flatten() {
            *all.entry(reason).or_default() += rows;
        }
        all
    }
}

/// Returns the name of the kind of wake-up.
pub fn flags_name(flags: WakeFlags) -> &'static str {
    if flags.contains(WakeFlags::FORK) {
        "FORK"
    } else if flags.contains(WakeFlags::EXEC) {
        "EXEC"
    } else if flags.contains(WakeFlags::SYNC) {
        "TTWU|SYNC"
    } else {
        "TTWU"
    }
}

/// Counts the reasons of the stable rows of `files` that pass `filter`.
pub fn summarize(
    files: &[PathBuf],
    decider: &Decider,
    filter: &Filter,
    progress: &dyn Progress,
) -> (Summary, Vec<FileOutcome<()>>) {
    let outcomes = read_files(files, decider, progress, |(counted, select): &mut (Summary, Select), row, topo| {
        if !filter.takes(row) {
            return;
        }
        counted.kinds.add(row);
        if !row.stable {
            counted.unstable += 1;
            return;
        }
        let reason = decider.decide(row, topo, select, &mut ()).reason;
        let load = if row.variant == "default" { row.load.clone() } else { format!("{}+{}", row.load, row.variant) };
        let group = Group { kernel: topo.preset.name, load, flags: flags_name(row.wake_flags) };
        *counted.groups.entry(group).or_default().entry(reason).or_default() += 1;
    });
    let mut total = Summary::default();
    let mut files = Vec::with_capacity(outcomes.len());
    for FileOutcome { path, value: (counted, _), error } in outcomes {
        total.unstable += counted.unstable;
        total.kinds.merge(counted.kinds);
        for (group, reasons) in counted.groups {
            let sums = total.groups.entry(group).or_default();
            for (reason, rows) in reasons {
                *sums.entry(reason).or_default() += rows;
            }
        }
        files.push(FileOutcome { path, value: (), error });
    }
    (total, files)
}
