//! The forms of the published tables, and how each row of one is simulated.
//!
//! A table is known by its file's name, so that a folder of further rows of the same tables can take the place of the one
//! that comes with the project.

use super::{ReproduceError, SearchRates};
use crate::compare::PublishedError;
use crate::csv_table::{CsvRow, CsvTable};
use std::path::Path;

/// What is to be simulated for rows, each at a load of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recipe {
    /// The machine.
    pub machine: String,
    /// The kernel.
    pub kernel: &'static str,
    /// What is switched on the base side.
    pub base: String,
    /// And on the other.
    pub with: String,
    /// The workload: `netperf:TCP_RR`.
    pub workload: String,
    /// Numbers of its model that the posting's command sets.
    pub params: Vec<(String, u64)>,
}

/// What of a simulated row stands beside the published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The benchmark's metric.
    Metric,
    /// A percentile of the latencies, in tenths of a per cent.
    Latency(u32),
    /// Nothing but the search statistics of the base side.
    Search,
    /// Nothing but the share of time in run-queue locks of the base side.
    RqLock,
    /// `sis_search`.
    SisSearch,
    /// `sis_domain_search`.
    SisDomainSearch,
    /// `sis_scanned`.
    SisScanned,
    /// `sis_failed`.
    SisFailed,
}

/// One published row.
#[derive(Clone, Debug)]
pub struct Published {
    /// The file's columns and the row's cells.
    pub cells: Vec<(String, String)>,
    /// What to simulate with how many instances, or why that cannot be done.
    pub recipe: Result<(Recipe, u64), String>,
    /// What is compared.
    pub what: What,
    /// The difference, %; positive is better.
    pub compare_pct: Option<f64>,
    /// The posting's spreads, %, of both sides.
    pub spreads: Option<(f64, f64)>,
    /// The baseline's value, and the curve that it is a point of.
    pub baseline: Option<(String, f64)>,
    /// Search statistics of the base side.
    pub search: Option<SearchRates>,
    /// Share of CPU time in run-queue locks of the base side, %.
    pub rq_lock_pct: Option<f64>,
}

/// The tables that are known: the file's stem, its form, or why nothing of it is simulated.
pub(super) const TABLES: [(&str, Form); 14] = [
    ("sis_util-results", Form::Results(SIS_UTIL)),
    ("sis_util-vanilla-search-stats", Form::SearchStats),
    ("sis_util-224-threads-counters", Form::Counters),
    ("sis_util-zen3-results", Form::Zen3),
    ("search-limit-results", Form::SearchLimit),
    ("short-wakeup-results", Form::Results(SIS_SHORT)),
    ("sis_util-zen3-hackbench-search-stats", Form::Not("counters of a whole run, which stands beside nothing yet")),
    ("sis_util-select_idle_cpu-histogram", Form::Not("measured under a tracer; `compare --observer-cost` has one")),
    ("sis_util-nr_idle_scan", Form::Not("a formula's values, which the tests hold exactly")),
    ("short-wakeup-will-it-scale-rq-lock", Form::RqLock),
    ("freq-invariance-sequential-tasks-i7-2600k", Form::Not("frequency is not modelled")),
    ("freq-invariance-turbostat-i7-2600k", Form::Not("frequency is not modelled")),
    ("runnable-boosting-pixel6-jankbench", Form::Not("frequency and energy are not modelled")),
    ("runnable-boosting-altra-perf-bench-sched-messaging", Form::Not("runnable boosting is not modelled")),
];

/// Machine, kernel and sides of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides<'a> {
    machine: &'a str,
    kernel: &'static str,
    base: &'static str,
    with: &'a str,
}

/// SIS_PROP stays on beside SIS_UTIL.
const SIS_UTIL: Sides<'static> = Sides { machine: INTEL, kernel: "v5.19-rc1", base: "SIS_PROP", with: "SIS_UTIL" };
const SIS_SHORT: Sides<'static> = Sides { machine: INTEL, kernel: "v6.1", base: "", with: "SIS_SHORT" };
const INTEL: &str = "intel-1s56c112t";

