//! What a comparison found: plain data for tables and JSON.

use super::{Case, Experiment, PowerSummary, RegretSummary, SearchSummary, Variant};
use crate::statistics::{WELCH, difference, mean, std_pct};
use serde::Serialize;
use std::path::PathBuf;
use wakelab_machine::Machine;
use wakelab_measure::RunStats;
use wakelab_workload::{
    FRAME_MAX, FRAME_MEAN, LATENCY_90PCT, LATENCY_99PCT, LATENCY_MEAN, MISSED_16MS, TIME, Workload,
};

/// Where numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A model ran.
    Simulated,
}

/// Which way a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentInfo {
    /// The experiment's name: the file's `name`, else its stem; `compare` where it came from flags.
    pub name: String,
    /// The machine's name.
    pub machine: String,
    /// The kernel's name.
    pub kernel: String,
    /// Workloads with their loads as given, each `netperf:TCP_RR 25%..200%/25%`.
    pub workloads: Vec<String>,
    /// The seed from which those of the runs are derived.
    pub seed: u64,
    /// How often each case was run on each side, 1 or more.
    pub repeats: u32,
    /// What is simulated before measuring begins, ns.
    pub settle_ns: u64,
    /// What is measured after that, ns. A run takes `settle_ns + time_ns`.
    pub time_ns: u64,
    /// What is switched on top of the kernel's features on the base side, as given; may be empty.
    pub base: String,
    /// The same on the other side.
    pub with: String,
    /// What a tracer was taken to cost at each call of `select_idle_cpu()`, ns; 0 for none.
    pub observer_cost_ns: u64,
}

/// A number that nobody published and that the model had to assume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumed {
    /// Whose it is: `machine`, or the workload (`netperf:TCP_RR`).
    pub of: String,
    /// Its name there.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What was used.
    pub value: u64,
    /// The lowest it may be.
    pub low: u64,
    /// The highest it may be.
    pub high: u64,
    /// Why this value.
    pub why: String,
}

/// Base against with, over all cases.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Where the numbers come from.
    pub kind: Kind,
    /// What was asked for.
    pub experiment: ExperimentInfo,
    /// The machine. Not serialised here: the report says what of it is shown.
    #[serde(skip)]
    pub machine: Machine,
    /// A row for each workload and load, in the order of the experiment.
    pub rows: Vec<CompareRow>,
    /// Whether all rows that were asked for are there: false after a stop.
    pub complete: bool,
    /// What of machine and workloads is assumed.
    pub assumed: Vec<Assumed>,
    /// The published tables that stand beside the rows.
    pub published: Vec<PathBuf>,
}

/// One case at one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareRow {
    /// `netperf`.
    pub benchmark: String,
    /// `TCP_RR`.
    pub case: String,
    /// `224 threads`.
    pub load: String,
    /// `throughput`.
    pub metric: String,
    /// The metric's unit: `trans/s`.
    pub unit: String,
    /// Which way the metric is good.
    pub better: Better,
    /// The base side.
    pub base: Side,
    /// The other.
    pub with: Side,
    /// How much better `with` is, % of the base's mean; positive is better whichever way the metric is good.
    pub compare_pct: f64,
    /// The standard deviation of `with`, % of its own mean, as schedtests prints it in brackets; 0 for one repeat.
    pub compare_std_pct: f64,
    /// The 95% interval of `compare_pct`, \[low, high\]; `None` for one repeat.
    pub ci95: Option<[f64; 2]>,
    /// Two-sided p of equal means; `None` for one repeat.
    pub p_value: Option<f64>,
    /// Which test gave them; `None` where there is none.
    pub test: Option<&'static str>,
    /// The published row of this case and load.
    pub published: Option<PublishedRow>,
    /// The published search statistics of this case and load, of the base side.
    pub published_search: Option<SearchRates>,
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// What is switched on top of the kernel's features, as given; may be empty.
    pub label: String,
    /// Every feature that is on, by name.
    pub features: Vec<&'static str>,
    /// Mean of `values`, in the row's unit.
    pub mean: f64,
    /// Their sample standard deviation, % of the mean; 0 for one repeat.
    pub std_pct: f64,
    /// How many there are.
    pub n: usize,
    /// The metric of each repeat.
    pub values: Vec<f64>,
    /// Search statistics over all repeats.
    pub search: SearchSummary,
    /// Median latency of a transaction, ns, mean over repeats.
    pub latency_p50_ns: f64,
    /// 99th percentile of it, ns, mean over repeats.
    pub latency_p99_ns: f64,
    /// CPU time of the machine for each wake-up, ns, mean over repeats.
    pub cpu_ns_per_wakeup: f64,
    /// Migrations by balancing, mean over repeats.
    pub migrations: f64,
    /// Share of the machine's CPU time that was idle, %, mean over repeats.
    pub idle_pct: f64,
    /// Share of the CPU time that was not idle which went into waiting for run queues' locks, %, mean over repeats.
    pub rq_lock_pct: f64,
    /// Switches away from a task that could go on, mean over repeats.
    pub switches_involuntary: f64,
    /// Utilisation of the LLCs as periodic balancing saw it, 0 to 1, mean over repeats; `None` if no balance came.
    pub llc_util: Option<f64>,
    /// What perfect knowledge would have changed; `None` where that was not wanted.
    pub regret: Option<RegretSummary>,
    /// Frequencies, idle states and energy; `None` where nothing governed them.
    pub power: Option<PowerSummary>,
    /// What each repeat gave.
    pub runs: Vec<RunStats>,
}

