//! The published tables. A table is data: a folder with `table.toml` and `rows.csv` ([`table_folder`]). Those of the
//! five threads that the project began with are CSV files with columns of their own, counters among them; each has a
//! file in this folder that says how its rows are simulated.
//!
//! These are found by the names of their files, so that a folder with further rows of the same tables can replace the
//! folder that comes with the project.

mod freq_invariance_gitsource_ratio;
mod freq_invariance_sequential_tasks;
mod freq_invariance_turbostat;
mod runnable_boosting_jankbench;
mod runnable_boosting_sched_messaging;
mod search_limit_results;
mod short_wakeup_results;
mod short_wakeup_rq_lock;
mod sis_util_counters;
mod sis_util_hackbench_search_stats;
mod sis_util_histogram;
mod sis_util_nr_idle_scan;
mod sis_util_results;
mod sis_util_search_stats;
mod sis_util_zen3_results;
pub(super) mod table_folder;

use super::{Quantity, ReproduceError, SearchRates};
use crate::compare::published::{CsvRow, CsvTable};
use crate::compare::{CompareRow, PublishedError};
use std::path::Path;
use wakelab_statistics::Better;

/// All tables, in the order in which the scoreboard prints them.
pub(super) static TABLES: [&dyn PublishedTable; 15] = [
    &sis_util_results::SisUtilResults,
    &sis_util_search_stats::SisUtilSearchStats,
    &sis_util_counters::SisUtilCounters,
    &sis_util_zen3_results::SisUtilZen3Results,
    &search_limit_results::SearchLimitResults,
    &short_wakeup_results::ShortWakeupResults,
    &sis_util_hackbench_search_stats::SisUtilHackbenchSearchStats,
    &sis_util_histogram::SisUtilHistogram,
    &sis_util_nr_idle_scan::SisUtilNrIdleScan,
    &short_wakeup_rq_lock::ShortWakeupRqLock,
    &freq_invariance_sequential_tasks::SequentialTasks,
    &freq_invariance_turbostat::Turbostat,
    &freq_invariance_gitsource_ratio::GitsourceRatio,
    &runnable_boosting_jankbench::Jankbench,
    &runnable_boosting_sched_messaging::SchedMessaging,
];

/// A published table.
pub(super) trait PublishedTable: Sync {
    /// The stem of its file's name.
    fn name(&self) -> &'static str;

    /// The columns that its file must have. The file may have others.
    fn columns(&self) -> &'static [&'static str];

    /// Returns how a row of the file is simulated: one [`Published`] for each number that is compared.
    ///
    /// # Errors
    /// Fails if a cell does not hold what its column needs. A row that is sound and cannot be simulated is no error:
    /// its [`Published::recipe`] says why.
    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError>;

    /// Completes the rows with what takes all of them, and returns notes on the table as a whole.
    ///
    /// # Errors
    /// Fails if the cells of several rows do not fit together.
    fn complete(
        &self,
        _file: &CsvTable,
        rows: Vec<Published>,
    ) -> Result<(Vec<Published>, Vec<String>), PublishedError> {
        Ok((rows, Vec::new()))
    }
}

/// Reads the file of a table: its rows, and notes on all of it. Without a table, the file is not known, and every row
/// is excluded.
pub(super) fn read(
    table: Option<&dyn PublishedTable>,
    path: &Path,
) -> Result<(Vec<Published>, Vec<String>), ReproduceError> {
    let file = read_rows(path, table.map_or(&[], |table| table.columns()))?;
    let mut rows = Vec::new();
    for row in &file.rows {
        let row = Row { file: &file, row };
        match table {
            Some(table) => rows.extend(table.row(row)?),
            None => rows.push(row.published(Err("unknown form: there is no known table of that name".to_owned()))),
        }
    }
    match table {
        Some(table) => Ok(table.complete(&file, rows)?),
        None => Ok((rows, Vec::new())),
    }
}

/// Reads a file that has these columns, and rows.
fn read_rows(path: &Path, columns: &[&str]) -> Result<CsvTable, PublishedError> {
    let file = CsvTable::read(path, columns)?;
    if file.rows.is_empty() {
        let what = "it has no row; expected one for each published result";
        return Err(file.error(None, None, what.to_owned()));
    }
    Ok(file)
}

