//! Wake-ups that may stand for their reasons on a page.

use super::wakes::Found;
use std::collections::BTreeMap;
use std::path::PathBuf;
use wakelab_sched::select::Reason;

/// Wake-ups among which examples are looked for, in each source: making a choice again takes reading up to it.
pub const LOOKED_AT: u64 = 200_000;

/// So many are kept for each reason. The state of one of them hardly fails to have held still, which explains best.
const OF_A_REASON: usize = 64;

/// A wake-up whose choice may be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The file with the decision.
    pub file: PathBuf,
    /// When the choice began, ns.
    pub t_ns: u64,
    /// Who was woken.
    pub pid: i64,
}

/// The first wake-ups with each reason.
pub type Examples = BTreeMap<Reason, Vec<Example>>;

/// Finds them in one source.
#[derive(Clone, Debug, Default)]
pub(super) struct Finding {
    /// By reason: when, whom, and how many files were left then.
    found: BTreeMap<Reason, Vec<(u64, i64, usize)>>,
}

impl Finding {
    pub(super) fn wake(&mut self, found: &Found) {
        if let Some((reason, _)) = found.decision {
            let of_reason = self.found.entry(reason).or_default();
            if of_reason.len() < OF_A_REASON {
                of_reason.push((found.wake.t_ns, found.wake.wakee_pid, found.place.0));
            }
        }
    }

    /// `files` are those of the source with decisions.
    pub(super) fn finish(self, files: &[PathBuf]) -> Examples {
        let example = |(t_ns, pid, left): (u64, i64, usize)| {
            let file = files.get(files.len().checked_sub(1 + left)?)?.clone();
            Some(Example { file, t_ns, pid })
        };
        let of_reason = |(reason, all): (Reason, Vec<_>)| (reason, all.into_iter().filter_map(example).collect());
        self.found.into_iter().map(of_reason).collect()
    }
}

/// Adds those of another source, as far as there is room.
pub(super) fn merge(to: &mut Examples, other: &Examples) {
    for (&reason, more) in other {
        let of_reason = to.entry(reason).or_default();
        let room = OF_A_REASON.saturating_sub(of_reason.len());
        of_reason.extend(more.iter().take(room).cloned());
    }
}
