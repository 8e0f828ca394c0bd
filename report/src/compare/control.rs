//! One draw of what chance does, as a table and as JSON.

use super::format::{NONE, p_value, signed};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use wakelab_study::compare::{Comparison, Control};

/// The base against itself, with the comparison's own difference beside.
pub fn control(comparison: &Comparison, control: &Control) -> String {
    let columns = ["case", "load", "compare%", "95% interval", "base against itself", "95% interval", "p", "n"];
    let mut rows = table(&columns, 2);
    let interval = |ends: Option<[f64; 2]>| {
        ends.map_or_else(|| NONE.to_owned(), |[low, high]| format!("[{}, {}]", signed(low, 2), signed(high, 2)))
    };
    for row in &control.rows {
        let same = comparison
            .rows
            .iter()
            .find(|other| (&other.benchmark, &other.case, &other.load) == (&row.benchmark, &row.case, &row.load));
        rows.add_row([
            row.case.clone(),
            row.load.clone(),
            same.map_or_else(|| NONE.to_owned(), |row| signed(row.compare_pct, 2)),
            interval(same.and_then(|row| row.ci95)),
            signed(row.compare_pct, 2),
            interval(row.ci95),
            p_value(row.p_value),
            row.other_values.len().to_string(),
        ]);
    }
    let incomplete = if control.complete { "" } else { "Not complete: it was interrupted.\n\n" };
    format!(
        "\nControl: the base side against itself with other seeds: one draw of what chance does, not a threshold\n\n{incomplete}{}",
        table_text(&rows)
    )
}

/// The same for programs.
pub fn control_json(control: &Control) -> Value {
    json!({"complete": control.complete, "rows": control.rows})
}
