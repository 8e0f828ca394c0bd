//! Why the kernel chose its CPU: the steps of the decision, made again on the recorded state.

use super::decider::Decider;
use super::progress::Progress;
use super::rows::{read_files, read_wanted};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::{ReadError, Row, TopoFile};
use wakelab_input::{nearest, suggest};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Decision, Event, Observer, Reason, Select};

/// A recorded decision with its explanation.
#[derive(Clone, Debug)]
pub struct Explained<'a> {
    /// The recording.
    pub file: Cow<'a, Path>,
    /// The row.
    pub row: Cow<'a, Row>,
    /// The topology of the machine.
    pub topo: Arc<TopoFile>,
    /// The steps of the decision, in order.
    pub steps: Cow<'a, [Event]>,
    /// The decision.
    pub decision: Decision,
    /// Whether features were switched, so that it need not be the kernel's decision.
    pub switched: bool,
    /// The time from the wake-up until the wakee ran, ns, if it was asked for.
    pub wait_ns: Option<u64>,
}

impl Explained<'_> {
    /// The same, to keep.
    pub fn into_owned(self) -> Explained<'static> {
        let Explained { file, row, topo, steps, decision, switched, wait_ns } = self;
        let (file, row, steps) = (file.into_owned(), row.into_owned(), steps.into_owned());
        let (file, row, steps) = (Cow::Owned(file), Cow::Owned(row), Cow::Owned(steps));
        Explained { file, row, topo, steps, decision, switched, wait_ns }
    }
}

/// A filter of the rows to explain.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only the row with this `seq`.
    pub row: Option<u64>,
    /// Only wake-ups of or by this task.
    pub pid: Option<i64>,
    /// Only wake-ups of or by tasks of this name.
    pub comm: Option<String>,
    /// Only decisions with this reason.
    pub reason: Option<Reason>,
    /// Only decisions from this time on, ns.
    pub from_ns: Option<u64>,
    /// Only these, by time and wakee, which identify a row.
    pub only: Option<HashSet<(u64, i64)>>,
    /// The known times until the wakee ran, ns, by time and wakee.
    pub waits: HashMap<(u64, i64), u64>,
}

impl Filter {
    /// Whether a row passes the filter, as far as it is known before the decision is made again.
    pub(crate) fn takes(&self, row: &Row) -> bool {
        let (waker, wakee) = (&row.waker, &row.wakee);
        self.takes_wakeup(row.seq, row.t_ns, (waker.pid, &waker.comm), (wakee.pid, &wakee.comm))
    }

    /// The same of a wake-up of this number and time, with its tasks as pid and name.
    pub(crate) fn takes_wakeup(&self, seq: u64, t_ns: u64, waker: (i64, &str), wakee: (i64, &str)) -> bool {
        self.row.is_none_or(|row| row == seq)
            && self.pid.is_none_or(|pid| [waker.0, wakee.0].contains(&pid))
            && self.comm.as_deref().is_none_or(|comm| [waker.1, wakee.1].contains(&comm))
            && self.names(t_ns, wakee.0)
    }

    /// Whether a row with this time and wakee may pass the filter.
    fn names(&self, t_ns: u64, wakee_pid: i64) -> bool {
        self.from_ns.is_none_or(|from| t_ns >= from)
            && self.only.as_ref().is_none_or(|only| only.contains(&(t_ns, wakee_pid)))
    }
}

/// The parts of a decision that differ from the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Differs {
    /// The chosen CPU.
    pub cpu: bool,
    /// The wakee's `recent_used_cpu` after the decision.
    pub recent_used_cpu: bool,
    /// The waker's `wakee_flips` after the decision.
    pub wakee_flips: bool,
}

impl Differs {
    /// Whether anything differs.
    pub fn any(self) -> bool {
        self.cpu || self.recent_used_cpu || self.wakee_flips
    }

    /// Compares a decision with the recorded one.
    pub fn of(row: &Row, decision: &Decision) -> Self {
        Differs {
            cpu: decision.cpu != row.chosen_cpu,
            recent_used_cpu: recent_used_cpu_after(row, decision) != row.recent_used_cpu_after,
            wakee_flips: row.flips_after() != row.waker.flips,
        }
    }
}

/// The wakee's `recent_used_cpu` after the model's decision.
pub fn recent_used_cpu_after(row: &Row, decision: &Decision) -> i64 {
    decision.effects.recent_used_cpu.map_or(row.wakee.recent_used_cpu, i64::from)
}

/// The allowed idle CPUs other than the chosen one.
pub fn other_idle_cpus<'a>(row: &'a Row, chosen: Cpu) -> impl Iterator<Item = Cpu> + 'a {
    row.idle_mask.iter().filter(move |&cpu| cpu != chosen && row.wakee.affinity.test(cpu))
}