/// A percentile in tenths of a per cent, of those that the results of a run have.
fn permille(percentile: &str) -> Result<u32, String> {
    let permille = percentile.parse().map(|percentile: f64| (percentile * 10.0).round() as u32);
    let known = permille.ok().filter(|&permille| wakelab_measure::Latency::default().at(permille).is_some());
    known.ok_or_else(|| format!("percentile {percentile} is not kept"))
}

/// A recipe for simulating rows, each at a load of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recipe {
    /// The machine.
    pub machine: String,
    /// The kernel.
    pub kernel: String,
    /// The switches of the base side.
    pub base: String,
    /// The switches of the other side; `None` if only the base side is simulated.
    pub with: Option<String>,
    /// The workload: `netperf:TCP_RR`.
    pub workload: String,
    /// The CPUs that the workload is restricted to; `None` for all.
    pub pinned: Option<String>,
    /// Parameters of the workload that the command of the posting sets.
    pub params: Vec<(String, u64)>,
    /// The cost of a tracer at each call of `select_idle_cpu()`, ns; 0 if there is none.
    pub observer_cost_ns: u64,
}

/// A recipe with the number of instances, or why the row cannot be simulated.
pub(super) type AtLoad = Result<(Recipe, u64), String>;

/// One published number with its recipe.
#[derive(Clone, Debug)]
pub struct Published {
    /// The columns of the file with the cells of the row.
    pub cells: Vec<(String, String)>,
    /// What is simulated with how many instances, or why the row cannot be simulated.
    pub recipe: Result<(Recipe, u64), String>,
    /// The quantity that is compared.
    pub quantity: Quantity,
    /// The published difference in %; positive is better.
    pub compare_pct: Option<f64>,
    /// The spreads of the base and the other side in the posting, %.
    pub spreads: Option<(f64, f64)>,
    /// The value of the baseline, with the name of the curve that it is a point of.
    pub baseline: Option<(String, f64)>,
    /// Whether the baseline is of each instance, not of all of them.
    pub per_instance: bool,
    /// The search statistics of the base side.
    pub search: Option<SearchRates>,
    /// Values of base and with that are compared as they are, not as a difference.
    pub values: Option<[Option<f64>; 2]>,
    /// The other simulation that [`Quantity::WorstRatio`] needs.
    pub over: Option<WorstOver>,
    /// The result of the model's formula if nothing has to be simulated.
    pub computed: Option<f64>,
    /// The share of CPU time in run-queue locks of the base side, %.
    pub rq_lock_pct: Option<f64>,
    /// The spread of the base side, % of its mean.
    pub base_std_pct: Option<f64>,
    /// The share of the machine's CPU time that was idle on the base side, %.
    pub idle_pct: Option<f64>,
}

impl Published {
    /// The direction in which the published quantity is better: by its values where both are posted, else by what the
    /// posting calls it, else by what the benchmark prints.
    pub(super) fn better(&self, simulated: &CompareRow) -> Better {
        if !matches!(self.quantity, Quantity::Metric | Quantity::Value(_)) {
            return self.quantity.better(simulated);
        }
        if let (Some([Some(base), Some(with)]), Some(pct)) = (self.values, self.compare_pct)
            && base != with
            && pct != 0.0
        {
            return if (with > base) == (pct > 0.0) { Better::Higher } else { Better::Lower };
        }
        let throughput = self.cells.iter().any(|(column, cell)| column == "metric" && cell == "throughput");
        let printed = |metric: f64| wakelab_workload::printed(&simulated.benchmark, 1, metric);
        match (throughput, simulated.better) {
            (true, _) => Better::Higher,
            // hackbench prints a time, of which the model measures the inverse.
            (false, Better::Higher) if printed(2.0) < printed(1.0) => Better::Lower,
            (false, better) => better,
        }
    }
}

/// The cases of a worst ratio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstOver {
    /// The recipe whose metric is the divisor, load by load.
    pub reference: Recipe,
    /// The loads.
    pub loads: &'static [u64],
}

