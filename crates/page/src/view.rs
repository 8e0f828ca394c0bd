//! The sections as the templates receive them.

use crate::colour::{self, Family};
use crate::figure::Figure;
use crate::glossary;
use serde::Serialize;

/// A section of the page.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Whether the reader has to open it.
    pub(crate) folded: bool,
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
    /// Preformatted text, with a drawing above it; empty if there is none.
    Lines { title: String, key: Option<String>, about: String, drawing: String, lines: String, open: bool },
    /// Names with their values.
    Facts { facts: Vec<(Label, String)> },
    /// Words with their meanings.
    Words { words: Vec<(String, String)> },
    /// A command.
    Command { text: String },
    /// The colours of names.
    Legend { parts: Vec<LegendPart> },
}

/// Names of one family, with what they mean.
#[derive(Debug, Serialize)]
pub(crate) struct LegendPart {
    pub(crate) title: &'static str,
    pub(crate) names: Vec<Label>,
}

/// A word above a column or before a value. What it means is a tooltip.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Label {
    pub(crate) text: String,
    /// What it means, if that is known.
    pub(crate) about: Option<String>,
    /// The anchor of the tooltip, which is given when the whole page is known.
    pub(crate) tip: String,
    /// The property of its colour, if it has one.
    pub(crate) key: Option<String>,
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
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct HeadView {
    pub(crate) label: Label,
    /// The unit, in brackets; may be empty.
    pub(crate) unit: String,
    pub(crate) class: &'static str,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct CellView {
    pub(crate) text: String,
    /// An anchor of the page.
    pub(crate) link: Option<String>,
    pub(crate) class: &'static str,
    /// The property of the colour of what it names.
    pub(crate) key: Option<String>,
}

impl Label {
    /// A label, with its meaning if the glossary has it.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let about = glossary::entry(&text).map(|entry| entry.meaning.clone());
        Self { text, about, ..Self::default() }
    }

    /// A name with its colour.
    pub(crate) fn key(text: impl Into<String>) -> Self {
        let text = text.into();
        let key = colour::key(&text).map(colour::Key::property);
        Self { key, ..Self::new(text) }
    }
}

impl HeadView {
    pub(crate) fn new(title: impl Into<String>, class: &'static str) -> Self {
        Self { label: Label::new(title), unit: String::new(), class }
    }
}

impl CellView {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "num", ..Self::default() }
    }
}

impl LegendPart {
    /// The parts of a legend of `names`, each with its meaning, which may be empty. `title` is of a family.
    pub(crate) fn all<'a>(
        names: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        title: fn(Family) -> &'static str,
    ) -> Vec<Self> {
        let of = |family: Family| {
            let family_of = |name: &str| colour::key(name).map_or(Family::Rule, |key| key.family);
            let mine = names.clone().filter(|(name, _)| family_of(name) == family);
            let label = |(name, about): (&str, &str)| {
                let about = (!about.is_empty()).then(|| about.to_owned());
                Label { about, ..Label::key(name) }
            };
            Self { title: title(family), names: mine.map(label).collect() }
        };
        Family::ALL.map(of).into_iter().filter(|part| !part.names.is_empty()).collect()
    }
}

impl View {
    pub(crate) fn new(id: &str, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), folded: false, blocks: vec![] }
    }

    /// A section that the reader opens.
    pub(crate) fn folded(id: &str, title: impl Into<String>) -> Self {
        Self { folded: true, ..Self::new(id, title) }
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

    /// All labels of the section.
    pub(crate) fn labels(&mut self) -> Vec<&mut Label> {
        let mut labels = Vec::new();
        for block in &mut self.blocks {
            match block {
                Block::Table { table } => labels.extend(table.columns.iter_mut().map(|head| &mut head.label)),
                Block::Facts { facts } => labels.extend(facts.iter_mut().map(|(label, _)| label)),
                Block::Legend { parts } => labels.extend(parts.iter_mut().flat_map(|part| &mut part.names)),
                _ => {}
            }
        }
        labels
    }
}
