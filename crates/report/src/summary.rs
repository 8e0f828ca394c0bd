//! The share of each reason.

use crate::VERSION;
use crate::csv_cells::{names, reason_columns, text as cell, written};
use crate::explain::reason_meaning;
use crate::numbers::{count, percent, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wakelab_sched::select::Reason;
use wakelab_study::recordings::summary::{Group, Summary};

/// The table, reasons as columns.
pub fn text(summary: &Summary) -> String {
    let all = summary.reasons();
    let reasons: Vec<Reason> = Reason::ALL.into_iter().filter(|reason| all.contains_key(reason)).collect();
    let mut header = vec!["kernel", "load", "flags", "rows"];
    header.extend(reasons.iter().map(|reason| reason.name()));
    let who = summary.kinds.who();
    let mut table = table(&header, 3);
    for (Group { kernel, load, flags }, counts) in &summary.groups {
        table.add_row(line([(*kernel).to_owned(), load.clone(), (*flags).to_owned()], &reasons, counts));
    }
    table.add_row(line(["all".to_owned(), String::new(), String::new()], &reasons, &all));
    let mut text = format!("Share of each reason in the decisions of {who}, per cent of the row's wake-ups\n\n");
    text += &table_text(&table);
    text += &format!("\n{} left out, as their state changed while {who} decided.\n", count(summary.unstable, "row"));
    for reason in reasons {
        text += &format!("  {:<12}{}\n", reason.name(), reason_meaning(reason));
    }
    text
}

fn line(names: [String; 3], reasons: &[Reason], counts: &BTreeMap<Reason, u64>) -> Vec<String> {
    let rows = counts.values().sum();
    let mut line = Vec::from(names);
    line.push(thousands(rows));
    line.extend(reasons.iter().map(|reason| percent(counts.get(reason).copied().unwrap_or(0), rows)));
    line
}

/// The same as CSV: a line for each kernel, load and flags, with the rows of each reason.
pub fn csv(summary: &Summary) -> String {
    let header = names("kernel load flags rows").chain(reason_columns()).collect();
    let of_group = |(Group { kernel, load, flags }, counts): (&Group, &BTreeMap<Reason, u64>)| {
        let rows = counts.values().sum::<u64>().to_string();
        let names = [(*kernel).to_owned(), cell(load), (*flags).to_owned(), rows].into_iter();
        let of_reason = |reason| counts.get(&reason).copied().unwrap_or(0).to_string();
        names.chain(Reason::ALL.into_iter().map(of_reason)).collect()
    };
    written(std::iter::once(header).chain(summary.groups.iter().map(of_group)))
}

/// The same as JSON.
pub fn json(summary: &Summary) -> Value {
    let groups: Vec<Value> = summary
        .groups
        .iter()
        .map(|(group, counts)| {
            let reasons: BTreeMap<&str, u64> = counts.iter().map(|(reason, rows)| (reason.name(), *rows)).collect();
            json!({"kernel": group.kernel, "load": group.load, "flags": group.flags,
                   "rows": counts.values().sum::<u64>(), "reasons": reasons})
        })
        .collect();
    json!({"wakelab": VERSION, "kind": summary.kinds.name(), "unstable": summary.unstable, "groups": groups})
}
