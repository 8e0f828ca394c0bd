//! What perfect knowledge would have changed, over the load.

use super::search::point;
use super::{BASE, WITH};
use wakelab_page::Statistic;
use wakelab_study::compare::{Comparison, RegretSummary};

/// A number of a side's regret.
type Number = fn(&RegretSummary) -> Option<f64>;

const NUMBERS: [(&str, &str, &str, Number); 5] = [
    ("wake-ups missed", "put on a busy or claimed CPU though an idle one existed", "%", |regret| {
        regret.wakeups.missed_pct
    }),
    ("searches missed", "failed though a CPU was idle all the while", "%", |regret| regret.searches.missed_pct),
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
        let of = |row, name, regret: &Option<RegretSummary>| {
            regret.as_ref().and_then(number).map(|value| point(found, row, name, value, false))
        };
        let points = found
            .rows
            .iter()
            .flat_map(|row| [of(row, BASE, &row.base.regret), of(row, WITH, &row.with.regret)].into_iter().flatten());
        Statistic {
            name: (*name).to_owned(),
            about: (*about).to_owned(),
            unit: (*unit).to_owned(),
            points: points.collect(),
        }
    };
    NUMBERS.iter().map(statistic).filter(|statistic| !statistic.points.is_empty()).collect()
}
