//! Plain tables: aligned columns, no frames, readable when piped.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// An empty table with a header; the first `text_columns` columns hold text, the others numbers.
pub(crate) fn table(header: &[&str], text_columns: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index >= text_columns {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The table's text, without blanks at the ends of lines.
pub(crate) fn text(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
