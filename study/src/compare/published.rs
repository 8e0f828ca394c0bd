//! Published tables.

use super::{PublishedError, PublishedRow, SearchRates};
use crate::csv_table::CsvTable;
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
    search: BTreeMap<Key, SearchRates>,
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
            let row = SearchRates { se_eff_pct: se, dom_eff_pct: dom, fast_rate_pct: fast, success_rate_pct: success };
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
    pub fn search(&self, workload: &Workload) -> Option<SearchRates> {
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
    let needed: Vec<&str> = keys.into_iter().filter(|name| !name.is_empty()).chain(columns).collect();
    let table = CsvTable::read(path, &needed)?;
    for cells in &table.rows {
        let key = keys.map(|name| table.text(cells, name).to_owned());
        let mut numbers = [0.0; N];
        for (number, name) in numbers.iter_mut().zip(columns) {
            *number = table.number(cells, name).ok().flatten().ok_or_else(|| {
                let text = table.text(cells, name);
                let what = format!("{text:?} is no number; expected per cent, such as -0.47");
                table.error(Some(cells), Some(name), what)
            })?;
        }
        let name = key.join(" ");
        if !row(key, numbers) {
            return Err(table.error(Some(cells), None, format!("{} stands in the file twice", name.trim_end())));
        }
    }
    Ok(())
}