/// A row of the file of a table.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    file: &'a CsvTable,
    row: &'a CsvRow,
}

impl<'a> Row<'a> {
    /// A row that is simulated by `recipe`, whose metric is compared, with nothing published yet.
    fn published(self, recipe: AtLoad) -> Published {
        Published {
            cells: self.file.columns.iter().cloned().zip(self.row.cells.iter().cloned()).collect(),
            recipe,
            quantity: Quantity::Metric,
            compare_pct: None,
            spreads: None,
            baseline: None,
            per_instance: false,
            search: None,
            values: None,
            over: None,
            computed: None,
            rq_lock_pct: None,
            base_std_pct: None,
            idle_pct: None,
        }
    }

    /// The text of a cell, which must not be empty.
    fn text(self, column: &str) -> Result<&'a str, PublishedError> {
        self.file.required_text(self.row, column)
    }

    /// The text of a cell, which may be empty.
    fn text_or_empty(self, column: &str) -> &'a str {
        self.file.text(self.row, column)
    }

    /// The number in a cell, if there is one.
    fn number(self, column: &str) -> Result<Option<f64>, PublishedError> {
        self.file.number(self.row, column)
    }

    /// The number in a cell, which must have one.
    fn required_number(self, column: &str) -> Result<f64, PublishedError> {
        self.file.required_number(self.row, column)
    }

    /// The number in a cell, by which something is divided.
    fn above_0(self, column: &str) -> Result<f64, PublishedError> {
        self.file.above_0(self.row, column)
    }

    /// The number in a cell for which `holds` is true; `expected` describes it.
    fn number_that(self, column: &str, expected: &str, holds: impl Fn(f64) -> bool) -> Result<f64, PublishedError> {
        self.file.number_that(self.row, column, expected, holds)
    }

    /// The spreads of both sides, if both are given.
    fn spreads(self, base: &str, with: &str) -> Result<Option<(f64, f64)>, PublishedError> {
        Ok(self.number(base)?.zip(self.number(with)?))
    }

    /// A counter of both sides. The base is what the change is a share of; with `divides`, other counters are shares of
    /// both.
    fn counters(self, [base, with]: [&str; 2], divides: bool) -> Result<[f64; 2], PublishedError> {
        let old = self.above_0(base)?;
        let new = if divides { self.above_0(with) } else { self.number_that(with, "0 or more", |n| n >= 0.0) }?;
        Ok([old, new])
    }

    fn error(self, column: &str, what: String) -> PublishedError {
        self.file.error(Some(self.row), Some(column), what)
    }
}

/// Machine, kernel and sides of rows.
#[derive(Clone, Copy, Debug)]
struct Sides<'a> {
    machine: &'a str,
    kernel: &'static str,
    base: &'static str,
    with: &'a str,
}

/// The SIS_UTIL posting; SIS_PROP stays on beside SIS_UTIL.
const SIS_UTIL: Sides<'static> =
    Sides { machine: "intel-1s56c112t", kernel: "v5.19-rc1", base: "SIS_PROP", with: "SIS_UTIL" };

impl Sides<'_> {
    /// The recipe of a case at a load, of which the leading number is the number of instances.
    fn recipe(self, benchmark: &str, case: &str, load: &str, params: &[(String, u64)]) -> AtLoad {
        // Some tables name the cases of hackbench by its options: --threads.
        let case = if benchmark == "hackbench" { case.replacen("threads-", "thread-", 1) } else { case.to_owned() };
        let workload = format!("{benchmark}:{case}");
        wakelab_workload::describe(&workload).map_err(|_| format!("{benchmark} {case} is not modelled"))?;
        let recipe = Recipe {
            machine: self.machine.to_owned(),
            kernel: self.kernel.to_owned(),
            base: self.base.to_owned(),
            with: Some(self.with.to_owned()),
            workload,
            pinned: None,
            params: params.to_vec(),
            observer_cost_ns: 0,
        };
        Ok((recipe, instances(load)?))
    }

    /// A row of `benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct`.
    fn result(self, row: Row<'_>) -> Result<Published, PublishedError> {
        let recipe = self.recipe(row.text("benchmark")?, row.text("case")?, row.text("load")?, &[]);
        Ok(Published {
            compare_pct: Some(row.required_number("compare_pct")?),
            spreads: row.spreads("baseline_std_pct", "compare_std_pct")?,
            ..row.published(recipe)
        })
    }
}

