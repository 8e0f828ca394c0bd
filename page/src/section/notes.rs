//! What the reader has to know to judge the numbers.

use super::tables::{self, Align, Cell, Column, Table};
use crate::figure::Figure;
use crate::view::View;
use crate::{Error, Page};

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.notes.is_empty() && page.assumed.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("notes", "Notes and assumed constants");
    for note in &page.notes {
        view.text(note.clone());
    }
    if !page.assumed.is_empty() {
        let column = |title: &str| Column { title: title.into(), unit: String::new(), align: Align::Left };
        let columns = ["Of", "Constant", "Value", "Range", "Why"].map(column).to_vec();
        let row =
            |a: &crate::Assumed| [&a.of, &a.name, &a.value, &a.range, &a.why].map(|t| Cell::Text(t.clone())).to_vec();
        let rows = page.assumed.iter().map(row).collect();
        let caption = "Constants that no source gives".into();
        tables::add(&Table { id: "assumed".into(), caption, columns, rows }, &mut view, figures)?;
    }
    Ok(Some(view))
}
