//! What each rule and input is worth.

use crate::VERSION;
use crate::numbers::thousands;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use wakelab_study::ablation::{Ablation, RULES};

/// The table: a line for each rule, a column for each kernel.
pub fn text(ablation: &Ablation) -> String {
    let kernels: Vec<&str> = ablation.rows.keys().copied().collect();
    let mut header = vec!["rule or input", "made wrong"];
    header.extend(&kernels);
    let mut table = table(&header, 2);
    let mut rows = vec!["(stable rows)".to_owned(), String::new()];
    rows.extend(ablation.rows.values().map(|&rows| thousands(rows)));
    table.add_row(rows);
    for (rule, lost) in RULES.iter().zip(&ablation.lost) {
        let mut line = vec![rule.name.to_owned(), rule.what.to_owned()];
        line.extend(kernels.iter().map(|kernel| thousands(lost.get(kernel).copied().unwrap_or(0))));
        table.add_row(line);
    }
    format!("Recorded decisions lost when one rule or input is wrong\n\n{}", table_text(&table))
}

/// The same as JSON.
pub fn json(ablation: &Ablation) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .zip(&ablation.lost)
        .map(|(rule, lost)| json!({"rule": rule.name, "made_wrong": rule.what, "lost": lost}))
        .collect();
    json!({"wakelab": VERSION, "kind": "recorded", "rows": ablation.rows, "rules": rules})
}