/// The form of a table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// `benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct`
    Results(Sides<'static>),
    /// `benchmark,case,load,se_eff_pct,dom_eff_pct,fast_rate_pct,success_rate_pct`
    SearchStats,
    /// `counter,vanilla,patched`
    Counters,
    /// `benchmark,numa_config,load,tip,sis_util,compare_pct,note`
    Zen3,
    /// `benchmark,machine,SIS_CORE,SIS_PROP,load,baseline,baseline_std_pct,patch,compare_pct,patch_std_pct`
    SearchLimit,
    /// `nr_instance,rq_lock_pct`
    RqLock,
    /// Not simulated, and why.
    Not(&'static str),
}

impl Form {
    /// Reads a table of this form.
    pub(super) fn read(self, path: &Path) -> Result<Vec<Published>, ReproduceError> {
        let needed: &[&str] = match self {
            Form::Results(_) => {
                &["benchmark", "case", "load", "metric", "baseline_std_pct", "compare_pct", "compare_std_pct"]
            }
            Form::SearchStats => {
                &["benchmark", "case", "load", "se_eff_pct", "dom_eff_pct", "fast_rate_pct", "success_rate_pct"]
            }
            Form::Counters => &["counter", "vanilla", "patched"],
            Form::Zen3 => &["benchmark", "numa_config", "load", "tip", "sis_util", "compare_pct"],
            Form::SearchLimit => &[
                "benchmark",
                "machine",
                "SIS_CORE",
                "SIS_PROP",
                "load",
                "baseline",
                "baseline_std_pct",
                "compare_pct",
                "patch_std_pct",
            ],
            Form::RqLock => &["nr_instance", "rq_lock_pct"],
            Form::Not(_) => &[],
        };
        let table = CsvTable::read(path, needed)?;
        if table.rows.is_empty() {
            let what = "it has no row; expected one for each published result";
            return Err(table.error(None, None, what.to_owned()).into());
        }
        table.rows.iter().map(|row| self.row(&table, row)).collect()
    }

    fn row(self, table: &CsvTable, row: &CsvRow) -> Result<Published, ReproduceError> {
        let text = |column| table.text(row, column);
        let number = |column| table.number(row, column);
        let spreads = |base, with| Ok::<_, PublishedError>(number(base)?.zip(number(with)?));
        let mut published = Published {
            cells: table.columns.iter().cloned().zip(row.cells.iter().cloned()).collect(),
            recipe: Err(String::new()),
            what: What::Metric,
            compare_pct: None,
            spreads: None,
            baseline: None,
            search: None,
            rq_lock_pct: None,
        };
        match self {
            Form::Results(sides) => {
                published.recipe = sides.recipe(text("benchmark"), text("case"), text("load"), &[]);
                published.compare_pct = number("compare_pct")?;
                published.spreads = spreads("baseline_std_pct", "compare_std_pct")?;
            }
            Form::SearchStats => {
                // 28 tasks a group.
                let fds = [("fds".to_owned(), 14)];
                let params: &[_] = if text("benchmark") == "hackbench" { &fds } else { &[] };
                published.recipe = SIS_UTIL.recipe(text("benchmark"), text("case"), text("load"), params);
                published.what = What::Search;
                let rates = [number("se_eff_pct")?, number("dom_eff_pct")?, number("fast_rate_pct")?];
                if let ([Some(se), Some(dom), Some(fast)], Some(success)) = (rates, number("success_rate_pct")?) {
                    published.search =
                        Some(SearchRates { se_eff: se, dom_eff: dom, fast_rate: fast, success_rate: success });
                }
            }
            Form::Counters => {
                published.recipe = SIS_UTIL.recipe("netperf", "TCP_RR", "224 threads", &[]);
                published.what = match text("counter").trim_end_matches(".avg") {
                    "sis_search" => What::SisSearch,
                    "sis_domain_search" => What::SisDomainSearch,
                    "sis_scanned" => What::SisScanned,
                    "sis_failed" => What::SisFailed,
                    other => {
                        published.recipe = Err(format!("counter {other} is not known"));
                        What::Search
                    }
                };
                let change = |(old, new): (f64, f64)| 100.0 * (new / old - 1.0);
                published.compare_pct = number("vanilla")?.zip(number("patched")?).map(change);
            }
            Form::Zen3 => {
                let (benchmark, numa, load) = (text("benchmark"), text("numa_config"), text("load"));
                let machine = format!("amd-zen3-2s128c256t-{}", numa.to_lowercase());
                let sides =
                    Sides { machine: &machine, kernel: "v5.19-rc2-tip", base: "", with: "SIS_UTIL,NO_SIS_PROP" };
                published.recipe = match benchmark {
                    // The posting does not say through what; `perf bench sched messaging -p -t`, which its author uses, is
                    // through pipes.
                    "hackbench" => sides.recipe(benchmark, "thread-pipe", load, &[]),
                    "tbench" => sides.recipe(benchmark, "loopback", load, &[]),
                    "schbench" => sides.recipe(benchmark, "workers", load, &[]),
                    // Its threads are a number of the model; the load column names the metric.
                    "ycsb-mongodb" => sides.recipe("ycsb", "mongodb", "1", &[]),
                    stream if stream.starts_with("Stream") => Err("memory bandwidth is not modelled".to_owned()),
                    other => Err(format!("{other} is not modelled")),
                };
                published.compare_pct = number("compare_pct")?;
                published.baseline = number("tip")?.map(|tip| (format!("{benchmark} {numa}"), tip));
            }
            Form::SearchLimit => {
                let (benchmark, machine) = (text("benchmark"), text("machine"));
                let mut with = vec!["SIS_LIMIT"];
                with.extend((text("SIS_CORE") == "false").then_some("NO_SIS_CORE"));
                with.extend((text("SIS_PROP") == "false").then_some("NO_SIS_PROP"));
                let with = with.join(",");
                let sides = Sides { machine, kernel: "v5.2", base: "", with: &with };
                let load = text("load");
                published.recipe = match benchmark {
                    "hackbench process" => sides.recipe("hackbench", "process-sockets", load, &[]),
                    "sysbench mysql" => sides.recipe("sysbench", "oltp_read_write", load, &[]),
                    "oracle db" => sides.recipe("oracle", "oltp", load, &[]),
                    "uperf pingpong" => sides.recipe("uperf", "pingpong", load, &[]),
                    "dbench" => sides.recipe(benchmark, "fileio", load, &[]),
                    "tbench" => sides.recipe(benchmark, "loopback", load, &[]),
                    // 44 tasks; the load column is the percentile, and one run has all of them.
                    "schbench" => permille(load).and_then(|permille| {
                        published.what = What::Latency(permille);
                        let [threads, workers] = SCHBENCH_TASKS;
                        let params = [("message_threads".to_owned(), threads)];
                        sides.recipe(benchmark, "workers", &workers.to_string(), &params)
                    }),
                    other => Err(format!("{other} is not modelled")),
                };
                published.compare_pct = number("compare_pct")?;
                published.spreads = spreads("baseline_std_pct", "patch_std_pct")?;
                // Those of the database are 1 at each load: no curve.
                published.baseline = number("baseline")?
                    .filter(|_| benchmark != "oracle db")
                    .map(|base| (format!("{benchmark} {machine}"), base));
            }
            Form::RqLock => {
                // One side, before f3dd3f674555, since when the wakelist takes that time. The other side is not shown.
                published.recipe = SIS_UTIL.recipe("will-it-scale", "context_switch1", text("nr_instance"), &[]);
                published.what = What::RqLock;
                published.rq_lock_pct = number("rq_lock_pct")?;
            }
            Form::Not(why) => published.recipe = Err(why.to_owned()),
        }
        Ok(published)
    }
}

impl Sides<'_> {
    fn recipe(
        self,
        benchmark: &str,
        case: &str,
        load: &str,
        params: &[(String, u64)],
    ) -> Result<(Recipe, u64), String> {
        let workload = format!("{benchmark}:{case}");
        wakelab_workload::describe(&workload).map_err(|_| format!("{benchmark} {case} is not modelled"))?;
        let recipe = Recipe {
            machine: self.machine.to_owned(),
            kernel: self.kernel,
            base: self.base.to_owned(),
            with: self.with.to_owned(),
            workload,
            params: params.to_vec(),
        };
        Ok((recipe, instances(load)?))
    }
}

