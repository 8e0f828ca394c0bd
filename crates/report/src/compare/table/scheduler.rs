//! What a scheduler of sched_ext did: where its tasks went, what its operations took, what it counted itself.

use super::sides;
use crate::numbers::{NONE, fixed_or_none, thousands};
use crate::table::{table as new_table, text as table_text};
use std::fmt::Write;
use wakelab_input::printable;
use wakelab_study::compare::{CompareRow, Side};

/// What the core counts, with the headings of the columns.
pub(crate) const OF_CORE: [(&str, &str); 7] = [
    ("local", "local"),
    ("global", "global"),
    ("user", "user"),
    ("direct", "direct"),
    ("remote", "remote"),
    ("SCX_EV_SELECT_CPU_FALLBACK", "fallback"),
    ("SCX_EV_DISPATCH_KEEP_LAST", "keep last"),
];

/// What is called for every task or switch; the others set up, or are rare. They are in JSON.
const SHOWN: [&str; 9] =
    ["select_cpu", "enqueue", "dequeue", "dispatch", "tick", "runnable", "running", "stopping", "quiescent"];

/// Empty without a scheduler. The core's counts are columns, those that a scheduler has itself a line below.
pub(super) fn scheduler(rows: &[CompareRow]) -> String {
    let with: Vec<([String; 3], &Side)> = rows
        .iter()
        .flat_map(|row| sides(row).map(|(name, side)| ([row.case.clone(), row.load.clone(), name.to_owned()], side)))
        .filter(|(_, side)| !side.scheduler.is_empty())
        .collect();
    if with.is_empty() {
        return String::new();
    }
    let mut text = "\nWhere sched_ext put tasks in the whole run, mean over repeats\n\n".to_owned();
    text += &table_of(&with, &OF_CORE.map(|(_, heading)| heading), |side| {
        core_counters(side).map(|mean| mean.map_or_else(|| NONE.to_owned(), count)).to_vec()
    });

    let time = |side: &Side, wanted: &str| {
        let found = side.scheduler_ops.iter().find(|time| time.op == wanted);
        found.and_then(|time| time.mean_ns)
    };
    let shown: Vec<&str> =
        SHOWN.into_iter().filter(|op| with.iter().any(|(_, side)| time(side, op).is_some())).collect();
    if !shown.is_empty() {
        text += "\nTime of a call of its operations, ns at full speed, mean over the calls of all repeats\n\n";
        text += &table_of(&with, &shown, |side| shown.iter().map(|op| fixed_or_none(time(side, op), 0)).collect());
    }

    let mut own = String::new();
    for (place, side) in &with {
        let counters: Vec<String> =
            own_counters(side).map(|(name, mean)| format!("{} {}", printable(name), count(mean))).collect();
        if !counters.is_empty() {
            let _ = writeln!(own, "  {}: {}", place.join(" "), counters.join(", "));
        }
    }
    if !own.is_empty() {
        let _ = write!(text, "\nWhat the scheduler counted itself\n\n{own}");
    }
    text
}

fn count(mean: f64) -> String {
    thousands(mean.round() as u64)
}

/// A line for each side with a scheduler. A side without one has no line that the case could stand in, so that each has
/// its own.
fn table_of(with: &[([String; 3], &Side)], headings: &[&str], cells: impl Fn(&Side) -> Vec<String>) -> String {
    let mut table = new_table(&[&["case", "load", "side"], headings].concat(), 3);
    for (place, side) in with {
        table.add_row(place.iter().cloned().chain(cells(side)));
    }
    table_text(&table)
}

/// [`OF_CORE`] of a side.
pub(crate) fn core_counters(side: &Side) -> [Option<f64>; OF_CORE.len()] {
    OF_CORE.map(|(wanted, _)| side.scheduler.iter().find(|(name, _)| name == wanted).map(|(_, mean)| *mean))
}

/// What the scheduler of a side counted itself, mean over repeats.
pub(crate) fn own_counters(side: &Side) -> impl Iterator<Item = (&str, f64)> {
    let of_core = |name: &str| name.starts_with("SCX_EV_") || OF_CORE.iter().any(|(core, _)| *core == name);
    side.scheduler.iter().filter(move |(name, _)| !of_core(name)).map(|(name, mean)| (name.as_str(), *mean))
}
