//! How long wakees waited until they ran: wake-ups, migrations and switches of a source matched in the order of time.

use crate::recordings::decider::Decider;
use crate::recordings::explain::Filter;
use crate::recordings::least::Least;
use crate::recordings::progress::{Progress, ROWS_PER_REPORT};
use crate::recordings::sources::{about, has_waits};
use crate::recordings::time_ordered::{SourceEvent, TimeOrdered};
use crate::recordings::wakeups::{WakeupStream, WakeupWithReason};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;
use wakelab_events::ReadError;
use wakelab_events::stream::Source;

/// The most tasks that are waited for at a time; a kernel has at most four times as many.
const MOST_WAITING: usize = 1 << 20;

/// Receives what happens, in the order of time.
pub(crate) trait WaitListener {
    /// A wake-up. Returns whether the listener wants its wait.
    fn wake(&mut self, found: &WakeupWithReason) -> bool;
    /// The wakee of a wake-up runs.
    fn ran(&mut self, waiting: &Waiting, ns: u64);
    /// Load balancing moved a task.
    fn balanced(&mut self, at_ns: u64);
    /// Any event, before the other methods are called for it.
    fn item(&mut self, _at_ns: u64, _item: &SourceEvent) {}
    /// Whether the listener also wants the states of CPUs and caches.
    fn wants_states(&self) -> bool {
        false
    }
}

/// A task that was woken and did not run yet.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) t_ns: u64,
    pub(crate) pid: i64,
    pub(crate) comm: Arc<str>,
    pub(crate) dest_cpu: u32,
    pub(crate) place: (usize, u64),
    /// Whether the migration of its wake-up is still to come.
    moves: bool,
    /// Whether it waits to run; an exec only moves.
    waits: bool,
    /// Whether the listener wants its wait.
    told: bool,
}

/// Counts of the waits as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The wake-ups after which the wakee was not seen to run.
    pub(crate) unseen: u64,
}

/// Reads a source to its end, or to an error, and notifies `listener`.
pub(crate) fn match_waits(
    source: &Source,
    wakes: WakeupStream,
    progress: &dyn Progress,
    listener: &mut impl WaitListener,
) -> Result<Ends, ReadError> {
    // The simulator reports only migrations by load balancing.
    let of_wakeups_too = !matches!(source, Source::Simulated(_));
    let watches = has_waits(source);
    let mut waiting: FxHashMap<i64, Waiting> = FxHashMap::default();
    let mut ends = Ends::default();
    TimeOrdered::each(source, wakes, listener.wants_states(), progress, |time, item| {
        listener.item(time, &item);
        match item {
            SourceEvent::Wake(found) => {
                let told = listener.wake(&found);
                let WakeupWithReason { wake, place, .. } = found;
                let moves = of_wakeups_too && wake.prev_cpu.is_none_or(|prev| prev != wake.dest_cpu);
                // Without switches only those are kept whose migration is still to come.
                let kept =
                    (watches || moves) && (waiting.len() < MOST_WAITING || waiting.contains_key(&wake.wakee_pid));
                if kept {
                    let one = Waiting {
                        t_ns: wake.t_ns,
                        pid: wake.wakee_pid,
                        comm: wake.wakee_comm,
                        dest_cpu: wake.dest_cpu,
                        place,
                        moves,
                        waits: !wake.exec && watches,
                        told,
                    };
                    let before = waiting.insert(wake.wakee_pid, one);
                    ends.unseen += u64::from(before.is_some_and(|one| one.waits));
                } else {
                    ends.unseen += u64::from(watches && !wake.exec);
                }
            }
            SourceEvent::Moved(moved) => match waiting.get_mut(&moved.pid) {
                Some(one) if one.moves && one.dest_cpu == moved.to_cpu => one.moves = false,
                _ => listener.balanced(time),
            },
            SourceEvent::Switch(switch) if !switch.idles => {
                if let Some(one) = waiting.remove(&switch.next_pid).filter(|one| one.waits && one.told) {
                    listener.ran(&one, time.saturating_sub(one.t_ns));
                }
            }
            SourceEvent::Switch(_)
            | SourceEvent::Idle(_)
            | SourceEvent::Frequency(_)
            | SourceEvent::Power(_)
            | SourceEvent::Name(_)
            | SourceEvent::Hint(..)
            | SourceEvent::Scx(_) => {}
        }
        Ok::<_, ReadError>(())
    })?;
    ends.unseen += waiting.values().filter(|one| one.waits).count() as u64;
    Ok(ends)
}

/// A wake-up with a long wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlowRow {
    /// The time until the wakee ran, ns.
    pub wait_ns: u64,
    /// The file with the decision.
    pub file: PathBuf,
    /// The start of the decision, `t_ns` of its row.
    pub t_ns: u64,
    /// The wakee.
    pub wakee_pid: i64,
}

struct Longest<'a> {
    filter: &'a Filter,
    waits: Least<Reverse<(u64, u64, i64, usize)>, ()>,
    /// The wake-ups since the last report of progress.
    rows: u64,
    progress: &'a dyn Progress,
}

impl WaitListener for Longest<'_> {
    fn wake(&mut self, found: &WakeupWithReason) -> bool {
        self.rows += 1;
        if self.rows == ROWS_PER_REPORT {
            self.progress.rows(std::mem::take(&mut self.rows));
        }
        let (wake, filter) = (&found.wake, self.filter);
        filter.pid.is_none_or(|pid| pid == wake.waker_pid || pid == wake.wakee_pid)
            && filter.comm.as_ref().is_none_or(|comm| **comm == *wake.waker_comm || **comm == *wake.wakee_comm)
            && filter.reason.is_none_or(|reason| found.decision.is_some_and(|(of, _)| of == reason))
    }

    fn ran(&mut self, waiting: &Waiting, ns: u64) {
        self.waits.offer(Reverse((ns, waiting.t_ns, waiting.pid, waiting.place.0)), || ());
    }

    fn balanced(&mut self, _: u64) {}
}

/// Returns the `most` longest waits of a source, the longest first, of the wake-ups that pass `filter` by task and by
/// the reason under `decider`.
///
/// # Errors
/// Fails if the source cannot be read, or if it has no switches, which show when tasks ran.
pub fn slowest(
    source: &Source,
    most: usize,
    filter: &Filter,
    decider: &Decider,
    progress: &dyn Progress,
) -> Result<Vec<SlowRow>, ReadError> {
    if !has_waits(source) {
        return Err(ReadError::of_file(source.path(), "no switches beside the decisions, so no wait is known")
            .with_hint("name the folder of a recording that has switches-*.parquet"));
    }
    let files = source.decisions();
    let mut longest = Longest { filter, waits: Least::new(most), rows: 0, progress };
    // Decisions are made again only if the filter asks for a reason.
    let wakes = match filter.reason {
        Some(_) if !files.is_empty() => WakeupStream::asked(source, decider),
        _ => WakeupStream::of(source, &about(source)?),
    };
    match_waits(source, wakes, progress, &mut longest)?;
    progress.rows(longest.rows);
    files.iter().for_each(|file| progress.file(file));
    let slow = longest.waits.into_keys().map(|Reverse((wait_ns, t_ns, wakee_pid, left))| {
        // The stream has how many files were left when it read the row.
        let at = files.len().saturating_sub(1 + left);
        SlowRow { wait_ns, file: files.get(at).cloned().unwrap_or_default(), t_ns, wakee_pid }
    });
    Ok(slow.collect())
}