/// The columns of [`Sides::result`].
const RESULT_COLUMNS: [&str; 7] =
    ["benchmark", "case", "load", "metric", "baseline_std_pct", "compare_pct", "compare_std_pct"];

/// The number that a load begins with: `224 threads`, `1 group`, `8-groups`, `16`.
fn instances(load: &str) -> Result<u64, String> {
    let end = load.find(|c: char| !c.is_ascii_digit()).unwrap_or(load.len());
    load[..end].parse().map_err(|_| format!("load {load} gives no number of instances"))
}

/// Turns published counters into shares of the searches of their run; the searches become CPU time for each. `run`
/// names the run of a row. The counters of a run are per CPU, and a run takes 100 s.
fn per_search(rows: &mut [Published], run: impl Fn(&Published) -> Option<String>) {
    let searches: Vec<(Option<String>, [Option<f64>; 2])> = rows
        .iter()
        .filter(|row| matches!(row.quantity, Quantity::SisSearch | Quantity::SisSearchPerWork))
        .filter_map(|row| Some((run(row), row.values?)))
        .collect();
    for row in rows {
        let of_run = searches.iter().find(|(of, _)| *of == run(row)).map(|(_, searches)| *searches);
        let share = |factor: f64| {
            let (values, searches) = (row.values?, of_run?);
            Some([0, 1].map(|side| Some(factor * values[side]? / searches[side]?)))
        };
        row.values = match row.quantity {
            Quantity::SisSearch => row.values.map(|values| values.map(|count| count.map(|count| 100e6 / count))),
            Quantity::SisDomainSearch
            | Quantity::SisFailed
            | Quantity::SisDomainSearchPerWork
            | Quantity::SisFailedPerWork => share(100.0),
            Quantity::SisScanned | Quantity::SisScannedPerWork => share(1.0),
            _ => row.values,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn read_published(name: &str) -> Vec<Published> {
        let table = TABLES.into_iter().find(|table| table.name() == name).expect("a table");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../data/published/{name}.csv"));
        read(Some(table), &path).unwrap().0
    }

    #[track_caller]
    pub(super) fn assert_near(row: &Published, expected: [f64; 2]) {
        let found = row.values.unwrap().map(Option::unwrap);
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.001 * b);
        assert!(close, "{:?}: {found:?}, not {expected:?}", row.cells);
    }

    #[test]
    fn loads_of_all_tables_are_numbers_of_instances() {
        for (text, number) in [("224 threads", 224), ("1 group", 1), ("8-groups", 8), ("16", 16)] {
            assert_eq!(instances(text), Ok(number));
        }
        assert!(instances("many").is_err());
    }

    /// Only what the model lacks for good is left out, by name.
    #[test]
    fn every_benchmark_of_the_search_limit_and_zen_3_tables_is_simulated_but_stream() {
        for name in ["search-limit-results", "sis_util-zen3-results"] {
            for row in read_published(name) {
                let stream = row.cells[0].1.starts_with("Stream");
                let why = row.recipe.as_ref().err().map(String::as_str);
                assert_eq!(why, stream.then_some("memory bandwidth is not modelled"), "{:?}", row.cells);
            }
        }
    }

    #[test]
    fn every_published_table_of_the_project_is_read() {
        for table in TABLES {
            let rows = read_published(table.name());
            assert!(!rows.is_empty(), "{}", table.name());
            let has_number = |row: &Published| {
                let difference = row.compare_pct.is_some() || row.search.is_some();
                difference || row.values.is_some() || row.rq_lock_pct.is_some()
            };
            let compared = rows.iter().all(|row| has_number(row) || row.recipe.is_err());
            assert!(compared, "{}: a row that is simulated has a number to compare with", table.name());
        }
    }
}
