//! The model's choices against the kernel's.

mod json;

pub use json::json;

use crate::explain;
use crate::numbers::{count, percent, share, thousands};
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
    let who = conformance.kinds().who();
    let _ = match question.is_as_recorded() {
        true => writeln!(text, "The model's choice against that of {who}, {files}\n"),
        false => {
            writeln!(text, "The model's choice with {} against that of {who} without, {files}\n", question.switches())
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
