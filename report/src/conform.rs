//! The model's choices against the kernel's.

use crate::VERSION;
use crate::explain;
use crate::numbers::{count, percent, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_events::ReadError;
use wakelab_study::Question;
use wakelab_study::conform::{Agreement, Conformance, Search};

/// The tables, and the explanation of each row that differs.
pub fn text(conformance: &Conformance, question: &Question, files: usize) -> String {
    let total = conformance.total();
    let mut text = String::new();
    let files = count(files as u64, "file");
    if question.is_as_recorded() {
        let _ = writeln!(text, "The model's choice against the kernel's, {files}\n");
    } else {
        let _ =
            writeln!(text, "The model's choice with {} against the kernel's without, {files}\n", question.switches());
    }
    let mut by_reason = table(&["kernel", "reason", "rows", "equal", "other cpu", "other recent", "other flips"], 2);
    for ((kernel, reason), agreement) in &conformance.reasons {
        by_reason.add_row(line(kernel, reason.name(), agreement));
    }
    by_reason.add_row(line("all", "", &total));
    text += &table_text(&by_reason);
    let _ = writeln!(
        text,
        "\n{} of {} equal ({}%); {} whose state changed while the kernel decided are not compared.",
        thousands(total.agree),
        count(total.rows, "row"),
        if total.rows == 0 { "-".to_owned() } else { format!("{:.4}", 100.0 * total.agree as f64 / total.rows as f64) },
        thousands(conformance.unstable),
    );
    if !question.is_as_recorded() {
        text += &moved(conformance);
    }
    if !conformance.disagreements.is_empty() {
        let (shown, differ) = (conformance.disagreements.len(), total.rows - total.agree);
        let _ = writeln!(text, "\nThe first {shown} of {} rows that differ:\n", thousands(differ));
        for disagreement in &conformance.disagreements {
            text += &explain::text(&disagreement.explained(!question.is_as_recorded()));
        }
    }
    text
}

fn line(kernel: &str, reason: &str, agreement: &Agreement) -> Vec<String> {
    let mut line = vec![kernel.to_owned(), reason.to_owned()];
    let columns = [agreement.rows, agreement.agree, agreement.cpu, agreement.recent_used_cpu, agreement.wakee_flips];
    line.extend(columns.map(thousands));
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

/// The same as JSON; `errors` are the files that could not be read to their end.
pub fn json(conformance: &Conformance, question: &Question, files: usize, errors: &[ReadError]) -> Value {
    let total = conformance.total();
    let numbers = |a: &Agreement| {
        json!({"rows": a.rows, "equal": a.agree, "other_cpu": a.cpu, "other_recent_used_cpu": a.recent_used_cpu,
               "other_wakee_flips": a.wakee_flips})
    };
    let search = |s: &Search| {
        json!({"sis_search": s.search, "sis_domain_search": s.domain_search, "sis_scanned": s.scanned,
               "sis_failed": s.failed})
    };
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
    let switched = !question.is_as_recorded();
    let disagreements: Vec<Value> =
        conformance.disagreements.iter().map(|d| explain::json(&d.explained(switched))).collect();
    json!({
        "wakelab": VERSION,
        "kind": "recorded",
        "with": question.switches(),
        "files": files,
        "unstable": conformance.unstable,
        "total": numbers(&total),
        "reasons": reasons,
        "moved": moved,
        "search": {"recorded": search(&conformance.recorded), "with": search(&conformance.switched)},
        "disagreements": disagreements,
        "errors": errors.iter().map(error).collect::<Vec<_>>(),
    })
}

fn error(error: &ReadError) -> Value {
    json!({"file": error.file.display().to_string(), "line": error.line, "column": error.column, "what": error.what,
           "hint": error.hint})
}
