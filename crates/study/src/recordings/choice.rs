//! Which decisions of several files are explained: the first from a time on, or those whose wakees waited longest.

use super::decider::Decider;
use super::explain::{Explained, Filter, explain_file};
use super::least::Least;
use super::progress::Progress;
use super::stats;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use wakelab_events::ReadError;
use wakelab_events::stream::Source;

/// Explains the first `most` decisions that pass `filter`, by their start: rows are ordered by the end of their
/// decision and files by name. Returns what `explanation` makes of each, and the errors of files that cannot be read to
/// their end.
pub fn earliest<T>(
    files: &[PathBuf],
    decider: &Decider,
    filter: &Filter,
    most: usize,
    progress: &dyn Progress,
    mut explanation: impl FnMut(&Explained<'_>) -> T,
) -> (Vec<T>, Vec<ReadError>) {
    let (mut first, mut errors) = (Least::new(most), Vec::new());
    for (number, file) in files.iter().enumerate() {
        let result = explain_file(file, decider, filter, progress, |explained| {
            first.offer((explained.row.t_ns, number, explained.row.seq), || explanation(&explained));
            true
        });
        progress.file(file);
        errors.extend(result.err());
    }
    (first.into_values().collect(), errors)
}

/// By file: how long wakees waited, ns, by the start of the decision and the wakee.
pub type Waits = BTreeMap<PathBuf, HashMap<(u64, i64), u64>>;

/// Returns the `most` longest waits of all sources, as [`stats::slowest`] finds them, and the errors of sources that
/// cannot be read.
pub fn longest_waits(
    sources: &[Source],
    most: usize,
    filter: &Filter,
    decider: &Decider,
    progress: &dyn Progress,
) -> (Waits, Vec<ReadError>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for source in sources {
        match stats::slowest(source, most, filter, decider, progress) {
            Ok(slow) => found.extend(slow),
            Err(error) => errors.push(error),
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    found.truncate(most);
    let mut waits = Waits::new();
    for slow in found {
        waits.entry(slow.file).or_default().insert((slow.t_ns, slow.wakee_pid), slow.wait_ns);
    }
    (waits, errors)
}

/// Explains the decisions with these waits that pass `filter`, the longest wait first. Returns what `explanation` makes
/// of each, and the errors of files that cannot be read to their end.
pub fn slowest<T>(
    waits: Waits,
    decider: &Decider,
    filter: &Filter,
    progress: &dyn Progress,
    mut explanation: impl FnMut(&Explained<'_>) -> T,
) -> (Vec<T>, Vec<ReadError>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for (file, waits) in waits {
        let only = Some(waits.keys().copied().collect());
        let filter = Filter { only, waits, ..filter.clone() };
        let result = explain_file(&file, decider, &filter, progress, |explained| {
            found.push((explained.wait_ns.unwrap_or(0), explanation(&explained)));
            true
        });
        progress.file(&file);
        errors.extend(result.err());
    }
    found.sort_by_key(|(wait, _)| Reverse(*wait));
    (found.into_iter().map(|(_, explanation)| explanation).collect(), errors)
}
