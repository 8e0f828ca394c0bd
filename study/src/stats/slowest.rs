//! The wake-ups after which the wakee waited longest.

use super::about;
use super::merge::{Listener, Waiting, merge};
use super::wakes::{Found, Stream};
use crate::Question;
use crate::explain::Filter;
use crate::walk::{Progress, ROWS_A_TICK};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use wakelab_events::ReadError;
use wakelab_events::stream::Source;

/// A wake-up with a long wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slow {
    /// How long the wakee waited until it ran, ns.
    pub wait_ns: u64,
    /// The file with the decision.
    pub file: PathBuf,
    /// The decision's `t_ns` and wakee.
    pub t_ns: u64,
    /// Who was woken.
    pub wakee_pid: i64,
}

struct Longest<'a> {
    most: usize,
    filter: &'a Filter,
    heap: BinaryHeap<Reverse<(u64, u64, i64, usize)>>,
    /// Wake-ups since progress was told.
    rows: u64,
    progress: &'a dyn Progress,
}

impl Listener for Longest<'_> {
    fn wake(&mut self, found: &Found) -> bool {
        self.rows += 1;
        if self.rows == ROWS_A_TICK {
            self.progress.rows(std::mem::take(&mut self.rows));
        }
        let (wake, filter) = (&found.wake, self.filter);
        filter.pid.is_none_or(|pid| pid == wake.waker_pid || pid == wake.wakee_pid)
            && filter.comm.as_ref().is_none_or(|comm| **comm == *wake.waker_comm || **comm == *wake.wakee_comm)
            && filter.reason.is_none_or(|reason| found.decision.is_some_and(|(of, _)| of == reason))
    }

    fn ran(&mut self, waiting: &Waiting, ns: u64) {
        self.heap.push(Reverse((ns, waiting.t_ns, waiting.pid, waiting.place.0)));
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    fn balanced(&mut self, _: u64) {}
}

/// The `most` longest waits of a source, the longest first, of those that `filter` takes: by who wakes or is woken, by the
/// reason under `question`, as `explain` shows it.
///
/// # Errors
/// Where the source cannot be read, or has no switches, which tell when tasks ran.
pub fn slowest(
    source: &Source,
    most: usize,
    filter: &Filter,
    question: &Question,
    progress: &dyn Progress,
) -> Result<Vec<Slow>, ReadError> {
    if !super::has_waits(source) {
        return Err(ReadError::of_file(source.path(), "no switches beside the decisions, so that no wait is known")
            .with_hint("name the folder of a recording that has switches-*.parquet"));
    }
    let files = source.decisions();
    let mut longest = Longest { most, filter, heap: BinaryHeap::new(), rows: 0, progress };
    // Only a question about reasons has choices made again.
    let wakes = match filter.reason {
        Some(_) if !files.is_empty() => Stream::asked(source, question),
        _ => Stream::of(source, &about(source)?),
    };
    merge(source, wakes, progress, &mut longest)?;
    progress.rows(longest.rows);
    files.iter().for_each(|file| progress.file(file));
    let mut found: Vec<_> = longest.heap.into_iter().map(|Reverse(one)| one).collect();
    found.sort_by(|a, b| b.cmp(a));
    let slow = found.into_iter().map(|(wait_ns, t_ns, wakee_pid, left)| {
        // The stream tells how many files were left when it read the row.
        let at = files.len().saturating_sub(1 + left);
        Slow { wait_ns, file: files.get(at).cloned().unwrap_or_default(), t_ns, wakee_pid }
    });
    Ok(slow.collect())
}
