//! The model's choices against the kernel's.

use crate::numbers::{count, percent, share, thousands};
use crate::table::{table, text as table_text};
use crate::{VERSION, explain};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use wakelab_events::ReadError;
use wakelab_study::Decider;
use wakelab_study::recordings::conform::{Agreement, Conformance, Kernel, KernelCount, NotScored, Search};

/// The tables, and the explanation of each row that differs.
pub fn text(conformance: &Conformance, decider: &Decider, files: usize) -> String {
    let total = conformance.total();
    let mut text = String::new();
    let files = count(files as u64, "file");
    let who = conformance.kinds().who();
    let _ = match decider.is_as_recorded() {
        true => writeln!(text, "The model's choice against that of {who}, {files}\n"),
        false => {
            writeln!(text, "The model's choice with {} against that of {who} without, {files}\n", decider.switches())
        }
    };
    let mut by_reason =
        table(&["kernel", "reason", "rows", "equal", "other cpu", "other recent", "other flips", "prev alone"], 2);
    for ((kernel, reason), agreement) in &conformance.reasons {
        by_reason.add_row(line(kernel, reason.name(), agreement));
    }
    by_reason.add_row(line("all", "", &total));
    text += &table_text(&by_reason);
    let _ = writeln!(
        text,
        "\n{} of {} equal ({}%); {} whose state changed while {who} decided are not compared.",
        thousands(total.agree),
        count(total.rows, "row"),
        if total.rows == 0 { "-".to_owned() } else { format!("{:.4}", 100.0 * total.agree as f64 / total.rows as f64) },
        thousands(conformance.unstable),
    );
    for (why, &rows) in &conformance.not_scored {
        let _ = writeln!(text, "  {} of these: {}", thousands(rows), why.meaning());
    }
    let _ = writeln!(
        text,
        "\"Always the previous CPU\" would be right in {} % of the compared rows (prev alone).",
        share(total.prev, total.rows)
    );
    if !decider.is_as_recorded() {
        text += &moved(conformance);
    }
    if !conformance.disagreements.is_empty() {
        let (shown, differ) = (conformance.disagreements.len(), total.rows - total.agree);
        let _ = writeln!(text, "\nThe first {shown} of {} rows that differ:\n", thousands(differ));
        for disagreement in &conformance.disagreements {
            text += &explain::text(disagreement);
        }
    }
    text
}

fn line(kernel: &str, reason: &str, agreement: &Agreement) -> Vec<String> {
    let mut line = vec![kernel.to_owned(), reason.to_owned()];
    let columns = [agreement.rows, agreement.agree, agreement.cpu, agreement.recent_used_cpu, agreement.wakee_flips];
    line.extend(columns.map(thousands));
    line.push(format!("{} %", share(agreement.prev, agreement.rows)));
    line
}

/// Where decisions go when features are switched, and what the searches cost.
fn moved(conformance: &Conformance) -> String {
    let mut moved = table(&["as recorded", "then", "rows", "other cpu"], 2);
    for ((from, to), m) in &conformance.moved {
        if from != to || m.other_cpu > 0 {
            moved.add_row([from.name().to_owned(), to.name().to_owned(), thousands(m.rows), thousands(m.other_cpu)]);
        }
    }
    let mut search = table(&["search statistics", "as recorded", "then"], 1);
    let (a, b) = (&conformance.recorded, &conformance.switched);
    for (name, value) in [
        ("sis_search", (|s: &Search| thousands(s.search)) as fn(&Search) -> String),
        ("sis_domain_search", |s| thousands(s.domain_search)),
        ("sis_scanned", |s| thousands(s.scanned)),
        ("sis_failed", |s| thousands(s.failed)),
        ("fast_rate %", |s| percent(s.search - s.domain_search, s.search)),
        ("success_rate %", |s| percent(s.search - s.failed, s.search)),
    ] {
        search.add_row([name.to_owned(), value(a), value(b)]);
    }
    format!("\nDecisions that change their reason or their CPU:\n\n{}\n{}", table_text(&moved), table_text(&search))
}

/// An error as JSON.
pub(crate) fn error(error: &ReadError) -> Value {
    json!({"file": error.file.display().to_string(), "line": error.line, "column": error.column, "what": error.what,
           "hint": error.hint})
}

/// All that was counted; `errors` are the files that could not be read to their end.
pub fn json(conformance: &Conformance, decider: &Decider, files: usize, errors: &[ReadError]) -> Value {
    let total = conformance.total();
    let reasons: Vec<Value> = conformance
        .reasons
        .iter()
        .map(|((kernel, reason), agreement)| {
            let mut value = numbers(agreement);
            value["kernel"] = json!(kernel);
            value["reason"] = json!(reason.name());
            value
        })
        .collect();
    let moved: Vec<Value> = conformance
        .moved
        .iter()
        .map(|((from, to), m)| json!({"from": from.name(), "to": to.name(), "rows": m.rows, "other_cpu": m.other_cpu}))
        .collect();
    let disagreements: Vec<Value> = conformance.disagreements.iter().map(explain::json).collect();
    json!({
        "wakelab": VERSION,
        "kind": conformance.kinds().name(),
        "with": decider.switches(),
        "files": files,
        "wakeups": total.rows + conformance.unstable,
        "scored": total.rows,
        "equal": total.agree,
        "unstable": conformance.unstable,
        "not_scored": by_name(&conformance.not_scored),
        "total": numbers(&total),
        "kernels": conformance.kernels.iter().map(kernel).collect::<Vec<_>>(),
        "reasons": reasons,
        "moved": moved,
        "search": {"recorded": search(&conformance.recorded), "with": search(&conformance.switched)},
        "disagreements": disagreements,
        "errors": errors.iter().map(error).collect::<Vec<_>>(),
    })
}

fn kernel((kernel, count): (&Kernel, &KernelCount)) -> Value {
    let not_scored: u64 = count.not_scored.values().sum();
    let mut value = json!({
        "kernel": kernel.preset,
        "release": kernel.release,
        "kind": if kernel.simulated { "simulated" } else { "recorded" },
        "wakeups": count.scored.rows + not_scored,
        "scored": count.scored.rows,
        "not_scored": by_name(&count.not_scored),
    });
    if let (Some(value), Value::Object(numbers)) = (value.as_object_mut(), numbers(&count.scored)) {
        value.extend(numbers.into_iter().filter(|(key, _)| key != "rows"));
    }
    value
}

/// Each reason is there, also where it is 0: a reader need not ask whether it is.
fn by_name(not_scored: &BTreeMap<NotScored, u64>) -> Map<String, Value> {
    let rows = |why| json!(not_scored.get(&why).copied().unwrap_or(0));
    NotScored::ALL.into_iter().map(|why| (why.name().to_owned(), rows(why))).collect()
}

fn numbers(a: &Agreement) -> Value {
    json!({"rows": a.rows, "equal": a.agree, "other_cpu": a.cpu, "other_recent_used_cpu": a.recent_used_cpu,
           "other_wakee_flips": a.wakee_flips, "chose_prev": a.prev})
}

fn search(s: &Search) -> Value {
    json!({"sis_search": s.search, "sis_domain_search": s.domain_search, "sis_scanned": s.scanned,
           "sis_failed": s.failed})
}
