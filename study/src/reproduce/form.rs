//! The forms of the published tables, and how each row of one is simulated.
//!
//! A table is known by its file's name, so that a folder of further rows of the same tables can take the place of the one
//! that comes with the project.

use super::frequency::{self, Turbostat, WorstOver};
use super::{ReproduceError, SearchRates, boosting, histogram};
use crate::compare::PublishedError;
use crate::published::{CsvRow, CsvTable};
use std::path::Path;
use wakelab_sched::select::update_idle_cpu_scan;

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
    /// What a tracer costs at each call of `select_idle_cpu()`, ns; 0 for none.
    pub observer_cost_ns: u64,
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
    /// `sis_search` for the same work.
    WorkCalls,
    /// `sis_domain_search` for the same work.
    WorkDomainSearch,
    /// `sis_scanned` for the same work.
    WorkScanned,
    /// `sis_failed` for the same work.
    WorkFailed,
    /// `sis_scanned` / `sis_domain_search`.
    ScannedPerDomainSearch,
    /// The share of the calls of `select_idle_cpu()` that took from `from` to `below` us.
    WalkUs {
        /// us.
        from: u64,
        /// us.
        below: u64,
    },
    /// `nr_idle_scan`, which is computed and not simulated.
    NrIdleScan,
    /// The metric of the base side over that of a reference, the highest over loads.
    WorstRatio,
    /// A column of turbostat, of the base side.
    Turbostat(Turbostat),
    /// The benchmark's metric, beside the published values.
    Value(&'static str),
    /// Mean power of all CPUs, mW.
    Power,
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
    /// Numbers that are no differences, of base and with.
    pub beside: Option<[Option<f64>; 2]>,
    /// What else is simulated for a worst ratio.
    pub over: Option<WorstOver>,
    /// What the model's formula gives where nothing has to be simulated.
    pub computed: Option<f64>,
    /// Share of CPU time in run-queue locks of the base side, %.
    pub rq_lock_pct: Option<f64>,
}

/// The tables that are known: the file's stem, its form, or why nothing of it is simulated.
pub(super) const TABLES: [(&str, Form); 15] = [
    ("sis_util-results", Form::Results(SIS_UTIL)),
    ("sis_util-vanilla-search-stats", Form::SearchStats),
    ("sis_util-224-threads-counters", Form::Counters),
    ("sis_util-zen3-results", Form::Zen3),
    ("search-limit-results", Form::SearchLimit),
    ("short-wakeup-results", Form::Results(SIS_SHORT)),
    ("sis_util-zen3-hackbench-search-stats", Form::HackbenchSearch),
    ("sis_util-select_idle_cpu-histogram", Form::Histogram),
    ("sis_util-nr_idle_scan", Form::NrIdleScan),
    ("short-wakeup-will-it-scale-rq-lock", Form::RqLock),
    ("freq-invariance-sequential-tasks-i7-2600k", Form::Sequential),
    ("freq-invariance-turbostat-i7-2600k", Form::Turbostat),
    ("freq-invariance-gitsource-ratio", Form::Gitsource),
    ("runnable-boosting-pixel6-jankbench", Form::Jankbench),
    ("runnable-boosting-altra-perf-bench-sched-messaging", Form::Messaging),
];

/// The form of a file that is no known table: all of it is excluded, with the reason.
pub(super) fn of_unknown() -> Form {
    Form::Not("unknown form: no table of that name is known")
}

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
const ZEN3: Sides<'static> = Sides { machine: "", kernel: "v5.19-rc2-tip", base: "", with: "SIS_UTIL,NO_SIS_PROP" };
const BOOST: Sides<'static> = Sides { machine: "", kernel: "v5.18-eas", base: "NO_RUNNABLE_BOOST", with: "" };
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
    /// `hackbench_groups,metric,sis_prop,sis_util`
    HackbenchSearch,
    /// `usecs_from,usecs_below,count`
    Histogram,
    /// `llc_weight,sum_util_pct,nr_scan`
    NrIdleScan,
    /// `nr_instance,rq_lock_pct`
    RqLock,
    /// `intel_pstate_mode,governor,worst_time_over_reference,power,busy_mhz`
    Sequential,
    /// `placement,busy_pct,bzy_mhz,irq_per_60s,pkg_temp_c,pkg_watt,gfx_watt`
    Turbostat,
    /// `machine,schedutil_4C_over_unpatched_time`
    Gitsource,
    /// `metric,unit,base,runnable_boosting,diff_pct`
    Jankbench,
    /// `command,base_s,base_std_pct,patched_s,patched_std_pct`
    Messaging,
    /// Not simulated, and why.
    Not(&'static str),
}

