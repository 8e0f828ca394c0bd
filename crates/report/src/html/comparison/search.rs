//! Search statistics over the load, and what searches cost.

use super::{named, place};
use wakelab_page::{CostBin, Place, SearchCost, StatPoint, Statistic};
use wakelab_study::compare::{CompareRow, Comparison, RegretSummary, SearchRates, Side};

/// A rate of a side, and of the published ones.
type Rate = (fn(&Side) -> Option<f64>, fn(&SearchRates) -> f64);

/// The statistics of the patch that introduced them, in its order.
const RATES: [(&str, &str, Rate); 4] = [
    ("se_eff", "searches that found a CPU, per look", (|side| side.search.se_eff_pct, |rates| rates.se_eff_pct)),
    (
        "dom_eff",
        "domain searches that found a CPU, per look",
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
            let [base, with] = named(found, row);
            for (name, side) in [&base, &with] {
                points.extend(of(side).map(|value| point(found, row, name, value, false)));
            }
            let told = row.published_search.as_ref();
            points.extend(told.map(|rates| point(found, row, &base.0, published(rates), true)));
        }
        Statistic { name: (*name).to_owned(), about: (*about).to_owned(), unit: "%".to_owned(), points }
    };
    let looks = |row: &CompareRow| {
        named(found, row)
            .map(|(name, side)| side.search.looks_per_domain_search.map(|value| point(found, row, &name, value, false)))
    };
    let mut statistics: Vec<Statistic> = RATES.iter().map(rate).collect();
    statistics.push(Statistic {
        name: "looks".to_owned(),
        about: "looks per domain search".to_owned(),
        unit: String::new(),
        points: found.rows.iter().flat_map(looks).flatten().collect(),
    });
    statistics.retain(|statistic| !statistic.points.is_empty());
    statistics
}

pub(super) fn point(found: &Comparison, row: &CompareRow, side: &str, value: f64, published: bool) -> StatPoint {
    let Place { case, load } = place(found, row);
    StatPoint { case, load, side: side.to_owned(), value, interval: None, published }
}

pub(super) fn costs(found: &Comparison) -> Vec<SearchCost> {
    let cost = |row: &CompareRow| {
        named(found, row).map(|(name, side)| {
            let Place { case, load } = place(found, row);
            SearchCost { side: name, case, load, unit: "ns".to_owned(), bins: bins(side) }
        })
    };
    let mut costs: Vec<_> = found.rows.iter().flat_map(cost).collect();
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

/// A number of a side's regret.
type Number = fn(&RegretSummary) -> Option<f64>;

const NUMBERS: [(&str, &str, &str, Number); 5] = [
    ("wake-ups missed", "put on a busy or claimed CPU though an idle one existed", "%", |regret| {
        regret.wakeups.missed_pct
    }),
    ("searches missed", "failed though a CPU was idle all the time", "%", |regret| regret.searches.missed_pct),
    ("futile looks", "could not succeed", "%", |regret| regret.looks.futile_pct),
    ("CPU time on idle", "for each wake-up that was put on an idle CPU", "us", |regret| {
        regret.cpu.on_idle.ns_per_wakeup.map(|ns| ns / 1e3)
    }),
    ("CPU time on busy", "for each wake-up that was put on a busy CPU", "us", |regret| {
        regret.cpu.on_busy.ns_per_wakeup.map(|ns| ns / 1e3)
    }),
];

/// Empty where it was not wanted.
pub(super) fn regret(found: &Comparison) -> Vec<Statistic> {
    let statistic = |(name, about, unit, number): &(&str, &str, &str, Number)| {
        let of = |row: &CompareRow| {
            named(found, row).map(|(name, side)| {
                side.regret.as_ref().and_then(number).map(|value| point(found, row, &name, value, false))
            })
        };
        let points = found.rows.iter().flat_map(of).flatten();
        Statistic {
            name: (*name).to_owned(),
            about: (*about).to_owned(),
            unit: (*unit).to_owned(),
            points: points.collect(),
        }
    };
    NUMBERS.iter().map(statistic).filter(|statistic| !statistic.points.is_empty()).collect()
}
