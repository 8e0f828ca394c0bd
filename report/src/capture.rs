//! `wakelab capture`: what was captured, and what could not be.

use crate::VERSION;
use crate::compare;
use crate::numbers::{count, fixed, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_input::{duration_text, printable};
use wakelab_study::capture::{Captured, CapturedGroup, Fidelity, Likeness, Losses};
use wakelab_study::compare::Comparison;

/// The most groups that are listed.
const MOST_GROUPS: usize = 12;

/// What was captured, for a terminal.
pub fn text(captured: &Captured) -> String {
    let (_, length) = captured.window_ns;
    let transactions = match captured.transactions {
        0 => String::new(),
        n => format!(", {}", count(n, "transaction")),
    };
    let mut text = format!(
        "{} captured, CPUs busy {}% of it{transactions}; --load {} is what was recorded\n\n",
        duration_text(length),
        fixed(100.0 * captured.busy, 1),
        captured.load
    );
    let mut groups = table(&["groups", "tasks", "names", "what they do"], 0);
    for group in captured.groups.iter().take(MOST_GROUPS) {
        groups.add_row([
            thousands(group.instances.into()),
            thousands(group.nr_tasks as u64),
            names(group),
            does(group).to_owned(),
        ]);
    }
    text += &table_text(&groups);
    if let Some(more) = captured.groups.len().checked_sub(MOST_GROUPS).filter(|&more| more > 0) {
        let _ = writeln!(text, "and {}", count(more as u64, "smaller group"));
    }
    let losses = losses(&captured.losses);
    if !losses.is_empty() {
        text.push('\n');
    }
    losses.iter().for_each(|loss| _ = writeln!(text, "{loss}"));
    text
}

fn names(group: &CapturedGroup) -> String {
    const MOST: usize = 4;
    let shown: Vec<_> = group.tasks.iter().take(MOST).map(|name| printable(name).into_owned()).collect();
    let more = group.tasks.len().saturating_sub(MOST);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

fn does(group: &CapturedGroup) -> &'static str {
    match group {
        CapturedGroup { cycles: true, .. } => "a round for ever",
        CapturedGroup { kernel: true, .. } => "the window again and again, background",
        _ => "the window again and again",
    }
}

/// What could not be followed, a line each.
pub fn losses(losses: &Losses) -> Vec<String> {
    let Losses { unseen_wakeups, woken_awake, unknown_wakers, never_ran, implied_replies } = *losses;
    let lines = [
        (unseen_wakeups, "sleep", "without a wake-up in the source, taken for timers".to_owned()),
        (woken_awake, "wake-up", "of tasks that were awake as far as was seen, left out".to_owned()),
        (unknown_wakers, "wake-up", "by tasks that did not run there as far as was seen".to_owned()),
        (never_ran, "task", "woken and never seen to run".to_owned()),
        (
            implied_replies,
            "wait",
            "taken for granted, of pairs where the sender found the reply without sleeping".to_owned(),
        ),
    ];
    let line = |(n, what, how): (u64, &str, String)| (n > 0).then(|| format!("{} {how}", count(n, what)));
    lines.into_iter().filter_map(line).collect()
}

/// What a recording would have been under other policies: how much the captured workload is like the recording, then
/// each comparison.
pub fn whatif(captured: &Captured, found: &Fidelity, comparisons: &[Comparison]) -> String {
    let mut text = text(captured);
    text.push('\n');
    text += &fidelity(found);
    for comparison in comparisons {
        text.push('\n');
        if found.verdict() == Likeness::Not {
            text += "The simulation is not like the recording: no side is the better one by what follows.\n";
        }
        text += &compare::table(comparison);
    }
    text
}

/// How much the simulation of a captured workload is like the recording, for a terminal.
pub fn fidelity(found: &Fidelity) -> String {
    let mut rows = table(&["as recorded, simulated", "unit", "recorded", "simulated", "alike"], 2);
    for row in &found.rows {
        let number = |value: f64| if value.abs() >= 1000.0 { thousands(value.round() as u64) } else { fixed(value, 1) };
        rows.add_row([
            printable(&row.quantity).into_owned(),
            row.unit.to_owned(),
            row.recorded.map_or("-".to_owned(), number),
            number(row.simulated),
            row.likeness().map_or(String::new(), |likeness| likeness.name().to_owned()),
        ]);
    }
    let verdict = match found.verdict() {
        Likeness::Faithful => "faithful: rates within 10%, median waits within a quarter, shares within 5 points",
        Likeness::Roughly => "roughly: rates within 30%, median waits within a factor of 2, shares within 15 points",
        Likeness::Not => {
            "not like the recording: the rows that say \"not\" are further off than 30%, a factor of 2, or 15 points"
        }
    };
    format!("{}\nverdict: {verdict}\n", table_text(&rows))
}

/// As JSON: the capture, fidelity, and the comparisons as docs/results.schema.json describes them.
pub fn whatif_json(captured: &Captured, found: &Fidelity, comparisons: &[Comparison]) -> Value {
    json!({
        "wakelab": VERSION,
        "capture": json(captured),
        "fidelity": {
            "verdict": found.verdict().name(),
            "rows": found.rows.iter().map(|row| json!({
                "quantity": row.quantity,
                "unit": row.unit,
                "recorded": row.recorded,
                "simulated": row.simulated,
                "alike": row.likeness().map(Likeness::name),
            })).collect::<Vec<_>>(),
        },
        "comparisons": comparisons.iter().map(compare::json).collect::<Vec<_>>(),
    })
}

/// What was captured, as JSON.
pub fn json(captured: &Captured) -> Value {
    let Losses { unseen_wakeups, woken_awake, unknown_wakers, never_ran, implied_replies } = captured.losses;
    json!({
        "from_ns": captured.window_ns.0,
        "window_ns": captured.window_ns.1,
        "complete": captured.complete,
        "load": captured.load,
        "transactions": captured.transactions,
        "busy_pct": 100.0 * captured.busy,
        "groups": captured.groups.iter().map(|group| json!({
            "tasks": group.tasks,
            "nr_tasks": group.nr_tasks,
            "instances": group.instances,
            "cycles": group.cycles,
            "kernel": group.kernel,
        })).collect::<Vec<_>>(),
        "losses": {
            "unseen_wakeups": unseen_wakeups,
            "woken_awake": woken_awake,
            "unknown_wakers": unknown_wakers,
            "never_ran": never_ran,
            "implied_replies": implied_replies,
        },
    })
}
