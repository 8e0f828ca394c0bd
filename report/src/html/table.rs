//! Tables of a page.

use wakelab_page::{Align, Cell, Column, Table};

/// A table; each column has a title and a unit, and those whose unit is [`TEXT`] hold texts.
pub(super) fn table(id: &str, caption: &str, columns: &[(&str, &str)], rows: Vec<Vec<Cell>>) -> Table {
    let column = |(title, unit): &(&str, &str)| Column {
        title: (*title).to_owned(),
        unit: if *unit == TEXT { String::new() } else { (*unit).to_owned() },
        align: if *unit == TEXT { Align::Left } else { Align::Right },
    };
    Table { id: id.to_owned(), caption: caption.to_owned(), columns: columns.iter().map(column).collect(), rows }
}

/// The unit of texts.
pub(super) const TEXT: &str = "text";

/// A count.
pub(super) fn n(count: u64) -> Cell {
    Cell::Number(count as f64, 0)
}

/// A number that may be absent.
pub(super) fn opt(number: Option<f64>, decimals: u8) -> Cell {
    number.map_or(Cell::Empty, |number| Cell::Number(number, decimals))
}

/// A part of a whole, %; nothing where there is no whole.
pub(super) fn share(part: u64, whole: u64) -> Cell {
    opt((whole > 0).then(|| 100.0 * part as f64 / whole as f64), 1)
}

/// A text.
pub(super) fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}
