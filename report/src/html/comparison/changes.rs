//! One side against the other over the load.

use super::{BASE, WITH};
use wakelab_page::{Comparison as Changes, Estimate, Metric, MetricRow, Verdict};
use wakelab_study::compare::{Better, CompareRow, Comparison, Side};

/// A panel for each case and metric, in the order in which they came.
pub(super) fn changes(found: &Comparison) -> Changes {
    let mut metrics: Vec<Metric> = Vec::new();
    for row in &found.rows {
        let name = format!("{} {}: {}", row.benchmark, row.case, row.metric);
        if metrics.last().is_none_or(|last| last.name != name) {
            let lower_is_better = row.better == Better::Lower;
            metrics.push(Metric { name, unit: row.unit.clone(), lower_is_better, rows: Vec::new() });
        }
        if let Some(metric) = metrics.last_mut() {
            metric.rows.push(change(row));
        }
    }
    Changes { base: BASE.to_owned(), with: WITH.to_owned(), metrics }
}

fn change(row: &CompareRow) -> MetricRow {
    let verdict = match row.ci95 {
        None => Verdict::Unknown,
        Some([low, _]) if low > 0.0 => Verdict::Better,
        Some([_, high]) if high < 0.0 => Verdict::Worse,
        Some(_) => Verdict::Same,
    };
    let mean = |side: &Side| Estimate { mean: side.mean, interval: None };
    MetricRow {
        load: row.load.clone(),
        base: mean(&row.base),
        with: mean(&row.with),
        better_pct: Estimate { mean: row.compare_pct, interval: row.ci95.map(|[low, high]| (low, high)) },
        p: row.p_value,
        repeats: row.base.n as u32,
        verdict,
        published_pct: row.published.as_ref().map(|published| published.compare_pct),
    }
}
