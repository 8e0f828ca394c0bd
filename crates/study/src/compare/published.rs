//! Published results and search rates of the cases of an experiment, and the CSV files that hold published tables.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use wakelab_input::{shortened, shortened_message};
use wakelab_workload::Workload;

/// The published result of a case at a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedRow {
    /// The spread of the baseline, % of its mean.
    pub baseline_std_pct: f64,
    /// The difference in %; positive is better.
    pub compare_pct: f64,
    /// The spread of the other side, %.
    pub compare_std_pct: f64,
}

/// The four rates of searches, %, as they are published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SearchRates {
    /// 100 (search − failed) / scanned.
    pub se_eff_pct: f64,
    /// 100 (domain search − failed) / (scanned − (search − domain search)).
    pub dom_eff_pct: f64,
    /// 100 (search − domain search) / search.
    pub fast_rate_pct: f64,
    /// 100 (search − failed) / search.
    pub success_rate_pct: f64,
}

/// Benchmark, case, load, and for results the metric.
type Key = [String; 4];

/// Published results and search statistics, by case and load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    files: Vec<PathBuf>,
    /// The last file of results, and of search statistics.
    results_file: Option<PathBuf>,
    search_file: Option<PathBuf>,
    results: BTreeMap<Key, PublishedRow>,
    search: BTreeMap<Key, SearchRates>,
}

impl Published {
    /// Returns a collection without any row.
    pub fn none() -> Self {
        Published::default()
    }

    /// Reads a file of results with the columns
    /// `benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct` in any order. Other columns are
    /// ignored.
    ///
    /// # Errors
    /// Fails if the file cannot be read, lacks a column, or has the same row twice, or if a cell that needs a number
    /// has none.
    pub fn read_results(&mut self, path: &Path) -> Result<(), PublishedError> {
        let columns = [("baseline_std_pct", DEVIATION), ("compare_pct", EFFECT), ("compare_std_pct", DEVIATION)];
        read(path, ["benchmark", "case", "load", "metric"], columns, |key, [base, compare, with]| {
            let row = PublishedRow { baseline_std_pct: base, compare_pct: compare, compare_std_pct: with };
            self.results.insert(key, row).is_none()
        })?;
        self.files.push(path.to_owned());
        self.results_file = Some(path.to_owned());
        Ok(())
    }

    /// Reads a file of search statistics with the columns
    /// `benchmark,case,load,se_eff_pct,dom_eff_pct,fast_rate_pct,success_rate_pct` in any order. Other columns are
    /// ignored.
    ///
    /// # Errors
    /// Fails if the file cannot be read, lacks a column, or has the same row twice, or if a cell that needs a number
    /// has none.
    pub fn read_search(&mut self, path: &Path) -> Result<(), PublishedError> {
        let columns = ["se_eff_pct", "dom_eff_pct", "fast_rate_pct", "success_rate_pct"].map(|name| (name, SHARE));
        read(path, ["benchmark", "case", "load", ""], columns, |key, [se, dom, fast, success]| {
            let row = SearchRates { se_eff_pct: se, dom_eff_pct: dom, fast_rate_pct: fast, success_rate_pct: success };
            self.search.insert(key, row).is_none()
        })?;
        self.files.push(path.to_owned());
        self.search_file = Some(path.to_owned());
        Ok(())
    }

    /// Returns a warning for each table without a row for these workloads, or with rows of a benchmark and case but not
    /// of a load of it. It names some of the rows.
    pub fn misfits<'a>(&self, workloads: impl Iterator<Item = &'a Workload> + Clone) -> Vec<String> {
        let results = workloads.clone().map(|workload| key(workload, &workload.metric)).collect();
        let search = workloads.map(|workload| key(workload, "")).collect();
        let results = misfit(self.results_file.as_deref(), self.results.keys().collect(), results);
        results.into_iter().chain(misfit(self.search_file.as_deref(), self.search.keys().collect(), search)).collect()
    }

    /// Leaves a folder out of the names of the files that were read below it.
    pub fn leave_out(&mut self, folder: &Path) {
        for file in self.files.iter_mut().chain(&mut self.results_file).chain(&mut self.search_file) {
            if let Ok(below) = file.strip_prefix(folder) {
                *file = below.to_owned();
            }
        }
    }

    /// The files that were read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The published result of a workload.
    pub fn result(&self, workload: &Workload) -> Option<PublishedRow> {
        self.results.get(&key(workload, &workload.metric)).copied()
    }

    /// The published search statistics of a workload.
    pub fn search(&self, workload: &Workload) -> Option<SearchRates> {
        self.search.get(&key(workload, "")).copied()
    }
}

