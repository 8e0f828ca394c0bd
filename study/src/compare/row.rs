//! From runs to a row.

use super::{
    Better, Case, CompareRow, Comparison, Experiment, PowerSummary, RegretSummary, SearchSummary, Side, Variant,
};
use crate::statistics::{WELCH, difference, mean, std_pct};
use wakelab_measure::RunStats;
use wakelab_workload::{
    FRAME_MAX, FRAME_MEAN, LATENCY_90PCT, LATENCY_99PCT, LATENCY_MEAN, MISSED_16MS, TIME, Workload,
};

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