/// What was published of a case at a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedRow {
    /// Spread of the baseline, % of its mean.
    pub baseline_std_pct: f64,
    /// Difference, %; positive is better.
    pub compare_pct: f64,
    /// Spread of the other side, %.
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

/// The metric of a run, in its own unit. The run measured something, as [`super::run::run`] saw to.
fn metric(workload: &Workload, run: &RunStats) -> f64 {
    match (workload.metric.as_str(), run.span_ns) {
        (TIME, Some(span)) => span as f64 / 1e9,
        (LATENCY_90PCT, _) => run.latency.p90 as f64 / 1e3,
        (LATENCY_99PCT, _) => run.latency.p99 as f64 / 1e3,
        (LATENCY_MEAN, _) => run.latency.mean / 1e3,
        (FRAME_MEAN, _) => run.latency.mean / 1e6,
        (FRAME_MAX, _) => run.latency.max as f64 / 1e6,
        (MISSED_16MS, _) => 100.0 * run.latency.missed_16ms as f64 / run.done as f64,
        _ => run.done as f64 * 1e9 / run.measured_ns as f64,
    }
}

impl CompareRow {
    /// Whether it is the row of this workload at this load.
    pub(super) fn is_of(&self, workload: &Workload) -> bool {
        (&self.benchmark, &self.case, &self.load) == (&workload.benchmark, &workload.case, &workload.load)
    }
}

impl Comparison {
    /// The row of the same workload and load as `row`, which may be of another comparison.
    pub fn row_like(&self, row: &CompareRow) -> Option<&CompareRow> {
        let key = |row: &CompareRow| (row.benchmark.clone(), row.case.clone(), row.load.clone());
        self.rows.iter().find(|other| key(other) == key(row))
    }
}

/// The row of a case.
pub(super) fn row(experiment: &Experiment, case: &Case, base: Vec<RunStats>, with: Vec<RunStats>) -> CompareRow {
    let workload = &case.workload;
    let better = if workload.higher_is_better { Better::Higher } else { Better::Lower };
    let (base, with) = (side(workload, &experiment.base, base), side(workload, &experiment.with, with));
    let difference = difference(&base.values, &with.values, better);
    CompareRow {
        benchmark: workload.benchmark.clone(),
        case: workload.case.clone(),
        load: workload.load.clone(),
        metric: workload.metric.clone(),
        unit: workload.unit.clone(),
        better,
        compare_pct: difference.compare_pct,
        compare_std_pct: with.std_pct,
        ci95: difference.ci95,
        p_value: difference.p_value,
        test: difference.p_value.map(|_| WELCH),
        published: experiment.published.result(workload),
        published_search: experiment.published.search(workload),
        base,
        with,
    }
}

fn side(workload: &Workload, variant: &Variant, runs: Vec<RunStats>) -> Side {
    let values: Vec<f64> = runs.iter().map(|run| metric(workload, run)).collect();
    let over_runs = |number: fn(&RunStats) -> f64| mean(&runs.iter().map(number).collect::<Vec<_>>());
    let utils: Vec<f64> = runs.iter().filter_map(|run| run.llc_util).collect();
    Side {
        label: variant.label.clone(),
        features: variant.features.iter().map(|feature| feature.name()).collect(),
        mean: mean(&values),
        std_pct: std_pct(&values),
        n: values.len(),
        search: SearchSummary::of(&runs),
        latency_p50_ns: over_runs(|run| run.latency.p50 as f64),
        latency_p99_ns: over_runs(|run| run.latency.p99 as f64),
        cpu_ns_per_wakeup: over_runs(|run| run.cpu_ns_per_wakeup),
        migrations: over_runs(|run| run.migrations as f64),
        idle_pct: over_runs(|run| run.idle_pct),
        rq_lock_pct: over_runs(|run| run.rq_lock_pct),
        switches_involuntary: over_runs(|run| run.switches_involuntary as f64),
        llc_util: (!utils.is_empty()).then(|| mean(&utils)),
        regret: RegretSummary::of(&runs),
        power: PowerSummary::of(&runs),
        values,
        runs,
    }
}