/// How many rows a warning names.
const NAMED: usize = 3;

/// The warning about a table with these rows that has none for a workload, if any.
fn misfit(file: Option<&Path>, rows: BTreeSet<&Key>, workloads: BTreeSet<Key>) -> Option<String> {
    let file = file?.display();
    if rows.is_empty() {
        return Some(format!("{file}: the table has no rows, so nothing is compared with it"));
    }
    let named = |keys: Vec<&Key>| {
        let more = keys.len().saturating_sub(NAMED);
        let named: Vec<String> =
            keys.into_iter().take(NAMED).map(|key| format!("{:?}", shortened(key.join(" ").trim_end()))).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", named.join(", "))
    };
    let unused: Vec<&Key> = rows.iter().copied().filter(|row| !workloads.contains(*row)).collect();
    if unused.len() == rows.len() {
        return Some(format!(
            "{file}: no row matches a workload of the experiment: the rows are {}; the experiment has {}",
            named(unused),
            named(workloads.iter().collect())
        ));
    }
    // The same but for the load.
    let alike = |a: &Key, b: &Key| a[..2] == b[..2] && a[3] == b[3];
    let lacking: Vec<&Key> = workloads
        .iter()
        .filter(|&workload| !rows.contains(workload) && unused.iter().any(|row| alike(row, workload)))
        .collect();
    let spare = unused.into_iter().filter(|row| lacking.iter().any(|workload| alike(row, workload))).collect();
    (!lacking.is_empty()).then(|| {
        format!("{file}: no row matches {}; rows without a load of the experiment are {}", named(lacking), named(spare))
    })
}

fn key(workload: &Workload, metric: &str) -> Key {
    [&workload.benchmark, &workload.case, &workload.load, metric].map(str::to_owned)
}

/// Per cent.
type Range = std::ops::RangeInclusive<f64>;

/// Standard deviations.
const DEVIATION: Range = 0.0..=1e6;
/// Differences. Something that takes 10,000 times as long is a million per cent more.
const EFFECT: Range = -1e6..=1e6;
/// Shares.
const SHARE: Range = 0.0..=100.0;

/// Reads a table with the columns `keys`, of which an empty name is no column, and with numbers in `columns`.
fn read<const N: usize>(
    path: &Path,
    keys: [&str; 4],
    columns: [(&str, Range); N],
    mut row: impl FnMut(Key, [f64; N]) -> bool,
) -> Result<(), PublishedError> {
    let needed: Vec<&str> =
        keys.into_iter().filter(|name| !name.is_empty()).chain(columns.iter().map(|(name, _)| *name)).collect();
    let table = CsvTable::read(path, &needed)?;
    for cells in &table.rows {
        let key = keys.map(|name| table.text(cells, name).to_owned());
        let mut numbers = [0.0; N];
        for (number, (name, range)) in numbers.iter_mut().zip(&columns) {
            *number = table.number(cells, name).ok().flatten().ok_or_else(|| {
                let text = shortened(table.text(cells, name));
                let what = format!("{text:?} is not a number; expected per cent, such as -0.47");
                table.error(Some(cells), Some(name), what)
            })?;
            if !range.contains(number) {
                let (from, to) = (range.start(), range.end());
                let what = format!("{number} is out of range; expected per cent from {from} to {to}");
                return Err(table.error(Some(cells), Some(name), what));
            }
        }
        let name = key.join(" ");
        if !row(key, numbers) {
            return Err(table.error(Some(cells), None, format!("{} is in the file twice", shortened(name.trim_end()))));
        }
    }
    Ok(())
}

/// Why a published table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{}: {what}", path.display(), line.map(|n| format!(":{n}")).unwrap_or_default(),
    column.as_ref().map(|name| format!(": column {name}")).unwrap_or_default())]
pub struct PublishedError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The name of the column.
    pub column: Option<String>,
    /// The problem, and what was expected.
    pub what: String,
}

/// Numbers of published tables are below: counts, times in any unit, rates.
const NUMBER_MAX: f64 = 1e15;

/// A CSV file.
#[derive(Clone, Debug)]
pub(crate) struct CsvTable {
    path: PathBuf,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<CsvRow>,
}

