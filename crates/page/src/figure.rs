//! A chart as the page's script receives it: its kind and one table of values, which is drawn, shown as a table and
//! saved as CSV. Columns are stored in few bytes, which `assets/js/data.js` decodes.

use crate::{Error, glossary};
use serde::Serialize;
use serde_json::Value;

/// A chart and its values.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) id: String,
    /// The function of `assets/js` that draws it; `table` if there is no chart.
    pub(crate) kind: &'static str,
    pub(crate) title: String,
    /// The text alternative of the chart: what it shows, in a sentence or two.
    pub(crate) summary: String,
    columns: Vec<FigureColumn>,
    rows: Vec<Vec<Value>>,
    /// Columns of which the reader chooses one value, each with the label of the choice.
    select: Vec<(&'static str, &'static str)>,
}

/// A column of a figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FigureColumn {
    /// Its name in CSV: the statistic's own name, with the unit if it has one.
    pub(crate) name: String,
    /// Its title on the page.
    pub(crate) title: String,
    pub(crate) unit: String,
    /// What its title means, if the glossary has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) about: Option<&'static str>,
}

/// A figure as the page's JSON has it.
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
        let about = glossary::entry(title).map(|entry| entry.meaning.as_str());
        self.columns.push(FigureColumn { name: name.into(), title: title.into(), unit: unit.into(), about });
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

    /// The titles of its columns.
    pub(crate) fn titles(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.title.as_str())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Fails with [`Error::TooMuch`] if there are more rows than `limit`.
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

/// Returns a number as JSON: whole numbers have no decimal point, and a number that is not finite is null.
pub(crate) fn num(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9.0e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// Returns a number as JSON, or null if there is none.
pub(crate) fn opt(value: Option<f64>) -> Value {
    value.map_or(Value::Null, num)
}

/// The values of a column in one of four forms.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoded {
    /// All values, one after the other.
    Plain(Vec<Value>),
    /// Values with how often each is repeated.
    Runs(Vec<(Value, usize)>),
    /// Values that repeat in this order, and the length of the whole column.
    Tile(Vec<Value>, usize),
    /// The different texts, and the index of the text in each row.
    Words(Vec<Value>, Vec<usize>),
}

/// Returns the column in the form that is likely to be the shortest.
pub(crate) fn encode(values: Vec<Value>) -> Encoded {
    if values.len() < 8 {
        return Encoded::Plain(values);
    }
    let runs = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if runs * 3 < values.len() {
        return Encoded::Runs(runs_of(values));
    }
    if let Some(period) = period(&values) {
        let all = values.len();
        return Encoded::Tile(values.into_iter().take(period).collect(), all);
    }
    if values.iter().all(Value::is_string) {
        let mut words: Vec<Value> = Vec::new();
        let mut at = Vec::with_capacity(values.len());
        for value in &values {
            at.push(words.iter().position(|word| word == value).unwrap_or_else(|| {
                words.push(value.clone());
                words.len() - 1
            }));
            if words.len() > 64 {
                return Encoded::Plain(values);
            }
        }
        return Encoded::Words(words, at);
    }
    Encoded::Plain(values)
}

fn runs_of(values: Vec<Value>) -> Vec<(Value, usize)> {
    let mut runs: Vec<(Value, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, times)) if *last == value => *times += 1,
            _ => runs.push((value, 1)),
        }
    }
    runs
}

/// Returns the period with which all values repeat, if they do so at least twice.
fn period(values: &[Value]) -> Option<usize> {
    let period = 1 + values[1..].iter().position(|value| *value == values[0])?;
    let whole = period > 1 && period * 2 <= values.len();
    (whole && values.iter().zip(&values[period..]).all(|(a, b)| a == b)).then_some(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(encoded: Encoded) -> Vec<Value> {
        match encoded {
            Encoded::Plain(values) => values,
            Encoded::Runs(runs) => runs.into_iter().flat_map(|(v, n)| std::iter::repeat_n(v, n)).collect(),
            Encoded::Tile(tile, all) => tile.into_iter().cycle().take(all).collect(),
            Encoded::Words(words, at) => at.into_iter().map(|at| words[at].clone()).collect(),
        }
    }

    #[test]
    fn each_form_gives_back_what_was_put_in() {
        let columns: [Vec<Value>; 5] = [
            (0..20).map(Value::from).collect(),
            (0..20).map(|i| Value::from(i / 10)).collect(),
            (0..23).map(|i| Value::from(i % 5)).collect(),
            (0..20).map(|i| Value::from(["a", "b", "c"][i * i % 3])).collect(),
            (0..200).map(|i| Value::from(format!("text {i}"))).collect(),
        ];
        for column in columns {
            assert_eq!(decode(encode(column.clone())), column);
        }
    }

    #[test]
    fn grids_take_the_short_forms() {
        assert!(matches!(encode((0..20).map(|i| Value::from(i / 10)).collect()), Encoded::Runs(_)));
        assert!(matches!(encode((0..23).map(|i| Value::from(i % 5)).collect()), Encoded::Tile(_, 23)));
    }
}
