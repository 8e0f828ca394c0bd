//! `wakelab capture`: what was captured, and what could not be.

use crate::VERSION;
use crate::compare;
use crate::numbers::{count, fixed, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_input::{cpulist_text, duration_text, printable};
use wakelab_study::capture::{
    Captured, CapturedGroup, CapturedTaskGroup, Check, Fidelity, FidelityRow, Likeness, Losses, PredictedRow,
    Prediction, Rates,
};
use wakelab_study::compare::Comparison;
use wakelab_study::verdict::{Certainty, Verdict};

/// The most groups that are listed.
const MOST_GROUPS: usize = 12;

/// The captured workload, for a terminal.
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
    let head = ["groups", "tasks", "names", "what they do", "wake-ups/s", "model", "busy %", "model"];
    let mut groups = table(&head, 0);
    for group in captured.groups.iter().take(MOST_GROUPS) {
        groups.add_row([
            thousands(group.instances.into()),
            thousands(group.nr_tasks as u64),
            names(group),
            does(group).to_owned(),
            number(group.recorded.wakeups),
            number(group.model.wakeups),
            number(100.0 * group.recorded.busy),
            number(100.0 * group.model.busy),
        ]);
    }
    text += &table_text(&groups);
    if let Some(more) = captured.groups.len().checked_sub(MOST_GROUPS).filter(|&more| more > 0) {
        let _ = writeln!(text, "and {}", count(more as u64, "smaller group"));
    }
    if !captured.task_groups.is_empty() {
        text.push('\n');
        text += &table_text(&task_groups(captured));
        if let Some(more) = captured.task_groups.len().checked_sub(MOST_GROUPS).filter(|&more| more > 0) {
            let _ = writeln!(text, "and {}", count(more as u64, "more control group"));
        }
    }
    let _ = writeln!(text, "\n{}", check(&captured.check));
    let mut losses = losses(&captured.losses);
    losses.extend(
        captured.repeated_ns.map(|ns| {
            format!("only the first {} are repeated: more steps do not fit in a workload", duration_text(ns))
        }),
    );
    if !losses.is_empty() {
        text.push('\n');
    }
    losses.iter().for_each(|loss| _ = writeln!(text, "{loss}"));
    text
}

/// The model against the recording, in a line.
fn check(check: &Check) -> String {
    let of = |rates: &Rates| format!("{} wake-ups/s, busy {}%", number(rates.wakeups), number(100.0 * rates.busy));
    format!("check: recorded {}; the model, without a scheduler: {}", of(&check.recorded), of(&check.model))
}

/// What is to be warned of if the model does more or less than was recorded: which groups do. `None` if all do about as
/// much.
pub fn off(captured: &Captured) -> Option<String> {
    const MOST: usize = 3;
    let has_name = |group: &&CapturedGroup| group.tasks.iter().any(|name| !name.is_empty());
    let (named, others): (Vec<_>, Vec<_>) = captured.off().partition(has_name);
    let mut which: Vec<String> = named.iter().take(MOST).copied().map(names).collect();
    if named.len() > MOST {
        which.push(count((named.len() - MOST) as u64, "more group"));
    }
    if !others.is_empty() {
        which.push(format!("{} without a name", count(others.len() as u64, "group")));
    }
    if which.is_empty() {
        if !captured.is_off() {
            return None;
        }
        which.push("all groups together".to_owned());
    }
    Some(format!(
        "the model does more or less than was recorded, by more than 30%: {}; \
         --exact keeps every step, and a shorter --window leaves out what is not alike",
        which.join("; ")
    ))
}

/// The control groups.
fn task_groups(captured: &Captured) -> comfy_table::Table {
    let mut groups = table(&["control group", "weight", "max", "CPUs", "tasks"], 1);
    for CapturedTaskGroup { name, group, nr_tasks } in captured.task_groups.iter().take(MOST_GROUPS) {
        let max = group.max.map(|max| format!("{} {}", duration_text(max.quota_ns), duration_text(max.period_ns)));
        groups.add_row([
            printable(name).into_owned(),
            if group.idle { "idle".to_owned() } else { group.weight.to_string() },
            max.unwrap_or_default(),
            group.cpus.as_deref().map(cpulist_text).unwrap_or_default(),
            thousands(*nr_tasks as u64),
        ]);
    }
    groups
}

