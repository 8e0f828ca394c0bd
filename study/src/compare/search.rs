//! Search statistics over the repeats of a side.

use serde::Serialize;
use wakelab_measure::{Bucket, RunStats, SearchStats};

/// Search statistics, summed over repeats. The rates are of the sums; `None` where there was nothing to divide by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchSummary {
    /// The four counters.
    #[serde(flatten)]
    pub counts: SearchStats,
    /// [`SearchStats::se_eff_pct`].
    pub se_eff_pct: Option<f64>,
    /// [`SearchStats::dom_eff_pct`].
    pub dom_eff_pct: Option<f64>,
    /// [`SearchStats::fast_rate_pct`].
    pub fast_rate_pct: Option<f64>,
    /// [`SearchStats::success_rate_pct`].
    pub success_rate_pct: Option<f64>,
    /// [`SearchStats::scanned_per_domain_search`].
    pub scanned_per_domain_search: Option<f64>,
    /// Durations of `select_idle_cpu()`, ns, by powers of two, summed.
    pub select_idle_cpu_ns: Vec<Bucket>,
}

impl SearchSummary {
    /// Of these runs.
    pub fn of(runs: &[RunStats]) -> Self {
        let counts: SearchStats = runs.iter().map(|run| run.search).sum();
        SearchSummary {
            counts,
            se_eff_pct: counts.se_eff_pct(),
            dom_eff_pct: counts.dom_eff_pct(),
            fast_rate_pct: counts.fast_rate_pct(),
            success_rate_pct: counts.success_rate_pct(),
            scanned_per_domain_search: counts.scanned_per_domain_search(),
            select_idle_cpu_ns: add_buckets(runs),
        }
    }
}

/// The runs' histograms added up, the lowest bucket first.
fn add_buckets(runs: &[RunStats]) -> Vec<Bucket> {
    let mut sum: Vec<Bucket> = Vec::new();
    for bucket in runs.iter().flat_map(|run| &run.select_idle_cpu_ns) {
        match sum.binary_search_by_key(&bucket.from, |b| b.from) {
            Ok(at) => sum[at].count += bucket.count,
            Err(at) => sum.insert(at, *bucket),
        }
    }
    sum
}