impl Form {
    /// Reads a table of this form, and what is to be said of all of it.
    pub(super) fn read(self, path: &Path) -> Result<(Vec<Published>, Vec<String>), ReproduceError> {
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
            Form::HackbenchSearch => &["hackbench_groups", "metric", "sis_prop", "sis_util"],
            Form::Histogram => &["usecs_from", "usecs_below", "count"],
            Form::NrIdleScan => &["llc_weight", "sum_util_pct", "nr_scan"],
            Form::RqLock => &["nr_instance", "rq_lock_pct"],
            Form::Sequential => &["intel_pstate_mode", "governor", "worst_time_over_reference", "busy_mhz"],
            Form::Turbostat => &["placement", "busy_pct", "bzy_mhz", "irq_per_60s", "pkg_watt"],
            Form::Gitsource => &["machine", "schedutil_4C_over_unpatched_time"],
            Form::Jankbench => &["metric", "base", "runnable_boosting"],
            Form::Messaging => &["command", "base_s", "base_std_pct", "patched_s", "patched_std_pct"],
            Form::Not(_) => &[],
        };
        let table = CsvTable::read(path, needed)?;
        if table.rows.is_empty() {
            let what = "it has no row; expected one for each published result";
            return Err(table.error(None, None, what.to_owned()).into());
        }
        let mut rows: Vec<Published> = Vec::new();
        for row in &table.rows {
            let published = self.row(&table, row)?;
            match self {
                Form::Sequential => rows.extend(frequency::sequential(&table, row, published)?),
                Form::Turbostat => rows.extend(frequency::turbostat(&table, row, published)?),
                Form::Gitsource => rows.extend(frequency::gitsource(&table, row, published)?),
                _ => rows.push(published),
            }
        }
        match self {
            Form::Turbostat => Ok((frequency::means(rows), Vec::new())),
            Form::Histogram => {
                let (buckets, notes) = histogram::read(&table, path)?;
                Ok((buckets_of(&rows, &buckets), notes))
            }
            Form::Counters | Form::HackbenchSearch => {
                per_search(&mut rows);
                Ok((rows, Vec::new()))
            }
            _ => Ok((rows, Vec::new())),
        }
    }

    fn row(self, table: &CsvTable, row: &CsvRow) -> Result<Published, ReproduceError> {
        let text = |column| table.said(row, column);
        let given = |column| table.given(row, column);
        let above_0 = |column| table.above_0(row, column);
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
            beside: None,
            over: None,
            computed: None,
            rq_lock_pct: None,
        };
        match self {
            Form::Results(sides) => {
                published.recipe = sides.recipe(text("benchmark")?, text("case")?, text("load")?, &[]);
                published.compare_pct = Some(given("compare_pct")?);
                published.spreads = spreads("baseline_std_pct", "compare_std_pct")?;
            }
            Form::SearchStats => {
                // 28 tasks a group.
                let fds = [("fds".to_owned(), 14)];
                let params: &[_] = if text("benchmark")? == "hackbench" { &fds } else { &[] };
                published.recipe = SIS_UTIL.recipe(text("benchmark")?, text("case")?, text("load")?, params);
                published.what = What::Search;
                published.search = Some(SearchRates {
                    se_eff_pct: given("se_eff_pct")?,
                    dom_eff_pct: given("dom_eff_pct")?,
                    fast_rate_pct: given("fast_rate_pct")?,
                    success_rate_pct: given("success_rate_pct")?,
                });
            }
            Form::Counters => {
                published.recipe = SIS_UTIL.recipe("netperf", "TCP_RR", "224 threads", &[]);
                published.what = match text("counter")?.trim_end_matches(".avg") {
                    "sis_search" => What::SisSearch,
                    "sis_domain_search" => What::SisDomainSearch,
                    "sis_scanned" => What::SisScanned,
                    "sis_failed" => What::SisFailed,
                    other => {
                        published.recipe = Err(format!("counter {other} is not known"));
                        What::Search
                    }
                };
                let searches = published.what == What::SisSearch;
                let [old, new] = counters(table, row, ["vanilla", "patched"], searches)?;
                published.compare_pct = Some(100.0 * (new / old - 1.0));
                published.beside = Some([Some(old), Some(new)]);
            }
            Form::HackbenchSearch => {
                // The posting does not say in which NPS mode; its first table is NPS1's.
                let sides = Sides { machine: "amd-zen3-2s128c256t-nps1", ..ZEN3 };
                published.recipe = sides.recipe("hackbench", "thread-pipe", text("hackbench_groups")?, &[]);
                published.what = match text("metric")? {
                    "Benchmark Results (sec)" => What::Metric,
                    "Number of calls to select_idle_sibling" => What::WorkCalls,
                    "Number of times the domain was searched (fast path failed)" => What::WorkDomainSearch,
                    "Number of runqueues scanned" => What::WorkScanned,
                    "Number of SIS calls that failed to find an idle CPU" => What::WorkFailed,
                    "Avg. No. of runqueues scanned per domain search" => What::ScannedPerDomainSearch,
                    other => {
                        published.recipe = Err(format!("metric {other} is not known"));
                        What::Search
                    }
                };
                let searches = matches!(published.what, What::WorkCalls | What::Metric);
                let [old, new] = counters(table, row, ["sis_prop", "sis_util"], searches)?;
                published.compare_pct = Some(100.0 * (new / old - 1.0));
                published.beside = Some([Some(old), Some(new)]);
                if published.what == What::Metric {
                    // Seconds: less is better.
                    published.compare_pct = published.compare_pct.map(|pct| -pct);
                    published.beside = None;
                }
            }
            Form::Histogram => published.recipe = SIS_UTIL.recipe("netperf", "TCP_RR", "224 threads", &[]),
            Form::NrIdleScan => {
                published.what = What::NrIdleScan;
                published.beside = Some([Some(given("nr_scan")?), None]);
                let is_weight = |cpus: f64| cpus >= 1.0 && cpus <= f64::from(u32::MAX) && cpus.fract() == 0.0;
                let weight = table.number_that(row, "llc_weight", "a whole number of CPUs, 1 or more", is_weight)?;
                let pct = table.number_that(row, "sum_util_pct", "per cent, 0 or more", |pct| pct >= 0.0)?;
                published.computed = Some(nr_idle_scan(weight, pct));
            }
            Form::Zen3 => {
                let (benchmark, numa, load) = (text("benchmark")?, text("numa_config")?, text("load")?);
                let machine = format!("amd-zen3-2s128c256t-{}", numa.to_lowercase());
                let sides = Sides { machine: &machine, ..ZEN3 };
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
                published.compare_pct = Some(given("compare_pct")?);
                published.baseline = Some((format!("{benchmark} {numa}"), above_0("tip")?));
            }
            Form::SearchLimit => {
                let (benchmark, machine) = (text("benchmark")?, text("machine")?);
                let mut with = vec!["SIS_LIMIT"];
                with.extend((!is_on(table, row, "SIS_CORE")?).then_some("NO_SIS_CORE"));
                with.extend((!is_on(table, row, "SIS_PROP")?).then_some("NO_SIS_PROP"));
                let with = with.join(",");
                let sides = Sides { machine, kernel: "v5.2", base: "", with: &with };
                let load = text("load")?;
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
                published.compare_pct = Some(given("compare_pct")?);
                published.spreads = spreads("baseline_std_pct", "patch_std_pct")?;
                // Those of the database are 1 at each load: no curve.
                let base = above_0("baseline")?;
                published.baseline = (benchmark != "oracle db").then(|| (format!("{benchmark} {machine}"), base));
            }
            Form::RqLock => {
                // One side, before f3dd3f674555, since when the wakelist takes that time. The other side is not shown.
                published.recipe = SIS_UTIL.recipe("will-it-scale", "context_switch1", text("nr_instance")?, &[]);
                published.what = What::RqLock;
                published.rq_lock_pct = Some(given("rq_lock_pct")?);
            }
            Form::Sequential | Form::Turbostat | Form::Gitsource => {}
            Form::Jankbench => {
                let (with, case, what) = boosting::jankbench(text("metric")?);
                let sides = Sides { machine: "pixel6", with, ..BOOST };
                published.what = what;
                published.recipe = match case {
                    Some(case) => sides.recipe("jankbench", case, "1", &[]),
                    None => Err(format!("metric {} is not known", text("metric")?)),
                };
                let (base, with) = (above_0("base")?, above_0("runnable_boosting")?);
                // Less of all of them is better.
                published.compare_pct = Some(100.0 * (1.0 - with / base));
                published.beside = Some([Some(base), Some(with)]);
            }
            Form::Messaging => {
                let loops = [("loops".to_owned(), 2000)];
                let sides = Sides { machine: "ampere-altra-2s160c", with: boosting::BALANCING, ..BOOST };
                published.recipe = match text("command")?.starts_with("perf bench sched messaging -t -g 1 -l 2000") {
                    true => sides.recipe("perf-bench", "sched-messaging-thread", "1", &loops),
                    false => Err(format!("{} is not modelled", text("command")?)),
                };
                published.compare_pct = Some(100.0 * (1.0 - above_0("patched_s")? / above_0("base_s")?));
                published.spreads = spreads("base_std_pct", "patched_std_pct")?;
                published.baseline = Some(("perf bench sched messaging".to_owned(), above_0("base_s")?));
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
            observer_cost_ns: 0,
        };
        Ok((recipe, instances(load)?))
    }
}

