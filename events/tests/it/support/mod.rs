//! What several tests write: a simulated run and a recording.

pub mod rows;
pub mod run;

use wakelab_events::ColumnInfo;

/// The tables as the pages of docs/ describe them, in Markdown.
pub fn description_of(tables: &[(&str, &[ColumnInfo])]) -> String {
    let mut text = String::new();
    for (table, columns) in tables {
        text += &format!("### {table}\n\n| column | holds | |\n|---|---|---|\n");
        for column in *columns {
            let null = if column.nullable { ", or null" } else { "" };
            text += &format!("| `{}` | {}{null} | {} |\n", column.name, column.kind, column.what);
        }
        text += "\n";
    }
    text.trim_end().to_owned()
}
