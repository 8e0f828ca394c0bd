//! What recorders counted beside their rows: losses first of all.

use crate::numbers::thousands;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use wakelab_events::stream::RecorderCounts;
use wakelab_study::stats::Stats;

/// A table; empty where nothing was counted.
pub(super) fn text(stats: &Stats) -> String {
    let counted = || (1..).zip(stats.values()).filter_map(|(n, tally)| Some((n, tally.recorder?)));
    if counted().next().is_none() {
        return String::new();
    }
    let header = [
        "",
        "choices",
        "recorded",
        "lost",
        "left out",
        "rebuilding",
        "unfinished",
        "other rows lost",
        "programs %",
        "recorder %",
    ];
    let mut table = table(&header, 1);
    for (n, counts) in counted() {
        let numbers = [counts.choices, counts.recorded, counts.lost, counts.left_out, counts.changed];
        let mut line = vec![format!("{n}")];
        line.extend(numbers.map(thousands));
        line.push(counts.unfinished.to_string());
        line.push(thousands(counts.events_lost));
        let [programs, recorder] = shares(&counts);
        line.extend([programs, recorder].map(|share| share.map_or("-".to_owned(), |share| format!("{share:.1}"))));
        table.add_row(line);
    }
    let mut text =
        "\nWhat the recorder counted: choices of the fair class, and what recording took of one CPU\n\n".to_owned();
    text += &table_text(&table);
    let cut_off: u64 = counted().map(|(_, counts)| counts.cut_off).sum();
    if cut_off > 0 {
        text += "A recorder was killed: what it counted is that of its last whole segment.\n";
    }
    text
}

/// Of one CPU, %: the BPF programs, where it is known, and the recorder itself.
pub(crate) fn shares(counts: &RecorderCounts) -> [Option<f64>; 2] {
    let share = |ns: u64| (counts.elapsed_ns > 0).then(|| ns as f64 / counts.elapsed_ns as f64 * 100.0);
    [counts.programs_ns.and_then(share), share(counts.recorder_ns)]
}

/// The same as JSON; null where nothing was counted.
pub(super) fn json(counts: Option<RecorderCounts>) -> Value {
    let Some(counts) = counts else { return Value::Null };
    let [programs, recorder] = shares(&counts);
    json!({
        "choices": counts.choices, "recorded": counts.recorded, "lost": counts.lost, "left_out": counts.left_out,
        "rebuilding": counts.changed, "unfinished": counts.unfinished, "events_lost": counts.events_lost,
        "programs_pct": programs, "recorder_pct": recorder, "cut_off": counts.cut_off,
    })
}