/// A counter of both sides: the base's is what the change is a share of; `divides` where other counters are shares of both.
fn counters(
    table: &CsvTable,
    row: &CsvRow,
    [base, with]: [&str; 2],
    divides: bool,
) -> Result<[f64; 2], PublishedError> {
    let old = table.above_0(row, base)?;
    let new = if divides { table.above_0(row, with) } else { table.number_that(row, with, "0 or more", |n| n >= 0.0) }?;
    Ok([old, new])
}

/// A column of features that are on or off.
fn is_on(table: &CsvTable, row: &CsvRow, column: &str) -> Result<bool, PublishedError> {
    match table.text(row, column) {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(table.error(Some(row), Some(column), format!("{other:?} is neither; expected true or false"))),
    }
}

/// Makes of published counters what stands beside the simulated ones: shares of the searches of the same run, which comes to
/// its own searches first; of searches, the CPU time for each. A run of the counters' file takes 100 s, and they are per CPU.
fn per_search(rows: &mut [Published]) {
    let run =
        |row: &Published| row.cells.iter().find(|(name, _)| name == "hackbench_groups").map(|(_, cell)| cell.clone());
    let searches: Vec<(Option<String>, [Option<f64>; 2])> = rows
        .iter()
        .filter(|row| matches!(row.what, What::SisSearch | What::WorkCalls))
        .filter_map(|row| Some((run(row), row.beside?)))
        .collect();
    for row in rows {
        let of_run = searches.iter().find(|(of, _)| *of == run(row)).map(|(_, searches)| *searches);
        let share = |factor: f64| {
            let (values, searches) = (row.beside?, of_run?);
            Some([0, 1].map(|side| Some(factor * values[side]? / searches[side]?)))
        };
        row.beside = match row.what {
            What::SisSearch => row.beside.map(|values| values.map(|count| count.map(|count| 100e6 / count))),
            What::SisDomainSearch | What::SisFailed | What::WorkDomainSearch | What::WorkFailed => share(100.0),
            What::SisScanned | What::WorkScanned => share(1.0),
            _ => row.beside,
        };
    }
}

