//! Sections of paragraphs and tables, for results without a chart of their own; the notes and the assumed constants.

use crate::colour;
use crate::figure::{Figure, num};
use crate::view::{Block, CellView, HeadView, Label, TableView, View};
use crate::{Error, Page, limits, text};
use serde::Serialize;
use serde_json::Value;

/// A section of paragraphs and tables.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    /// Its anchor, unique on the page: lower-case ASCII letters, digits and hyphens. [`Cell::Link`] refers to it.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The paragraphs before the tables.
    pub paragraphs: Vec<String>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// A table. The reader can save its data as CSV.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Table {
    /// Its anchor, unique on the page: lower-case ASCII letters, digits and hyphens.
    pub id: String,
    /// Its caption.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for each column; at most [`crate::limits::CELLS`] cells.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Column {
    /// Its title.
    pub title: String,
    /// The unit of its numbers; may be empty.
    pub unit: String,
    /// Whether its title is a reason or a cause, which has its colour before it.
    pub key: bool,
    /// The alignment of its cells.
    pub align: Align,
}

/// The alignment of the cells of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Align {
    /// To the left, for texts.
    #[default]
    Left,
    /// To the right, for numbers.
    Right,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number and the number of decimals that are worth showing. A column shows as many as its cells ask for at most,
    /// and no more than two. CSV has all of them.
    Number(f64, u8),
    /// A text that links to an anchor of the page, which is named without `#`.
    Link(String, String),
    /// A reason or a cause, which has its colour before it.
    Key(String),
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

/// Adds the table to the section and its values to the figures.
pub(crate) fn add(table: &Table, view: &mut View, figures: &mut Vec<Figure>) -> Result<(), Error> {
    let (width, found) = (table.columns.len(), table.columns.len() * table.rows.len());
    if found > limits::CELLS {
        let hint = "show only the rows that matter, and name the command that prints all of them";
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
    shown.saved = true;
    for Column { title, unit, align, key } in &table.columns {
        figure = figure.column(title, title, unit);
        let label = if *key { Label::key(title.clone()) } else { Label::new(title.clone()) };
        shown.columns.push(HeadView { label, unit: unit.clone(), class: class(*align) });
    }
    let precisions: Vec<usize> = (0..width).map(|at| precision(table.rows.iter().map(|row| &row[at]))).collect();
    for row in &table.rows {
        figure.row(row.iter().map(value).collect::<Vec<_>>());
        let columns = table.columns.iter().zip(&precisions);
        let cells = row.iter().zip(columns).map(|(cell, (column, decimals))| cell_view(cell, column.align, *decimals));
        shown.rows.push(cells.collect());
    }
    view.blocks.push(Block::Table { table: shown });
    figures.push(figure);
    Ok(())
}

fn class(align: Align) -> &'static str {
    if align == Align::Right { "num" } else { "" }
}

/// The decimals of the numbers of a column.
fn precision<'a>(cells: impl Iterator<Item = &'a Cell>) -> usize {
    let of = |cell: &Cell| if let Cell::Number(_, decimals) = cell { usize::from(*decimals) } else { 0 };
    cells.map(of).max().unwrap_or(0).min(2)
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) | Cell::Link(text, _) | Cell::Key(text) => text.as_str().into(),
        Cell::Number(number, _) => num(*number),
        Cell::Empty => Value::Null,
    }
}

fn cell_view(cell: &Cell, align: Align, decimals: usize) -> CellView {
    let (text, link) = match cell {
        Cell::Text(text) | Cell::Key(text) => (text.clone(), None),
        Cell::Number(number, _) => (text::fixed(*number, decimals), None),
        Cell::Link(text, to) => (text.clone(), Some(text::anchor(to))),
        Cell::Empty => (String::new(), None),
    };
    // A sentence needs more room than a number.
    let class = if text.chars().count() > LONG { "long" } else { class(align) };
    let key = if let Cell::Key(name) = cell { colour::key(name).map(colour::Key::property) } else { None };
    CellView { text, link, class, key }
}

/// Texts of more characters go over several lines.
const LONG: usize = 40;

pub(crate) fn notes(page: &Page) -> Option<View> {
    let mut view = View::new("notes", "Notes");
    page.notes.iter().for_each(|note| view.text(note.clone()));
    (!page.notes.is_empty()).then_some(view)
}

pub(crate) fn assumed(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.assumed.is_empty() {
        return Ok(None);
    }
    let title = format!("Assumed: {}", text::count(page.assumed.len(), "constant", "constants"));
    let mut view = View::folded("constants", title);
    let column = |title: &str| Column { title: title.into(), ..Column::default() };
    let columns = ["Of", "Constant", "Value", "Range", "Why"].map(column).to_vec();
    let row = |a: &crate::Assumed| [&a.of, &a.name, &a.value, &a.range, &a.why].map(|t| Cell::Text(t.clone())).to_vec();
    let rows = page.assumed.iter().map(row).collect();
    let caption = "Constants that no source gives".into();
    add(&Table { id: "assumed".into(), caption, columns, rows }, &mut view, figures)?;
    Ok(Some(view))
}
