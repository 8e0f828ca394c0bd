//! The page of the published tables.

mod tables;

use crate::VERSION;
use crate::reproduce::{effort, name};
use wakelab_page::{
    Comparison, Error, Estimate, Kind, Metric, MetricRow, Page, Run, Side, StatPoint, Statistic, Verdict, render,
};
use wakelab_study::compare::SearchRates;
use wakelab_study::reproduce::{Class, Scoreboard, Scored, ScoredTable};

const BASE: &str = "base";
const WITH: &str = "with";

/// The page; `command` makes it again.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn reproduce(board: &Scoreboard, command: &str) -> Result<String, Error> {
    let mut page = Page {
        title: "Published tables, simulated".to_owned(),
        lead: "Diamonds and columns named \u{201c}published\u{201d} are of the postings; all else is simulated, not measured.".to_owned(),
        run: Run {
            command: command.to_owned(),
            version: VERSION.to_owned(),
            kind: Kind::Simulated,
            workload: board.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", "),
            facts: vec![("effort".to_owned(), effort(board))],
            ..Run::default()
        },
        sides: [BASE, WITH].map(|name| Side { name: name.to_owned(), switches: "as each table says".to_owned(), features: Vec::new() }).to_vec(),
        search: board.tables.iter().flat_map(search).collect(),
        sections: tables::misses(board).into_iter().chain(board.tables.iter().map(tables::section)).collect(),
        assumed: board.assumed.iter().map(super::comparison::assumed).collect(),
        ..Page::default()
    };
    let metrics: Vec<Metric> = board.tables.iter().flat_map(metrics).collect();
    if !metrics.is_empty() {
        page.comparison = Some(Comparison { base: BASE.to_owned(), with: WITH.to_owned(), metrics });
    }
    page.notes.push("A difference above the posting\u{2019}s noise is an effect: above max(5 %, twice the root of the summed squares of both spreads), 10 % where it gives none.".to_owned());
    page.notes.extend(board.failed.iter().map(|failed| format!("Failed: {failed}")));
    if !board.complete {
        page.notes.push("It was interrupted: rows that were not reached are listed as such.".to_owned());
    }
    render(&page)
}

/// The differences of a table, by benchmark where it has several.
fn metrics(table: &ScoredTable) -> Vec<Metric> {
    let benchmark = |row: &Scored| {
        let cell = row.cells.iter().find(|(column, _)| column == "benchmark");
        cell.map_or(table.name.clone(), |(_, name)| format!("{}: {name}", table.name))
    };
    let mut metrics: Vec<Metric> = Vec::new();
    for row in &table.rows {
        let Some(simulated) = row.simulated_compare_pct else { continue };
        let name = benchmark(row);
        let at = metrics.iter().position(|metric| metric.name == name).unwrap_or_else(|| {
            metrics.push(Metric { name, ..Metric::default() });
            metrics.len() - 1
        });
        metrics[at].rows.push(difference(row, simulated));
    }
    metrics
}

fn difference(row: &Scored, simulated: f64) -> MetricRow {
    let unknown = Estimate { mean: f64::NAN, interval: None };
    MetricRow {
        load: name(row),
        base: unknown,
        with: unknown,
        better_pct: Estimate { mean: simulated, interval: None },
        p: None,
        repeats: 0,
        verdict: match Class::of(simulated, row.noise_pct) {
            Class::Better => Verdict::Better,
            Class::Same => Verdict::Same,
            Class::Worse => Verdict::Worse,
        },
        published_pct: row.published_compare_pct,
    }
}

/// One of the published rates.
type Rate = fn(&SearchRates) -> f64;

const RATES: [(&str, Rate); 4] = [
    ("se_eff", |rates| rates.se_eff_pct),
    ("dom_eff", |rates| rates.dom_eff_pct),
    ("fast_rate", |rates| rates.fast_rate_pct),
    ("success_rate", |rates| rates.success_rate_pct),
];

/// Simulated and published rates of the base side.
fn search(table: &ScoredTable) -> Vec<Statistic> {
    let statistic = |(rate_name, rate): (&str, Rate)| {
        let mut points = Vec::new();
        for row in table.rows.iter().filter(|row| row.published_search.is_some()) {
            for (rates, published) in [(row.simulated_search, false), (row.published_search, true)] {
                let point = |rates| StatPoint {
                    load: name(row),
                    side: BASE.to_owned(),
                    value: rate(&rates),
                    interval: None,
                    published,
                };
                points.extend(rates.map(point));
            }
        }
        Statistic { name: rate_name.to_owned(), about: table.name.clone(), unit: "%".to_owned(), points }
    };
    let all = RATES.into_iter().map(statistic);
    all.filter(|statistic| statistic.points.iter().any(|point| !point.published)).collect()
}