/// Each bucket twice: without a tracer, and with one.
fn buckets_of(rows: &[Published], buckets: &[histogram::Row]) -> Vec<Published> {
    let traced = |observer_cost_ns: u64| {
        rows.iter().zip(buckets).map(move |(row, bucket)| {
            let mut row = row.clone();
            row.cells.push(("observer_cost_ns".to_owned(), observer_cost_ns.to_string()));
            row.recipe = row.recipe.map(|(recipe, load)| (Recipe { observer_cost_ns, ..recipe }, load));
            row.what = What::WalkUs { from: bucket.from, below: bucket.below };
            row.beside = Some([Some(bucket.share_pct), None]);
            row
        })
    };
    [0, histogram::TRACER_NS].into_iter().flat_map(traced).collect()
}

/// The number that balancing would write, with the LLC's imbalance_pct of 117.
fn nr_idle_scan(llc_weight: f64, sum_util_pct: f64) -> f64 {
    let sum_util = llc_weight * 1024.0 * sum_util_pct / 100.0;
    f64::from(update_idle_cpu_scan(sum_util as u64, llc_weight as u32, 117))
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
            for row in form.read(&folder.join(format!("{name}.csv"))).unwrap().0 {
                let stream = row.cells[0].1.starts_with("Stream");
                let why = row.recipe.as_ref().err().map(String::as_str);
                assert_eq!(why, stream.then_some("memory bandwidth is not modelled"), "{:?}", row.cells);
            }
        }
    }

    #[test]
    fn all_percentiles_of_schbench_are_of_one_run() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../published/search-limit-results.csv");
        let rows = Form::SearchLimit.read(&path).unwrap().0;
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

    fn read(name: &str) -> Vec<Published> {
        let form = TABLES.iter().find(|(table, _)| *table == name).unwrap().1;
        form.read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../published/{name}.csv"))).unwrap().0
    }

    /// By hand: 931530 / 3154397 and 1349865 / 3166395 of one group; 100 s / 5842896 calls per CPU of the counters.
    #[test]
    fn published_counters_are_compared_for_each_search_of_their_run() {
        let near = |row: &Published, expected: [f64; 2]| {
            let found = row.beside.unwrap().map(Option::unwrap);
            let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.001 * b);
            assert!(close, "{:?}: {found:?}, not {expected:?}", row.cells);
        };
        let zen3 = read("sis_util-zen3-hackbench-search-stats");
        near(&zen3[2], [29.531, 42.631]);
        near(&zen3[5], [8.42, 8.16]);
        near(&zen3[14], [48.589, 48.433]);
        assert!((zen3[0].compare_pct.unwrap() + 0.373).abs() < 0.001, "more seconds are worse");
        let counters = read("sis_util-224-threads-counters");
        let of = |what| counters.iter().find(|row| row.what == what).unwrap();
        near(of(What::SisSearch), [17.115, 6.5155]);
        near(of(What::SisScanned), [21.958, 1.01325]);
        near(of(What::SisFailed), [0.65959, 99.907]);
    }

    #[test]
    fn every_published_nr_idle_scan_is_the_formulas() {
        for row in read("sis_util-nr_idle_scan") {
            assert_eq!(row.computed, row.beside.unwrap()[0], "{:?}", row.cells);
        }
    }

    #[test]
    fn every_published_table_of_the_project_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../published");
        let rows = |name: &str, form: &Form| form.read(&folder.join(format!("{name}.csv"))).unwrap().0;
        for (name, form) in &TABLES {
            let rows = rows(name, form);
            assert!(!rows.is_empty(), "{name}");
            let tells = |row: &Published| {
                let difference = row.compare_pct.is_some() || row.search.is_some();
                difference || row.beside.is_some() || row.rq_lock_pct.is_some()
            };
            let told = rows.iter().all(|row| tells(row) || row.recipe.is_err());
            assert!(told, "{name}: a row that is simulated has a number to stand beside");
        }
    }
}
