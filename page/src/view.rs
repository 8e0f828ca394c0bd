//! The sections as the templates receive them.

use crate::figure::Figure;
use serde::Serialize;

/// A section of the page.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

/// A block of a section.
#[derive(Debug, Serialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub(crate) enum Block {
    /// A paragraph.
    Text { text: String },
    /// The place of a chart.
    Figure { id: String, title: String, summary: String, rows: usize },
    /// A table.
    Table { table: TableView },
    /// HTML that this crate wrote, in which all texts are escaped.
    Html { html: String },
    /// Preformatted text.
    Lines { title: String, about: String, lines: String },
    /// Names with their values.
    Facts { facts: Vec<(String, String)> },
    /// A command.
    Command { text: String },
}

/// A table.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TableView {
    pub(crate) id: String,
    pub(crate) caption: String,
    pub(crate) columns: Vec<HeadView>,
    pub(crate) rows: Vec<Vec<CellView>>,
    /// Whether its values are in the page's data, so that the reader can save them.
    pub(crate) saved: bool,
    /// Whether each row becomes a block of its own on a narrow page.
    pub(crate) cards: bool,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct HeadView {
    pub(crate) title: String,
    pub(crate) class: &'static str,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct CellView {
    pub(crate) text: String,
    /// An anchor of the page.
    pub(crate) link: Option<String>,
    pub(crate) class: &'static str,
}

impl CellView {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), link: None, class: "num" }
    }
}

impl View {
    pub(crate) fn new(id: &str, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), blocks: vec![] }
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.blocks.push(Block::Text { text });
        }
    }

    /// Puts the chart here and its values into `figures`.
    pub(crate) fn figure(&mut self, figure: Figure, figures: &mut Vec<Figure>) {
        let (id, title) = (figure.id.clone(), figure.title.clone());
        self.blocks.push(Block::Figure { id, title, summary: figure.summary.clone(), rows: figure.len() });
        figures.push(figure);
    }
}
