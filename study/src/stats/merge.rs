//! Wake-ups, migrations and switches in the order of their times: which wait ends when, and which migration is a wake-up's.

use super::wakes::{Found, Stream};
use crate::lanes::{Item, Lanes};
use crate::walk::Progress;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wakelab_events::ReadError;
use wakelab_events::stream::Source;

/// So many tasks are waited for at a time; a kernel has at most four times as many.
const MOST_WAITING: usize = 1 << 20;

/// Told what happens, in order.
pub(super) trait Listener {
    /// A wake-up. Whether its wait is to be told.
    fn wake(&mut self, found: &Found) -> bool;
    /// The wakee of a wake-up runs.
    fn ran(&mut self, waiting: &Waiting, ns: u64);
    /// A task was moved, not by a wake-up.
    fn balanced(&mut self, at_ns: u64);
    /// Anything, before the others are told.
    fn item(&mut self, _at_ns: u64, _item: &Item) {}
    /// Whether it is to be told of the states of CPUs and caches, too.
    fn wants_states(&self) -> bool {
        false
    }
}

/// A task that was woken and did not run yet.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) t_ns: u64,
    pub(super) pid: i64,
    pub(super) comm: Arc<str>,
    pub(super) dest_cpu: u32,
    pub(super) place: (usize, u64),
    /// Whether its wake-up's migration is still to come.
    moves: bool,
    /// Whether it waits to run: an exec only moves.
    waits: bool,
    /// Whether the listener asked for its wait.
    told: bool,
}

/// What was found out about the waits as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    /// Wake-ups after which the wakee was not seen to run.
    pub(super) unseen: u64,
}

/// Goes over a source until its end, or until an error.
pub(super) fn merge(
    source: &Source,
    wakes: Stream,
    progress: &dyn Progress,
    listener: &mut impl Listener,
) -> Result<Ends, ReadError> {
    // The simulator tells migrations of balancing only.
    let of_wakeups_too = !matches!(source, Source::Simulated(_));
    let watches = super::has_waits(source);
    let mut waiting: FxHashMap<i64, Waiting> = FxHashMap::default();
    let mut ends = Ends::default();
    Lanes::each(source, wakes, listener.wants_states(), progress, |time, item| {
        listener.item(time, &item);
        match item {
            Item::Wake(found) => {
                let told = listener.wake(&found);
                let Found { wake, place, .. } = found;
                if watches && (waiting.len() < MOST_WAITING || waiting.contains_key(&wake.wakee_pid)) {
                    let moves = of_wakeups_too && wake.prev_cpu.is_none_or(|prev| prev != wake.dest_cpu);
                    let one = Waiting {
                        t_ns: wake.t_ns,
                        pid: wake.wakee_pid,
                        comm: wake.wakee_comm,
                        dest_cpu: wake.dest_cpu,
                        place,
                        moves,
                        waits: !wake.exec,
                        told,
                    };
                    let before = waiting.insert(wake.wakee_pid, one);
                    ends.unseen += u64::from(before.is_some_and(|one| one.waits));
                } else {
                    ends.unseen += u64::from(watches && !wake.exec);
                }
            }
            Item::Moved(moved) => match waiting.get_mut(&moved.pid) {
                Some(one) if one.moves && one.dest_cpu == moved.to_cpu => one.moves = false,
                _ => listener.balanced(time),
            },
            Item::Switch(switch) if !switch.idles => {
                if let Some(one) = waiting.remove(&switch.next_pid).filter(|one| one.waits && one.told) {
                    listener.ran(&one, time.saturating_sub(one.t_ns));
                }
            }
            Item::Switch(_) | Item::Idle(_) | Item::Frequency(_) | Item::Power(_) | Item::Hint(..) => {}
        }
        Ok::<_, ReadError>(())
    })?;
    ends.unseen += waiting.values().filter(|one| one.waits).count() as u64;
    Ok(ends)
}
