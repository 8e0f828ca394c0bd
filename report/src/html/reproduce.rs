//! The page of the published tables.

use super::table::{TEXT, opt, table, text};
use crate::VERSION;
use crate::reproduce::{beside_line, classes, compared, effort, excluded, facts, locks, name};
use wakelab_page::{
    Cell, Comparison, Error, Estimate, Kind, Metric, MetricRow, Page, Run, Section, Side, StatPoint, Statistic, Table,
    Verdict, render,
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
        sections: board.tables.iter().map(section).collect(),
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

fn section(one: &ScoredTable) -> Section {
    let id = anchor(&one.name);
    let mut paragraphs = one.notes.clone();
    let score: Vec<String> = facts(&one.summary).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    paragraphs.push(format!("{}.", score.join("; ")));
    paragraphs.extend(excluded(one).into_iter().map(|(why, rows)| format!("Not simulated: {rows} ({why}).")));
    let mut tables = Vec::new();
    if compared(one).next().is_some() {
        tables.push(differences(&id, one));
    }
    if one.rows.iter().any(|row| row.beside.is_some()) {
        tables.push(beside(&id, one));
    }
    Section { id, title: one.name.clone(), paragraphs, tables }
}

/// Anchors have lower-case letters, digits and hyphens.
fn anchor(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("table-{}", name.chars().map(letter).collect::<String>())
}

fn differences(id: &str, one: &ScoredTable) -> Table {
    let columns = [
        ("Row", TEXT),
        ("Published", "%"),
        ("Simulated", "%"),
        ("Noise", "%"),
        ("Published is", TEXT),
        ("Simulated is", TEXT),
        ("fast_rate, published", "%"),
        ("fast_rate", "%"),
        ("dom_eff, published", "%"),
        ("dom_eff", "%"),
        ("rq lock, published", "%"),
        ("rq lock", "%"),
    ];
    let row = |row: &Scored| {
        let classes = classes(row).map(|class| text(class.map_or("", Class::name)));
        let mut cells = vec![text(name(row)), opt(row.published_compare_pct, 2), opt(row.simulated_compare_pct, 2)];
        cells.push(opt(row.published_compare_pct.map(|_| row.noise_pct), 1));
        cells.extend(classes);
        let (published, simulated) =
            (row.published_search, row.simulated_search.filter(|_| row.published_search.is_some()));
        for rate in [RATES[2].1, RATES[1].1] {
            cells.extend([published, simulated].map(|rates| opt(rates.map(|rates| rate(&rates)), 2)));
        }
        let locks = locks(row);
        cells.extend([opt(locks.map(|both| both.0), 2), opt(locks.map(|both| both.1), 2)]);
        cells
    };
    // A column without a value is not shown.
    let rows: Vec<Vec<Cell>> = compared(one).map(row).collect();
    let empty = |cell: &Cell| *cell == Cell::Empty || *cell == text("");
    let used: Vec<usize> = (0..columns.len()).filter(|&at| rows.iter().any(|row| !empty(&row[at]))).collect();
    let columns: Vec<_> = used.iter().map(|&at| columns[at]).collect();
    let rows = rows.into_iter().map(|row| used.iter().map(|&at| row[at].clone()).collect()).collect();
    table(&format!("{id}-rows"), &format!("{}: differences and searches", one.name), &columns, rows)
}

/// Numbers that are no differences.
fn beside(id: &str, one: &ScoredTable) -> Table {
    let columns =
        [("Row", TEXT), ("What", TEXT), ("base, published", ""), ("base", ""), ("with, published", ""), ("with", "")];
    let row = |row: &Scored| {
        let [name, what, ..] = beside_line(row)?;
        let beside = row.beside.as_ref()?;
        let mut cells = vec![text(name), text(what)];
        for side in [0, 1] {
            cells.extend([opt(beside.published[side], 2), opt(beside.simulated[side], 2)]);
        }
        Some(cells)
    };
    let rows = one.rows.iter().filter_map(row).collect();
    table(&format!("{id}-beside"), &format!("{}: published and simulated numbers", one.name), &columns, rows)
}
