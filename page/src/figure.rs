//! A chart as the page's script gets it: which kind, and a table of values. What is drawn, shown as a table and saved as
//! CSV is this one table.

use crate::encode::{Encoded, encode};
use crate::error::Error;
use serde::Serialize;
use serde_json::Value;

/// A chart and its values.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) id: String,
    /// The function of `assets/js` that draws it; `table` for none.
    pub(crate) kind: &'static str,
    pub(crate) title: String,
    /// What it shows in a sentence or two: the text alternative.
    pub(crate) summary: String,
    columns: Vec<FigureColumn>,
    rows: Vec<Vec<Value>>,
    /// Columns of which the reader chooses one value, with the words beside the choice.
    select: Vec<(&'static str, &'static str)>,
}

/// What a column of a figure holds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FigureColumn {
    /// Its name in CSV: a statistic's own name, with the unit where it has one.
    pub(crate) name: String,
    /// Its name in words.
    pub(crate) title: String,
    pub(crate) unit: String,
}

/// A figure as it is in the page.
#[derive(Serialize)]
pub(crate) struct Embedded {
    id: String,
    kind: &'static str,
    title: String,
    rows: usize,
    columns: Vec<FigureColumn>,
    data: Vec<Encoded>,
    select: Vec<(&'static str, &'static str)>,
}

impl Figure {
    pub(crate) fn new(id: impl Into<String>, kind: &'static str, title: impl Into<String>) -> Self {
        let (id, title) = (id.into(), title.into());
        Self { id, kind, title, summary: String::new(), columns: vec![], rows: vec![], select: vec![] }
    }

    pub(crate) fn column(mut self, name: &str, title: &str, unit: &str) -> Self {
        self.columns.push(FigureColumn { name: name.into(), title: title.into(), unit: unit.into() });
        self
    }

    pub(crate) fn select(mut self, column: &'static str, words: &'static str) -> Self {
        self.select.push((column, words));
        self
    }

    pub(crate) fn row(&mut self, values: impl Into<Vec<Value>>) {
        let values = values.into();
        debug_assert_eq!(values.len(), self.columns.len(), "a row of {}", self.id);
        self.rows.push(values);
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are more rows than `limit`.
    pub(crate) fn check(&self, limit: usize, hint: &'static str) -> Result<(), Error> {
        let found = self.rows.len();
        if found <= limit {
            return Ok(());
        }
        Err(Error::TooMuch { what: format!("values in '{}'", self.title), found, limit, hint })
    }

    pub(crate) fn embed(self) -> Embedded {
        let rows = self.rows.len();
        let mut data: Vec<Vec<Value>> = self.columns.iter().map(|_| Vec::with_capacity(rows)).collect();
        for row in self.rows {
            for (column, value) in data.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let data = data.into_iter().map(encode).collect();
        let Self { id, kind, title, columns, select, .. } = self;
        Embedded { id, kind, title, rows, columns, data, select }
    }
}

/// A number as JSON, whole ones without a decimal point; null for what is not finite.
pub(crate) fn num(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9.0e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// A number that may be absent.
pub(crate) fn opt(value: Option<f64>) -> Value {
    value.map_or(Value::Null, num)
}
