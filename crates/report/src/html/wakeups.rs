//! Wake-ups of one side: how long wakees waited, why they landed where they did, and some of them explained.

use super::machine::recorded;
use crate::explain::{reason_meaning, story};
use crate::numbers::{count, seconds, share, thousands};
use std::collections::BTreeMap;
use wakelab_page::{Explained, Latency, Looked, Percentile, Place, ReasonCount, Reasons};
use wakelab_sched::select::{Event, Reason};
use wakelab_study::recordings::stats::{ExplainedWakeup, WhyExplained};

/// `None` where no wait was measured.
pub(super) fn latency(
    side: &str,
    Place { case, load }: &Place,
    tasks: &str,
    waits: &wakelab_measure::Latency,
) -> Option<Latency> {
    let values = [
        (50.0, waits.p50),
        (75.0, waits.p75),
        (90.0, waits.p90),
        (95.0, waits.p95),
        (99.0, waits.p99),
        (99.5, waits.p995),
        (99.9, waits.p999),
        (100.0, waits.max),
    ];
    let percentiles = values.map(|(percent, ns)| Percentile { percent, us: ns as f64 / 1e3 }).to_vec();
    let (side, case, load, tasks) = (side.to_owned(), case.clone(), load.clone(), tasks.to_owned());
    (waits.n > 0).then_some(Latency { side, case, load, tasks, percentiles })
}

/// `None` where no reason is known. `all` are those that some side has: they are stacked in the same order everywhere.
pub(super) fn reasons(
    side: &str,
    Place { case, load }: &Place,
    counts: &BTreeMap<Reason, u64>,
    all: &[Reason],
) -> Option<Reasons> {
    let count = |&reason: &Reason| ReasonCount {
        reason: reason.name().to_owned(),
        meaning: reason_meaning(reason).to_owned(),
        wakeups: counts.get(&reason).copied().unwrap_or(0),
    };
    let (side, case, load) = (side.to_owned(), case.clone(), load.clone());
    let counted = Reasons { side, case, load, counts: all.iter().map(count).collect() };
    (!counts.is_empty()).then_some(counted)
}

/// So many reasons are in a page's first sentence.
const FOREMOST: usize = 3;

/// The reasons that decided most often, as a sentence; empty if none is known.
pub(super) fn why_there(counts: &BTreeMap<Reason, u64>) -> String {
    let all = counts.values().sum();
    let mut most: Vec<(Reason, u64)> = counts.iter().map(|(&reason, &n)| (reason, n)).filter(|(_, n)| *n > 0).collect();
    // A stable sort: reasons that decided as often stay in the order in which the code comes to them.
    most.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let one = |(at, (reason, n)): (usize, (Reason, u64))| {
        let of = if at == 0 { format!(" of {}", count(all, "choice")) } else { String::new() };
        format!("in {}%{of}, {} ({})", share(n, all), reason_meaning(reason), reason.name())
    };
    let told: Vec<String> = most.into_iter().take(FOREMOST).enumerate().map(one).collect();
    if told.is_empty() { String::new() } else { format!("Why there: {}.", told.join("; ")) }
}

/// The reasons that are among these, in the order in which the code can come to them.
pub(super) fn all_reasons<'a>(counts: impl Iterator<Item = &'a BTreeMap<Reason, u64>>) -> Vec<Reason> {
    let met: std::collections::BTreeSet<Reason> = counts.flat_map(BTreeMap::keys).copied().collect();
    Reason::ALL.into_iter().filter(|reason| met.contains(reason)).collect()
}

/// A wake-up with its text; `of` names whose it is, and may be empty.
pub(super) fn explained(of: &str, chosen: &ExplainedWakeup) -> Explained {
    let why = match chosen.why {
        WhyExplained::Slowest(ns) => format!("The longest wait from wake-up to run: {} us.", thousands(ns / 1000)),
        WhyExplained::First(reason) => format!("The first with the reason {reason}: {}.", reason_meaning(reason)),
    };
    told(of, why, &chosen.explained)
}

/// The same of an explanation.
pub(super) fn told(of: &str, why: String, explained: &wakelab_study::recordings::explain::Explained<'_>) -> Explained {
    let row = &explained.row;
    let at = seconds(row.t_ns);
    let of = if of.is_empty() { String::new() } else { format!("{of}: ") };
    let title = format!("{of}{}/{} at {at}", row.wakee.comm, row.wakee.pid);
    Explained {
        title,
        why,
        key: explained.decision.reason.name().to_owned(),
        text: story(explained).trim_end().to_owned(),
        looked: Some(looked(explained)),
    }
}

/// What is drawn of it on the machine.
fn looked(explained: &wakelab_study::recordings::explain::Explained<'_>) -> Looked {
    let (row, decision) = (&explained.row, &explained.decision);
    let look = |event: &Event| match event {
        Event::Probe(probe) => Some(probe.cpu),
        _ => None,
    };
    Looked {
        cpus: recorded(&explained.topo).cpus,
        looks: explained.steps.iter().filter_map(look).collect(),
        idle: row.idle_mask.iter().collect(),
        waker: row.waker.cpu,
        prev: row.wakee.prev_cpu,
        chosen: decision.cpu,
    }
}

/// The row, as `wakelab explain FILE --row N` finds it.
pub(super) fn row_name(explained: &wakelab_study::recordings::explain::Explained<'_>) -> String {
    let name = explained.file.file_name().unwrap_or(explained.file.as_os_str()).to_string_lossy();
    format!("{name} row {}", explained.row.seq)
}
