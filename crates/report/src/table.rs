//! Plain tables: aligned columns, no frames, readable when piped.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use std::sync::atomic::{AtomicU16, Ordering};

/// Blanks after a column.
const GAP: u16 = 2;

/// How wide tables may be; 0 for as wide as their rows are.
static WIDTH: AtomicU16 = AtomicU16::new(0);

/// Lets tables be so wide at most, from here on: cells that are too long go over several lines, between words. Without
/// a width each row is a line.
pub fn fit_tables(width: Option<u16>) {
    WIDTH.store(width.unwrap_or(0), Ordering::Relaxed);
}

/// An empty table with a header; the first `text_columns` columns hold text, the others numbers.
pub(crate) fn table(header: &[&str], text_columns: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP));
        if index >= text_columns {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The table's text, without blanks at the ends of lines.
pub(crate) fn text(table: &Table) -> String {
    fitted(table, WIDTH.load(Ordering::Relaxed))
}

/// The text of a table whose columns between the first and the last are numbers.
pub(crate) fn with_text_at_end(mut table: Table) -> String {
    let last = table.column_count() - 1;
    if let Some(column) = table.column_mut(last) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    text(&table)
}

fn fitted(table: &Table, width: u16) -> String {
    let lines = |table: &Table| table.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>();
    let whole = lines(table);
    if width == 0 || whole.lines().all(|line| line.chars().count() <= usize::from(width)) {
        return whole;
    }
    let mut narrow = table.clone();
    // The gap after the last column is cut off.
    narrow.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.saturating_add(GAP));
    let longest = |index: usize| {
        let header = table.header().and_then(|row| row.cell_iter().nth(index));
        let cells = header.into_iter().chain(table.column_cells_iter(index).flatten());
        cells.map(longest_word).max().unwrap_or(0)
    };
    let longest: Vec<u16> = (0..narrow.column_count()).map(longest).collect();
    // A number that continues in the next line is another number. A word longer than a quarter of the line is no
    // number, nor is a shorter one in a table whose columns would not fit otherwise.
    let needed = |cap: u16| longest.iter().map(|&word| word.min(cap) + GAP).sum::<u16>();
    let cap = (1..=width / 4).rev().find(|&cap| needed(cap) <= width.saturating_add(GAP)).unwrap_or(1);
    for (index, word) in longest.iter().enumerate() {
        if let Some(column) = narrow.column_mut(index) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed((*word).min(cap) + GAP)));
        }
    }
    lines(&narrow)
}

fn longest_word(cell: &Cell) -> u16 {
    cell.content().split_whitespace().map(|word| word.chars().count() as u16).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = table(&["name", "what it is", "long header"], 2);
        table.add_row(["one", "a text of some length that can go over several lines", "1,234,567 ± 3.0"]);
        table.add_row(["two", "short", "7"]);
        table
    }

    #[test]
    fn a_table_that_fits_is_left_as_it_is() {
        let whole = fitted(&sample(), 0);
        assert_eq!(whole.lines().count(), 3);
        assert_eq!(fitted(&sample(), 200), whole);
    }

    #[test]
    fn a_table_of_many_long_words_fits_all_the_same() {
        let mut table = table(&["unit", "rule", "v6.12", "v6.1", "what it is about"], 5);
        let word = "a_word_of_twenty_six_letters";
        table.add_row([word, word, word, word, "some words"]);
        for width in [60, 80, 100] {
            let narrow = fitted(&table, width);
            assert!(narrow.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}:\n{narrow}");
        }
    }

    #[test]
    fn a_table_that_does_not_fit_breaks_between_words() {
        for width in [36, 40, 50, 60] {
            let narrow = fitted(&sample(), width);
            assert!(narrow.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}:\n{narrow}");
            for word in fitted(&sample(), 0).split_whitespace() {
                assert!(narrow.split_whitespace().any(|part| part == word), "{width}: {word} is torn\n{narrow}");
            }
        }
    }
}
