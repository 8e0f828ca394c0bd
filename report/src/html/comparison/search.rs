//! Search statistics over the load, and what searches cost.

use super::{BASE, WITH, load};
use wakelab_page::{CostBin, SearchCost, StatPoint, Statistic};
use wakelab_study::compare::{CompareRow, Comparison, SearchRates, Side};

/// A rate of a side, and of the published ones.
type Rate = (fn(&Side) -> Option<f64>, fn(&SearchRates) -> f64);

/// The statistics of the patch that introduced them, in its order.
const RATES: [(&str, &str, Rate); 4] = [
    ("se_eff", "searches that found a CPU, by look", (|side| side.search.se_eff_pct, |rates| rates.se_eff_pct)),
    (
        "dom_eff",
        "domain searches that found a CPU, by look",
        (|side| side.search.dom_eff_pct, |rates| rates.dom_eff_pct),
    ),
    ("fast_rate", "searches that a fast path ended", (|side| side.search.fast_rate_pct, |rates| rates.fast_rate_pct)),
    (
        "success_rate",
        "searches that found a CPU",
        (|side| side.search.success_rate_pct, |rates| rates.success_rate_pct),
    ),
];

pub(super) fn search(found: &Comparison) -> Vec<Statistic> {
    let rate = |(name, about, (of, published)): &(&str, &str, Rate)| {
        let mut points = Vec::new();
        for row in &found.rows {
            for (side, value) in [(BASE, of(&row.base)), (WITH, of(&row.with))] {
                points.extend(value.map(|value| point(found, row, side, value, false)));
            }
            points.extend(row.published_search.as_ref().map(|rates| point(found, row, BASE, published(rates), true)));
        }
        Statistic { name: (*name).to_owned(), about: (*about).to_owned(), unit: "%".to_owned(), points }
    };
    let looks = |row: &CompareRow| {
        let of = |name, side: &Side| {
            side.search.scanned_per_domain_search.map(|value| point(found, row, name, value, false))
        };
        [of(BASE, &row.base), of(WITH, &row.with)]
    };
    let mut statistics: Vec<Statistic> = RATES.iter().map(rate).collect();
    statistics.push(Statistic {
        name: "scanned".to_owned(),
        about: "looks of a domain search".to_owned(),
        unit: String::new(),
        points: found.rows.iter().flat_map(looks).flatten().collect(),
    });
    statistics.retain(|statistic| !statistic.points.is_empty());
    statistics
}

pub(super) fn point(found: &Comparison, row: &CompareRow, side: &str, value: f64, published: bool) -> StatPoint {
    StatPoint { load: load(found, row), side: side.to_owned(), value, interval: None, published }
}

pub(super) fn costs(found: &Comparison) -> Vec<SearchCost> {
    let cost = |row: &CompareRow, name: &str, side: &Side| SearchCost {
        side: name.to_owned(),
        load: load(found, row),
        unit: "ns".to_owned(),
        bins: bins(side),
    };
    let mut costs: Vec<_> =
        found.rows.iter().flat_map(|row| [cost(row, BASE, &row.base), cost(row, WITH, &row.with)]).collect();
    costs.retain(|cost| !cost.bins.is_empty());
    costs
}

/// Without gaps: powers of two in which no search lies have none.
fn bins(side: &Side) -> Vec<CostBin> {
    let mut bins: Vec<CostBin> = Vec::new();
    for bucket in &side.search.select_idle_cpu_ns {
        while let Some(last) = bins.last().filter(|last| last.to + 1.0 < bucket.from as f64) {
            let from = last.to + 1.0;
            bins.push(CostBin { from, to: from * 2.0 - 1.0, searches: 0 });
        }
        let (from, to) = (bucket.from as f64, bucket.below as f64 - 1.0);
        bins.push(CostBin { from, to, searches: bucket.count });
    }
    bins
}