fn names(group: &CapturedGroup) -> String {
    const MOST: usize = 4;
    // A task that may use one CPU only is never chosen one, and switches name tasks by pid alone.
    let shown = |name: &String| if name.is_empty() { "(no name)".to_owned() } else { printable(name).into_owned() };
    let shown: Vec<_> = group.tasks.iter().take(MOST).map(shown).collect();
    let more = group.tasks.len().saturating_sub(MOST);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

fn does(group: &CapturedGroup) -> &'static str {
    match group {
        CapturedGroup { cycles: true, once: true, .. } => "a round for ever, once at any load",
        CapturedGroup { cycles: true, .. } => "a round for ever",
        CapturedGroup { once: true, .. } => "the window again and again, once at any load",
        CapturedGroup { kernel: true, .. } => "the window again and again, background",
        _ => "the window again and again",
    }
}

/// The things that could not be followed, a line each.
pub fn losses(losses: &Losses) -> Vec<String> {
    let Losses { unseen_wakeups, woken_awake, unknown_wakers, never_ran, implied_replies } = *losses;
    let lines = [
        (unseen_wakeups, "sleep", "without a wake-up in the source, taken for timers".to_owned()),
        (woken_awake, "wake-up", "of tasks that seemed to be awake, left out".to_owned()),
        (unknown_wakers, "wake-up", "by tasks that did not seem to run there".to_owned()),
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

/// A recording's load under other policies.
pub struct WhatIf<'a> {
    /// The captured workload.
    pub captured: &'a Captured,
    /// How much its simulation is like the recording.
    pub fidelity: &'a Fidelity,
    /// The prediction for each side. None if the simulation is not like the recording.
    pub predictions: &'a [Prediction],
    /// Each of them compared with what was recorded.
    pub comparisons: &'a [Comparison],
}

/// The most lines of each table of an answer.
const MOST_OF_AN_ANSWER: usize = 8;

/// The answer to a question about a recording, on one screen: the verdict on each side and what changes most, then how
/// far to trust it. [`whatif_details`] has the rest.
pub fn whatif(asked: &WhatIf<'_>) -> String {
    let verdict_of = asked.fidelity.verdict();
    let alike = verdict_of != Likeness::Not;
    let mut text = String::new();
    for (prediction, comparison) in asked.predictions.iter().zip(asked.comparisons) {
        if alike {
            text += compare::verdict_text(&judged(comparison)).trim_start();
        } else {
            let _ =
                writeln!(text, "{}: no verdict: the simulation is not like the recording", printable(&prediction.side));
        }
        let changed = changed_most(prediction);
        let all = prediction.rows.len();
        text = text + "\n" + &predicted(&prediction.side, &changed);
        if changed.len() < all {
            let _ = writeln!(text, "and {}, which change less", count((all - changed.len()) as u64, "more row"));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "likeness to the recording: {}", verdict(verdict_of));
    text += &unlike(asked.fidelity);
    let captured = asked.captured;
    let _ = writeln!(
        text,
        "captured: {}, CPUs busy {}% of it",
        duration_text(captured.window_ns.1),
        fixed(100.0 * captured.busy, 1)
    );
    text
}

/// The quantities that a side changes most, in their order.
fn changed_most(prediction: &Prediction) -> Vec<&PredictedRow> {
    let change = |row: &PredictedRow| {
        let (before, after) = (row.as_recorded.simulated, row.predicted);
        (after - before).abs() / before.abs().max(after.abs()).max(f64::MIN_POSITIVE)
    };
    let mut places: Vec<usize> = (0..prediction.rows.len()).collect();
    places.sort_by(|&a, &b| change(&prediction.rows[b]).total_cmp(&change(&prediction.rows[a])).then(a.cmp(&b)));
    places.truncate(MOST_OF_AN_ANSWER);
    places.sort_unstable();
    places.into_iter().map(|place| &prediction.rows[place]).collect()
}

/// The rows that are least like the recording, if some are not like it.
fn unlike(found: &Fidelity) -> String {
    let mut rows: Vec<&FidelityRow> =
        found.rows.iter().filter(|row| row.likeness().is_some_and(|likeness| likeness != Likeness::Faithful)).collect();
    // Sorting keeps the order of rows that are alike.
    rows.sort_by_key(|row| std::cmp::Reverse(row.likeness()));
    let (shown, all) = (rows.len().min(MOST_OF_AN_ANSWER), rows.len());
    if all == 0 {
        return String::new();
    }
    let mut text = table_text(&likeness_table(rows.into_iter().take(MOST_OF_AN_ANSWER)));
    if shown < all {
        let _ = writeln!(text, "and {}", count((all - shown) as u64, "more such row"));
    }
    text
}

/// All about what a recording would have been under other policies: how much the captured workload is like the
/// recording, then what is predicted for each side, and the comparison.
pub fn whatif_details(asked: &WhatIf<'_>) -> String {
    let mut text = text(asked.captured);
    text.push('\n');
    text += &fidelity(asked.fidelity);
    let alike = asked.fidelity.verdict() != Likeness::Not;
    let warning = match alike {
        false => "The simulation is not like the recording: what follows does not show which side is better.\n",
        true => "",
    };
    for prediction in asked.predictions {
        let rows: Vec<&PredictedRow> = prediction.rows.iter().collect();
        text = text + "\n" + warning + &predicted(&prediction.side, &rows);
    }
    for comparison in asked.comparisons {
        text = text + "\n" + warning + &compare::table(comparison);
        if alike {
            text += &compare::verdict_text(&judged(comparison));
        }
    }
    text
}

/// The verdict on a side, whose certainty was not asked for.
pub(crate) fn judged(comparison: &Comparison) -> Verdict<'static> {
    wakelab_study::verdict::verdict(comparison, Certainty::default())
}

/// A number of a table about likeness.
fn number(value: f64) -> String {
    if value.abs() >= 1000.0 { thousands(value.round() as u64) } else { fixed(value, 1) }
}

/// What is predicted for a side, for a terminal.
fn predicted(side: &str, predicted: &[&PredictedRow]) -> String {
    let came_out = predicted.iter().any(|row| row.came_out.is_some());
    let side = printable(side);
    let mut head = vec![&*side, "unit", "recorded", "simulated", "predicted"];
    if came_out {
        head.extend(["came out", "alike"]);
    }
    let mut rows = table(&head, 2);
    for row in predicted {
        let mut cells = vec![
            printable(&row.as_recorded.quantity).into_owned(),
            row.as_recorded.unit.to_owned(),
            row.as_recorded.recorded.map_or("-".to_owned(), number),
            number(row.as_recorded.simulated),
            number(row.predicted),
        ];
        if came_out {
            cells.push(row.came_out.map_or("-".to_owned(), number));
            cells.push(row.likeness().map_or(String::new(), |likeness| likeness.name().to_owned()));
        }
        rows.add_row(cells);
    }
    table_text(&rows)
}

/// How much the simulation of a captured workload is like the recording, for a terminal.
pub fn fidelity(found: &Fidelity) -> String {
    format!("{}\nverdict: {}\n", table_text(&likeness_table(found.rows.iter())), verdict(found.verdict()))
}

fn likeness_table<'a>(of: impl Iterator<Item = &'a FidelityRow>) -> comfy_table::Table {
    let mut rows = table(&["as recorded, simulated", "unit", "recorded", "simulated", "alike"], 2);
    for row in of {
        rows.add_row([
            printable(&row.quantity).into_owned(),
            row.unit.to_owned(),
            row.recorded.map_or("-".to_owned(), number),
            number(row.simulated),
            row.likeness().map_or(String::new(), |likeness| likeness.name().to_owned()),
        ]);
    }
    rows
}

