//! The wake-ups that a page explains.

use crate::recordings::decider::Decider;
use crate::recordings::explain::{Explained, Filter, explain_file};
use crate::recordings::sources::decision_files;
use crate::recordings::stats::Stats;
use crate::recordings::threads::on_threads;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use wakelab_events::ReadError;
use wakelab_sched::select::Reason;

/// Why a wake-up is explained, in the order of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyExplained {
    /// Its wakee waited longest until it ran; the time, ns.
    Slowest(u64),
    /// It is the first with this reason, if possible one whose row is stable.
    First(Reason),
}

/// A wake-up with its explanation.
#[derive(Clone, Debug)]
pub struct ExplainedWakeup {
    /// Why it is shown.
    pub why: WhyExplained,
    /// The explanation.
    pub explained: Explained<'static>,
}

impl ExplainedWakeup {
    fn of(explained: Explained<'_>, why: WhyExplained) -> Self {
        let wait_ns = match why {
            WhyExplained::Slowest(ns) => Some(ns),
            WhyExplained::First(_) => explained.wait_ns,
        };
        ExplainedWakeup { why, explained: Explained { wait_ns, ..explained.into_owned() } }
    }
}

/// Explains the wake-ups in a folder for which `why` returns a reason, given their time and wakee.
pub(crate) fn of_folder(
    folder: &Path,
    why: impl Fn(u64, i64) -> Option<WhyExplained>,
) -> Result<Vec<ExplainedWakeup>, ReadError> {
    let (files, errors) = decision_files(&[folder.to_owned()]);
    if let Some(error) = errors.into_iter().next() {
        return Err(error);
    }
    let mut found = Vec::new();
    for file in files {
        explain_file(&file, &Decider::as_recorded(), &Filter::default(), &(), |explained| {
            if let Some(why) = why(explained.row.t_ns, explained.row.wakee.pid) {
                found.push(ExplainedWakeup::of(explained, why));
            }
            true
        })?;
    }
    Ok(found)
}

/// Explains the slowest wake-up of the statistics, if it is known, and one wake-up for each reason, if possible one
/// whose row is stable. What cannot be read is left out.
pub fn explained_wakeups(stats: &Stats) -> Vec<ExplainedWakeup> {
    let mut of_files: BTreeMap<&Path, HashSet<(u64, i64)>> = BTreeMap::new();
    for example in stats.values().flat_map(|tally| tally.examples.values().flatten()) {
        of_files.entry(&example.file).or_default().insert((example.t_ns, example.pid));
    }
    let of_files: Vec<_> = of_files.into_iter().collect();
    let of_files: Vec<_> = on_threads(|| of_files.into_par_iter().map(|(file, only)| first_of(file, only)).collect());
    let mut first: BTreeMap<Reason, Explained<'static>> = BTreeMap::new();
    for (reason, one) in of_files.into_iter().flatten() {
        if first.get(&reason).is_none_or(|first| is_better(&one, first)) {
            first.insert(reason, one);
        }
    }
    let of_reason = |(reason, explained)| ExplainedWakeup { why: WhyExplained::First(reason), explained };
    let mut found: Vec<ExplainedWakeup> = first.into_iter().map(of_reason).collect();
    let slowest = stats.values().filter_map(|tally| tally.charts.as_ref()?.slowest.as_ref());
    if let Some(slow) = slowest.max_by_key(|slow| slow.wait_ns) {
        let only = HashSet::from([(slow.t_ns, slow.pid)]);
        let filter = Filter { only: Some(only), ..Filter::default() };
        let _ = explain_file(&slow.file, &Decider::as_recorded(), &filter, &(), |explained| {
            found.push(ExplainedWakeup::of(explained, WhyExplained::Slowest(slow.wait_ns)));
            false
        });
    }
    found.sort_by_key(|one| one.why);
    found
}

fn first_of(file: &Path, only: HashSet<(u64, i64)>) -> BTreeMap<Reason, Explained<'static>> {
    let mut first: BTreeMap<Reason, Explained<'static>> = BTreeMap::new();
    let filter = Filter { only: Some(only), ..Filter::default() };
    let _ = explain_file(file, &Decider::as_recorded(), &filter, &(), |explained| {
        let reason = explained.decision.reason;
        if first.get(&reason).is_none_or(|first| is_better(&explained, first)) {
            first.insert(reason, explained.into_owned());
        }
        true
    });
    first
}

fn is_better(one: &Explained<'_>, first: &Explained<'_>) -> bool {
    !first.row.stable && one.row.stable
}