/// An observer that keeps all steps.
#[derive(Debug, Default)]
pub struct Steps(
    /// The steps, in order.
    pub Vec<Event>,
);

impl Observer for Steps {
    const PROBES: bool = true;

    fn event(&mut self, event: Event) {
        self.0.push(event);
    }
}

/// Explains the rows of one file in order, until `each` returns false. Returns whether all of them were explained.
///
/// # Errors
/// Fails if the file cannot be read to its end.
pub fn explain_file(
    file: &Path,
    decider: &Decider,
    filter: &Filter,
    progress: &dyn Progress,
    mut each: impl FnMut(Explained<'_>) -> bool,
) -> Result<bool, ReadError> {
    let (mut select, mut steps) = (Select::default(), Steps::default());
    let mut goes_on = true;
    let mut left = filter.only.as_ref().map_or(usize::MAX, HashSet::len);
    let wanted = |t_ns, wakee_pid| filter.names(t_ns, wakee_pid);
    read_wanted(file, decider, progress, wanted, |row, topo| {
        if !filter.takes(row) {
            return true;
        }
        left -= 1;
        let wait_ns = filter.waits.get(&(row.t_ns, row.wakee.pid)).copied();
        steps.0.clear();
        let decision = decider.decide(row, topo, &mut select, &mut steps);
        if filter.reason.is_some_and(|reason| reason != decision.reason) {
            return left > 0;
        }
        let switched = !decider.is_as_recorded();
        let (file, row, steps) = (Cow::Borrowed(file), Cow::Borrowed(row), Cow::Borrowed(&steps.0[..]));
        goes_on = each(Explained { file, row, topo: Arc::clone(topo), steps, decision, switched, wait_ns });
        goes_on && left > 0
    })?;
    Ok(goes_on)
}

/// The values of rows that a filter can ask for.
#[derive(Default)]
struct RowsSeen {
    /// The lowest and the highest `seq`.
    seqs: Option<(u64, u64)>,
    /// Whether there is the row that the filter asks for.
    has_row: bool,
    comms: BTreeSet<String>,
    pids: HashSet<i64>,
    reasons: BTreeSet<Reason>,
    last_ns: u64,
    select: Select,
}

/// Returns why `filter` matches no row of `files`, with the names that are nearest to those that it asks for. This
/// reads all rows again.
pub fn why_no_row(files: &[PathBuf], decider: &Decider, filter: &Filter) -> String {
    let outcomes = read_files(files, decider, &(), |seen: &mut RowsSeen, row, topo| {
        let (first, last) = seen.seqs.unwrap_or((row.seq, row.seq));
        seen.seqs = Some((first.min(row.seq), last.max(row.seq)));
        seen.has_row |= filter.row == Some(row.seq);
        seen.last_ns = seen.last_ns.max(row.t_ns);
        for (pid, comm) in [(row.waker.pid, &row.waker.comm), (row.wakee.pid, &row.wakee.comm)] {
            seen.pids.insert(pid);
            if !seen.comms.contains(comm) {
                seen.comms.insert(comm.clone());
            }
        }
        seen.reasons.insert(decider.decide(row, topo, &mut seen.select, &mut ()).reason);
    });
    let mut all = RowsSeen::default();
    for seen in outcomes.into_iter().map(|outcome| outcome.value) {
        all.seqs = match (all.seqs, seen.seqs) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        all.has_row |= seen.has_row;
        all.comms.extend(seen.comms);
        all.pids.extend(seen.pids);
        all.reasons.extend(seen.reasons);
        all.last_ns = all.last_ns.max(seen.last_ns);
    }
    let Some((first, last)) = all.seqs else { return "there are no rows".to_owned() };
    if let Some(row) = filter.row.filter(|_| !all.has_row) {
        return format!("there is no row {row}; rows are numbered {first} to {last}");
    }
    if let Some(comm) = filter.comm.as_ref().filter(|comm| !all.comms.contains(*comm)) {
        return format!("no task is called {comm}{}", suggest(&nearest(comm, all.comms.iter().map(String::as_str))));
    }
    if let Some(pid) = filter.pid.filter(|pid| !all.pids.contains(pid)) {
        return format!("no task has the pid {pid}");
    }
    if filter.from_ns.is_some_and(|from| from > all.last_ns) {
        let (s, us) = (all.last_ns / 1_000_000_000, all.last_ns % 1_000_000_000 / 1000);
        return format!("the last decision is at {s}.{us:06} s");
    }
    if let Some(reason) = filter.reason.filter(|reason| !all.reasons.contains(reason)) {
        let names: Vec<_> = all.reasons.iter().map(|reason| reason.name()).collect();
        return format!("no decision has the reason {}; there are {}", reason.name(), names.join(", "));
    }
    "no row passes all filters".to_owned()
}
