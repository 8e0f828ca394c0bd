//! A published CSV file as it stands: rows of named cells.

use super::ReproduceError;
use std::path::{Path, PathBuf};

/// A file, read whole.
#[derive(Clone, Debug)]
pub(super) struct CsvTable {
    pub(super) path: PathBuf,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<CsvRow>,
}

/// One line of it.
#[derive(Clone, Debug)]
pub(super) struct CsvRow {
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
}

impl CsvTable {
    /// Reads `path`, which must have the columns `needed` and a row.
    pub(super) fn read(path: &Path, needed: &[&str]) -> Result<Self, ReproduceError> {
        let of_csv = |e: csv::Error| ReproduceError::File {
            path: path.to_owned(),
            line: e.position().map(csv::Position::line),
            column: None,
            what: e.to_string(),
        };
        let mut reader = csv::Reader::from_path(path).map_err(of_csv)?;
        let columns: Vec<String> = reader.headers().map_err(of_csv)?.iter().map(str::to_owned).collect();
        if let Some(missing) = needed.iter().find(|name| !columns.iter().any(|column| column == *name)) {
            return Err(ReproduceError::File {
                path: path.to_owned(),
                line: Some(1),
                column: Some((*missing).to_owned()),
                what: format!("it is missing; the file has {}", columns.join(", ")),
            });
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(of_csv)?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(CsvRow { line, cells: record.iter().map(|cell| cell.trim().to_owned()).collect() });
        }
        if rows.is_empty() {
            return Err(ReproduceError::File {
                path: path.to_owned(),
                line: None,
                column: None,
                what: "it has no row; expected one for each published result".to_owned(),
            });
        }
        Ok(CsvTable { path: path.to_owned(), columns, rows })
    }

    fn at(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|name| name == column)
    }

    /// The cell, empty where the file does not have the column.
    pub(super) fn text<'a>(&self, row: &'a CsvRow, column: &str) -> &'a str {
        self.at(column).map_or("", |at| &row.cells[at])
    }

    /// The number in a cell; `None` where it is empty.
    pub(super) fn number(&self, row: &CsvRow, column: &str) -> Result<Option<f64>, ReproduceError> {
        let text = self.text(row, column);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().ok().filter(|number: &f64| number.is_finite()).map(Some).ok_or_else(|| ReproduceError::File {
            path: self.path.clone(),
            line: Some(row.line),
            column: Some(column.to_owned()),
            what: format!("{text:?} is no number"),
        })
    }
}