/// The number that a load begins with: `224 threads`, `1 group`, `8-groups`, `16`.
fn instances(load: &str) -> Result<u64, String> {
    let end = load.find(|c: char| !c.is_ascii_digit()).unwrap_or(load.len());
    load[..end].parse().map_err(|_| format!("load {load} says no number of instances"))
}

/// Message threads of schbench, and the workers of each, which are its 44 tasks: 2 is schbench's own number (-m).
const SCHBENCH_TASKS: [u64; 2] = [2, 22];

/// A percentile in tenths of a per cent, of those that runs keep.
fn permille(percentile: &str) -> Result<u32, String> {
    let permille = percentile.parse().map(|percentile: f64| (percentile * 10.0).round() as u32);
    let kept = permille.ok().filter(|&permille| wakelab_measure::Latency::default().at(permille).is_some());
    kept.ok_or_else(|| format!("percentile {percentile} is not kept"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_that_runs_keep() {
        let found = ["50", "75", "90", "95", "99", "99.5", "99.9"].map(|text| permille(text).unwrap());
        assert_eq!(found, [500, 750, 900, 950, 990, 995, 999]);
        assert_eq!(permille("97"), Err("percentile 97 is not kept".to_owned()));
        assert!(permille("most").is_err());
    }

    /// Only what the model lacks for good is left out, by name.
    #[test]
    fn every_benchmark_of_the_search_limit_and_zen_3_tables_is_simulated_but_stream() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../published");
        for (name, form) in [("search-limit-results", Form::SearchLimit), ("sis_util-zen3-results", Form::Zen3)] {
            for row in form.read(&folder.join(format!("{name}.csv"))).unwrap() {
                let stream = row.cells[0].1.starts_with("Stream");
                let why = row.recipe.as_ref().err().map(String::as_str);
                assert_eq!(why, stream.then_some("memory bandwidth is not modelled"), "{:?}", row.cells);
            }
        }
    }

    #[test]
    fn all_percentiles_of_schbench_are_of_one_run() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../published/search-limit-results.csv");
        let rows = Form::SearchLimit.read(&path).unwrap();
        let schbench: Vec<_> = rows.iter().filter(|row| row.cells[0].1 == "schbench").collect();
        for sides in [&schbench[..7], &schbench[7..]] {
            assert!(sides.iter().all(|row| row.recipe == sides[0].recipe && row.recipe.is_ok()));
            assert!(sides.windows(2).all(|two| two[0].what != two[1].what));
        }
    }

    #[test]
    fn loads_of_all_tables_are_numbers_of_instances() {
        for (text, number) in [("224 threads", 224), ("1 group", 1), ("8-groups", 8), ("16", 16)] {
            assert_eq!(instances(text), Ok(number));
        }
        assert!(instances("many").is_err());
    }

    #[test]
    fn every_published_table_of_the_project_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../published");
        let rows = |name: &str, form: &Form| form.read(&folder.join(format!("{name}.csv"))).unwrap();
        for (name, form) in &TABLES {
            let rows = rows(name, form);
            assert!(!rows.is_empty(), "{name}");
            let told = rows.iter().all(|row| {
                row.compare_pct.is_some() || row.search.is_some() || row.rq_lock_pct.is_some() || row.recipe.is_err()
            });
            assert!(told, "{name}: a row that is simulated has a number to stand beside");
        }
    }
}