/// A line of the file.
#[derive(Clone, Debug)]
pub(crate) struct CsvRow {
    line: Option<u64>,
    pub(crate) cells: Vec<String>,
}

impl CsvTable {
    /// Reads the file at `path`, which must have the columns `needed` and may have others.
    pub(crate) fn read(path: &Path, needed: &[&str]) -> Result<Self, PublishedError> {
        let of_csv = |e: csv::Error| PublishedError {
            path: path.to_owned(),
            line: e.position().map(csv::Position::line),
            column: None,
            what: e.to_string(),
        };
        let of_file = |line, column, what| PublishedError { path: path.to_owned(), line, column, what };
        let text = wakelab_input::read_text(path).map_err(|e| of_file(None, None, e.to_string()))?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns: Vec<String> = reader.headers().map_err(of_csv)?.iter().map(str::to_owned).collect();
        let mut names = HashSet::new();
        if let Some(again) = columns.iter().find(|name| !names.insert(name.as_str())) {
            let what = "the column is there twice; remove one of them".to_owned();
            return Err(of_file(Some(1), Some(shortened(again).into_owned()), what));
        }
        if let Some(missing) = needed.iter().find(|name| !columns.iter().any(|column| column == *name)) {
            let what = format!("it is missing; the file has {}", shortened_message(&columns.join(", ")));
            return Err(of_file(Some(1), Some((*missing).to_owned()), what));
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(of_csv)?;
            let line = record.position().map(csv::Position::line);
            rows.push(CsvRow { line, cells: record.iter().map(|cell| cell.trim().to_owned()).collect() });
        }
        Ok(CsvTable { path: path.to_owned(), columns, rows })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an error about the file, one of its rows, or a cell.
    pub(crate) fn error(&self, row: Option<&CsvRow>, column: Option<&str>, what: String) -> PublishedError {
        let line = row.and_then(|row| row.line);
        PublishedError { path: self.path.clone(), line, column: column.map(str::to_owned), what }
    }

    /// Returns the text of a cell; empty if the file does not have the column.
    pub(crate) fn text<'a>(&self, row: &'a CsvRow, column: &str) -> &'a str {
        self.columns.iter().position(|name| name == column).map_or("", |at| &row.cells[at])
    }

    /// Returns the number in a cell; `None` if the cell is empty.
    pub(crate) fn number(&self, row: &CsvRow, column: &str) -> Result<Option<f64>, PublishedError> {
        match self.text(row, column) {
            "" => Ok(None),
            text => match text.parse().ok().filter(|number: &f64| number.is_finite()) {
                Some(number) if number.abs() <= NUMBER_MAX => Ok(Some(number)),
                Some(number) => Err(self.error(Some(row), Some(column), format!("{number:e} is out of range"))),
                None => Err(self.error(Some(row), Some(column), format!("{:?} is not a number", shortened(text)))),
            },
        }
    }

    /// Returns the text of a cell that must not be empty.
    pub(crate) fn required_text<'a>(&self, row: &'a CsvRow, column: &str) -> Result<&'a str, PublishedError> {
        match self.text(row, column) {
            "" => Err(self.error(Some(row), Some(column), "it is empty; expected a name".to_owned())),
            text => Ok(text),
        }
    }

    /// Returns the number in a cell for which `holds` must be true; `expected` describes it.
    pub(crate) fn number_that(
        &self,
        row: &CsvRow,
        column: &str,
        expected: &str,
        holds: impl Fn(f64) -> bool,
    ) -> Result<f64, PublishedError> {
        let wrong = |what: String| self.error(Some(row), Some(column), format!("{what}; expected {expected}"));
        let number = self.number(row, column)?.ok_or_else(|| wrong("it is empty".to_owned()))?;
        if holds(number) { Ok(number) } else { Err(wrong(format!("{number} is out of range"))) }
    }

    /// Returns the number in a cell that must have one.
    pub(crate) fn required_number(&self, row: &CsvRow, column: &str) -> Result<f64, PublishedError> {
        self.number_that(row, column, "a number", |_| true)
    }

    /// Returns the number in a cell by which something is divided.
    pub(crate) fn above_0(&self, row: &CsvRow, column: &str) -> Result<f64, PublishedError> {
        self.number_that(row, column, "a number above 0, as a ratio is taken", |number| number > 0.0)
    }
}
