//! Sections of paragraphs and tables, for what has no chart of its own.

use crate::figure::{Figure, num};
use crate::view::{Block, CellView, HeadView, TableView, View};
use crate::{Error, Page, limits, text};
use serde::Serialize;
use serde_json::Value;

/// A section of paragraphs and tables.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    /// Its anchor: lower-case ASCII letters, digits and hyphens, unlike any other in the page. [`Cell::Link`] names it.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Paragraphs before the tables.
    pub paragraphs: Vec<String>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// A table, whose data can be saved as CSV.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Table {
    /// Its anchor, as [`Section::id`].
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows: a cell for each column. [`crate::limits::CELLS`] cells at most.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Column {
    /// Its title.
    pub title: String,
    /// The unit of its numbers; may be empty.
    pub unit: String,
    /// On which side its cells stand.
    pub align: Align,
}

/// On which side the cells of a column stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Align {
    /// Left: texts.
    #[default]
    Left,
    /// Right: numbers.
    Right,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number, and with how many decimals it is shown; CSV has all of it.
    Number(f64, u8),
    /// A text that leads to an anchor of the page (without `#`).
    Link(String, String),
    /// Nothing.
    Empty,
}

pub(crate) fn views(page: &Page, figures: &mut Vec<Figure>) -> Result<Vec<Option<View>>, Error> {
    let one = |section: &Section| {
        let mut view = View::new(&section.id, section.title.clone());
        section.paragraphs.iter().for_each(|paragraph| view.text(paragraph.clone()));
        section.tables.iter().try_for_each(|table| add(table, &mut view, figures))?;
        Ok(Some(view))
    };
    page.sections.iter().map(one).collect()
}

/// Puts the table into the section.
pub(crate) fn add(table: &Table, view: &mut View, figures: &mut Vec<Figure>) -> Result<(), Error> {
    let (width, found) = (table.columns.len(), table.columns.len() * table.rows.len());
    if found > limits::CELLS {
        let hint = "show the rows that matter, and name the command that prints all";
        return Err(Error::TooMuch {
            what: format!("cells in '{}'", table.caption),
            found,
            limit: limits::CELLS,
            hint,
        });
    }
    if let Some(at) = table.rows.iter().position(|row| row.len() != width) {
        let why = format!("row {} has {} cells, expected {width}", at + 1, table.rows[at].len());
        return Err(Error::Inconsistent { what: format!("table '{}'", table.caption), why });
    }
    let mut figure = Figure::new(table.id.clone(), "table", table.caption.clone());
    let mut shown = TableView { id: table.id.clone(), caption: table.caption.clone(), ..Default::default() };
    (shown.saved, shown.cards) = (true, width > 3);
    for Column { title, unit, align } in &table.columns {
        figure = figure.column(title, title, unit);
        let title = if unit.is_empty() { title.clone() } else { format!("{title} ({unit})") };
        shown.columns.push(HeadView { title, class: class(*align) });
    }
    for row in &table.rows {
        figure.row(row.iter().map(value).collect::<Vec<_>>());
        shown.rows.push(row.iter().zip(&table.columns).map(|(cell, column)| cell_view(cell, column.align)).collect());
    }
    view.blocks.push(Block::Table { table: shown });
    figures.push(figure);
    Ok(())
}

fn class(align: Align) -> &'static str {
    if align == Align::Right { "num" } else { "" }
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) | Cell::Link(text, _) => text.as_str().into(),
        Cell::Number(number, _) => num(*number),
        Cell::Empty => Value::Null,
    }
}

fn cell_view(cell: &Cell, align: Align) -> CellView {
    let (text, link) = match cell {
        Cell::Text(text) => (text.clone(), None),
        Cell::Number(number, decimals) if number.is_finite() => {
            (text::grouped(&format!("{number:.*}", usize::from(*decimals))), None)
        }
        Cell::Number(..) => ("n/a".into(), None),
        Cell::Link(text, to) => (text.clone(), Some(text::anchor(to))),
        Cell::Empty => (String::new(), None),
    };
    CellView { text, link, class: class(align) }
}
