//! What several tests compare with the documentation.

use wakelab_events::ColumnInfo;

/// The tables as docs/formats.md describes them; `which` follows the name of each, as a page has each heading once.
pub fn description_of(tables: &[(&str, &[ColumnInfo])], which: &str) -> String {
    let mut text = String::new();
    for (table, columns) in tables {
        text += &format!("### {table}{which}\n\n| column | holds | |\n|---|---|---|\n");
        for column in *columns {
            let null = if column.nullable { ", or null" } else { "" };
            text += &format!("| `{}` | {}{null} | {} |\n", column.name, column.kind, column.what);
        }
        text += "\n";
    }
    text.trim_end().to_owned()
}
