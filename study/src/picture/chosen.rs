//! Wake-ups that are explained on a page.

use crate::Question;
use crate::explain::{Explained, Filter, explain_file};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::{ReadError, Row, TopoFile};
use wakelab_sched::select::{Decision, Event, Reason};

/// Why a wake-up is explained, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyChosen {
    /// It was asked for.
    Asked,
    /// Its wakee waited longest until it ran, so long, ns.
    Slowest(u64),
    /// It is the first with this reason, of those whose state held still if there is one.
    First(Reason),
}

/// A wake-up with its explanation.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Why it is shown.
    pub why: WhyChosen,
    /// The recording.
    pub file: PathBuf,
    /// The row.
    pub row: Row,
    /// The machine.
    pub topo: Arc<TopoFile>,
    /// What the decision code did, in order.
    pub steps: Vec<Event>,
    /// What it came to.
    pub decision: Decision,
    /// Whether another feature set than the recorded one was asked for.
    pub switched: bool,
    /// How long the wakee then waited until it ran, ns, where that is known.
    pub wait_ns: Option<u64>,
}

impl Chosen {
    /// A copy of an explanation.
    pub fn of(explained: &Explained<'_>, why: WhyChosen) -> Self {
        Chosen {
            why,
            file: explained.file.to_owned(),
            row: explained.row.clone(),
            topo: Arc::clone(explained.topo),
            steps: explained.steps.to_vec(),
            decision: explained.decision,
            switched: explained.switched,
            wait_ns: match why {
                WhyChosen::Slowest(ns) => Some(ns),
                _ => explained.wait_ns,
            },
        }
    }

    /// As it is explained.
    pub fn explained(&self) -> Explained<'_> {
        Explained {
            file: &self.file,
            row: &self.row,
            topo: &self.topo,
            steps: &self.steps,
            decision: self.decision,
            switched: self.switched,
            wait_ns: self.wait_ns,
        }
    }
}

/// Those of a folder that `why` takes, by their time and wakee.
pub(super) fn of_folder(folder: &Path, why: impl Fn(u64, i64) -> Option<WhyChosen>) -> Result<Vec<Chosen>, ReadError> {
    let (files, errors) = crate::files::recordings(&[folder.to_owned()]);
    if let Some(error) = errors.into_iter().next() {
        return Err(error);
    }
    let mut found = Vec::new();
    for file in files {
        explain_file(&file, &Question::as_recorded(), &Filter::default(), &(), |explained| {
            let row = explained.row;
            found.extend(why(row.t_ns, row.wakee.pid).map(|why| Chosen::of(explained, why)));
            true
        })?;
    }
    Ok(found)
}

/// Rows of each file among which one for each reason is looked for.
const ROWS_LOOKED_AT: u64 = 100_000;

/// Of recordings: one wake-up for each reason under `question`, of those that `filter` takes, among the first 100,000 rows
/// of each file; before it the slowest, where a wait is among `waits` (by file, then by time and wakee).
///
/// # Errors
/// Where a file cannot be read.
pub fn chosen(
    files: &[PathBuf],
    question: &Question,
    filter: &Filter,
    slowest: Option<(&Path, u64, i64, u64)>,
) -> Result<Vec<Chosen>, ReadError> {
    let mut first: BTreeMap<Reason, Chosen> = BTreeMap::new();
    let mut found = Vec::new();
    for file in files {
        let mut rows = 0;
        explain_file(file, question, filter, &(), |explained| {
            rows += 1;
            let reason = explained.decision.reason;
            let better = first.get(&reason).is_none_or(|one| !one.row.stable && explained.row.stable);
            if better {
                first.insert(reason, Chosen::of(explained, WhyChosen::First(reason)));
            }
            rows < ROWS_LOOKED_AT
        })?;
        if let Some((_, t_ns, pid, wait_ns)) = slowest.filter(|(of, ..)| *of == file) {
            let filter = Filter { waits: Some(HashMap::from([((t_ns, pid), wait_ns)])), ..filter.clone() };
            explain_file(file, question, &filter, &(), |explained| {
                found.push(Chosen::of(explained, WhyChosen::Slowest(wait_ns)));
                false
            })?;
        }
    }
    found.extend(first.into_values());
    found.sort_by_key(|one| one.why);
    Ok(found)
}