/// A verdict in words.
pub(crate) fn verdict(likeness: Likeness) -> &'static str {
    match likeness {
        Likeness::Faithful => "faithful: rates within 10%, median waits within a quarter, shares within 5 points",
        Likeness::Roughly => "roughly: rates within 30%, median waits within a factor of 2, shares within 15 points",
        Likeness::Not => {
            "not like the recording: the rows that say \"not\" are further off than 30%, a factor of 2, or 15 points"
        }
    }
}

/// As JSON: the capture, fidelity, predictions, and the comparisons as docs/results.schema.json describes them.
pub fn whatif_json(asked: &WhatIf<'_>) -> Value {
    json!({
        "wakelab": VERSION,
        "capture": json(asked.captured),
        "fidelity": {
            "verdict": asked.fidelity.verdict().name(),
            "rows": asked.fidelity.rows.iter().map(fidelity_row).collect::<Vec<_>>(),
        },
        "predictions": asked.predictions.iter().map(|prediction| json!({
            "side": prediction.side,
            "rows": prediction.rows.iter().map(prediction_row).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "comparisons": asked.comparisons.iter().map(|one| compare::json(one, &judged(one))).collect::<Vec<_>>(),
    })
}

fn fidelity_row(row: &FidelityRow) -> Value {
    json!({
        "quantity": row.quantity,
        "unit": row.unit,
        "recorded": row.recorded,
        "simulated": row.simulated,
        "alike": row.likeness().map(Likeness::name),
    })
}

fn prediction_row(row: &PredictedRow) -> Value {
    json!({
        "quantity": row.as_recorded.quantity,
        "unit": row.as_recorded.unit,
        "recorded": row.as_recorded.recorded,
        "simulated": row.as_recorded.simulated,
        "predicted": row.predicted,
        "came_out": row.came_out,
        "alike": row.likeness().map(Likeness::name),
    })
}

fn rates(rates: &Rates) -> Value {
    json!({
        "wakeups_per_s": rates.wakeups,
        "busy_pct": 100.0 * rates.busy,
        "awake_pct": 100.0 * rates.awake,
    })
}

/// The captured workload, as JSON.
pub fn json(captured: &Captured) -> Value {
    let Losses { unseen_wakeups, woken_awake, unknown_wakers, never_ran, implied_replies } = captured.losses;
    json!({
        "from_ns": captured.window_ns.0,
        "window_ns": captured.window_ns.1,
        "complete": captured.complete,
        "repeated_ns": captured.repeated_ns,
        "load": captured.load,
        "transactions": captured.transactions,
        "busy_pct": 100.0 * captured.busy,
        "groups": captured.groups.iter().map(|group| json!({
            "tasks": group.tasks,
            "nr_tasks": group.nr_tasks,
            "instances": group.instances,
            "cycles": group.cycles,
            "kernel": group.kernel,
            "once": group.once,
            "recorded": rates(&group.recorded),
            "model": rates(&group.model),
        })).collect::<Vec<_>>(),
        "check": {
            "recorded": rates(&captured.check.recorded),
            "model": rates(&captured.check.model),
            "length_ns": captured.check.length_ns,
        },
        "control_groups": captured.task_groups.iter().map(|CapturedTaskGroup { name, group, nr_tasks }| json!({
            "name": name,
            "weight": group.weight,
            "idle": group.idle,
            "quota_ns": group.max.map(|max| max.quota_ns),
            "period_ns": group.max.map(|max| max.period_ns),
            "burst_ns": group.max.map(|max| max.burst_ns),
            "uclamp_min": group.uclamp[0],
            "uclamp_max": group.uclamp[1],
            "cpus": group.cpus,
            "nr_tasks": nr_tasks,
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
