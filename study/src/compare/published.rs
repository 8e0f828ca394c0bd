//! Published tables.

use super::{PublishedRow, PublishedSearch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wakelab_workload::Workload;

/// Benchmark, case, load, and for results the metric.
type Key = [String; 4];

/// What was published, by case and load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    files: Vec<PathBuf>,
    results: BTreeMap<Key, PublishedRow>,
    search: BTreeMap<Key, PublishedSearch>,
}

/// A published table that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{}: {what}", path.display(), line.map(|n| format!(":{n}")).unwrap_or_default(),
    column.as_ref().map(|name| format!(": column {name}")).unwrap_or_default())]
pub struct PublishedError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column's name.
    pub column: Option<String>,
    /// What is wrong, and what was expected.
    pub what: String,
}

impl Published {
    /// Nothing.
    pub fn none() -> Self {
        Published::default()
    }

    /// Reads results: `benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct`, in any order, with
    /// other columns left alone.
    ///
    /// # Errors
    /// Where the file cannot be read, lacks a column, or holds something that is no number or the same row twice.
    pub fn read_results(&mut self, path: &Path) -> Result<(), PublishedError> {
        let columns = ["baseline_std_pct", "compare_pct", "compare_std_pct"];
        read(path, ["benchmark", "case", "load", "metric"], columns, |key, [base, compare, with]| {
            let row = PublishedRow { baseline_std_pct: base, compare_pct: compare, compare_std_pct: with };
            self.results.insert(key, row).is_none()
        })?;
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Reads search statistics: `benchmark,case,load,se_eff_pct,dom_eff_pct,fast_rate_pct,success_rate_pct`.
    ///
    /// # Errors
    /// The same.
    pub fn read_search(&mut self, path: &Path) -> Result<(), PublishedError> {
        let columns = ["se_eff_pct", "dom_eff_pct", "fast_rate_pct", "success_rate_pct"];
        read(path, ["benchmark", "case", "load", ""], columns, |key, [se, dom, fast, success]| {
            let row =
                PublishedSearch { se_eff_pct: se, dom_eff_pct: dom, fast_rate_pct: fast, success_rate_pct: success };
            self.search.insert(key, row).is_none()
        })?;
        self.files.push(path.to_owned());
        Ok(())
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
    pub fn search(&self, workload: &Workload) -> Option<PublishedSearch> {
        self.search.get(&key(workload, "")).copied()
    }
}

fn key(workload: &Workload, metric: &str) -> Key {
    [&workload.benchmark, &workload.case, &workload.load, metric].map(str::to_owned)
}

/// Reads a table: the columns `keys` (an empty name is no column) and the numbers in `columns`.
fn read<const N: usize>(
    path: &Path,
    keys: [&str; 4],
    columns: [&str; N],
    mut row: impl FnMut(Key, [f64; N]) -> bool,
) -> Result<(), PublishedError> {
    let error = |line: Option<u64>, column: Option<&str>, what: String| PublishedError {
        path: path.to_owned(),
        line,
        column: column.map(str::to_owned),
        what,
    };
    let of_csv = |e: csv::Error| error(e.position().map(csv::Position::line), None, e.to_string());
    let mut reader = csv::Reader::from_path(path).map_err(of_csv)?;
    let header = reader.headers().map_err(of_csv)?.clone();
    let find = |name: &str| {
        header.iter().position(|column| column == name).ok_or_else(|| {
            let has = header.iter().collect::<Vec<_>>().join(", ");
            error(Some(1), Some(name), format!("it is missing; the file has {has}"))
        })
    };
    let mut key_at = [None; 4];
    for (at, name) in key_at.iter_mut().zip(keys).filter(|(_, name)| !name.is_empty()) {
        *at = Some(find(name)?);
    }
    let mut number_at = [0; N];
    for (at, name) in number_at.iter_mut().zip(columns) {
        *at = find(name)?;
    }
    for record in reader.records() {
        let record = record.map_err(of_csv)?;
        let line = record.position().map(csv::Position::line);
        let key = key_at.map(|at| at.map(|at| record[at].trim().to_owned()).unwrap_or_default());
        let mut numbers = [0.0; N];
        for ((number, &at), name) in numbers.iter_mut().zip(&number_at).zip(columns) {
            let text = record[at].trim();
            *number = text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
                error(line, Some(name), format!("{text:?} is no number; expected per cent, such as -0.47"))
            })?;
        }
        let name = key.join(" ");
        if !row(key, numbers) {
            return Err(error(line, None, format!("{} stands in the file twice", name.trim_end())));
        }
    }
    Ok(())
}
