//! The page of the published tables.

use super::{TEXT, opt, table, text};
use crate::VERSION;
use crate::reproduce::{beside_line, classes, effort, excluded, facts, missed, name};
use wakelab_page::{
    Cell, Comparison, Error, Estimate, Kind, Metric, MetricRow, Page, Place, Run, Section, Side, StatPoint, Statistic,
    Table, Verdict, render,
};
use wakelab_study::compare::{Class, SearchRates};
use wakelab_study::reproduce::{Scoreboard, Scored, ScoredTable, Summary};

/// What the sides are called: each table has its own, which its notes name.
const BASE: &str = "before";
const WITH: &str = "with the change";

/// The page; `command` makes it again.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn reproduce(board: &Scoreboard, command: &str) -> Result<String, Error> {
    let mut page = Page {
        title: "Published tables, simulated".to_owned(),
        lead: format!(
            "{} Diamonds and columns named \u{201c}published\u{201d} are from the postings; everything else is \
             simulated, not measured.",
            score(&board.of_all)
        ),
        run: Run {
            command: command.to_owned(),
            version: VERSION.to_owned(),
            kind: Kind::Simulated,
            workload: board.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", "),
            facts: vec![("effort".to_owned(), effort(board))],
            ..Run::default()
        },
        sides: [BASE, WITH]
            .map(|name| Side { name: name.to_owned(), switches: "as each table says".to_owned(), features: Vec::new() })
            .to_vec(),
        focus: missed(board).first().map(|(table, _)| Place { case: (*table).to_owned(), load: String::new() }),
        search: search(board),
        sections: of_all(board).into_iter().chain(misses(board)).chain(board.tables.iter().map(section)).collect(),
        assumed: board.assumed.iter().map(super::comparison::assumed).collect(),
        ..Page::default()
    };
    let metrics: Vec<Metric> = board.tables.iter().flat_map(metrics).collect();
    if !metrics.is_empty() {
        page.comparison = Some(Comparison { base: BASE.to_owned(), with: WITH.to_owned(), metrics });
    }
    page.notes.push(
        "A difference above the posting\u{2019}s noise is an effect: above max(5 %, twice the root of the \
        summed squares of both spreads), 10 % where it gives none."
            .to_owned(),
    );
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
            metrics.push(Metric { name, case: table.name.clone(), ..Metric::default() });
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
        noise_pct: Some(row.noise_pct),
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

const RATES: [(&str, &str, Rate); 4] = [
    ("se_eff", "searches that found a CPU, per look", |rates| rates.se_eff_pct),
    ("dom_eff", "domain searches that found a CPU, per look", |rates| rates.dom_eff_pct),
    ("fast_rate", "searches that a fast path ended", |rates| rates.fast_rate_pct),
    ("success_rate", "searches that found a CPU", |rates| rates.success_rate_pct),
];

/// Simulated and published rates of the base side.
fn search(board: &Scoreboard) -> Vec<Statistic> {
    let of = |table: &ScoredTable, rate: Rate| {
        let mut points = Vec::new();
        for row in table.rows.iter().filter(|row| row.published_search.is_some()) {
            for (rates, published) in [(row.simulated_search, false), (row.published_search, true)] {
                let point = |rates| StatPoint {
                    case: table.name.clone(),
                    load: name(row),
                    side: BASE.to_owned(),
                    value: rate(&rates),
                    interval: None,
                    published,
                };
                points.extend(rates.map(point));
            }
        }
        let simulated = points.iter().any(|point| !point.published);
        if simulated { points } else { Vec::new() }
    };
    let statistic = |(name, about, rate): (&str, &str, Rate)| Statistic {
        name: name.to_owned(),
        about: about.to_owned(),
        unit: "%".to_owned(),
        points: board.tables.iter().flat_map(|table| of(table, rate)).collect(),
    };
    RATES.into_iter().map(statistic).filter(|statistic| !statistic.points.is_empty()).collect()
}

/// The score of several tables together.
fn of_all(board: &Scoreboard) -> Option<Section> {
    (board.tables.len() > 1).then(|| Section {
        id: "all-tables".to_owned(),
        title: format!("All {} tables", board.tables.len()),
        paragraphs: vec![score(&board.of_all)],
        tables: Vec::new(),
    })
}

fn score(summary: &Summary) -> String {
    let facts: Vec<String> = facts(summary).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{}.", facts.join("; "))
}

fn section(one: &ScoredTable) -> Section {
    let id = anchor(&one.name);
    let mut paragraphs = one.notes.clone();
    paragraphs.push(score(&one.summary));
    paragraphs.extend(excluded(one).into_iter().map(|(why, rows)| format!("Not simulated: {rows} ({why}).")));
    let mut tables = Vec::new();
    if told(one).next().is_some() {
        tables.push(differences(&id, one));
    }
    if one.rows.iter().any(|row| row.side_by_side.is_some()) {
        tables.push(beside(&id, one));
    }
    if one.rows.iter().any(|row| row.excluded.is_some()) {
        tables.push(not_simulated(&id, one));
    }
    Section { id, title: one.name.clone(), paragraphs, tables }
}

/// Anchors have lower-case letters, digits and hyphens.
fn anchor(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("table-{}", name.chars().map(letter).collect::<String>())
}

/// What is simulated of a table and has no numbers of its own beside.
fn told(one: &ScoredTable) -> impl Iterator<Item = &Scored> {
    let has = |row: &&Scored| row.side_by_side.is_none() || row.published_compare_pct.is_some();
    one.rows.iter().filter(|row| row.excluded.is_none()).filter(has)
}

fn differences(id: &str, one: &ScoredTable) -> Table {
    let mut columns: Vec<(String, &str)> = [
        ("Row", TEXT),
        ("Published", "%"),
        ("Simulated", "%"),
        ("Noise", "%"),
        ("Published is", TEXT),
        ("Simulated is", TEXT),
        ("Base side, simulated", ""),
    ]
    .map(|(title, unit)| (title.to_owned(), unit))
    .to_vec();
    for name in RATES.map(|(name, ..)| name).into_iter().chain(["rq lock"]) {
        columns.extend([(format!("{name}, published"), "%"), (format!("{name}, simulated"), "%")]);
    }
    let row = |row: &Scored| {
        let mut cells = vec![text(name(row)), opt(row.published_compare_pct, 2), opt(row.simulated_compare_pct, 2)];
        cells.push(opt(row.published_compare_pct.map(|_| row.noise_pct), 1));
        cells.extend(classes(row).map(|class| text(class.map_or("", Class::name))));
        cells.push(opt(row.simulated_baseline, 2));
        for (.., rate) in RATES {
            cells.extend([row.published_search, row.simulated_search].map(|of| opt(of.map(|of| rate(&of)), 2)));
        }
        cells.extend([row.published_rq_lock_pct, row.simulated_rq_lock_pct].map(|pct| opt(pct, 2)));
        cells
    };
    // A column without a value is not shown.
    let rows: Vec<Vec<Cell>> = told(one).map(row).collect();
    let empty = |cell: &Cell| *cell == Cell::Empty || *cell == text("");
    let used: Vec<usize> = (0..columns.len()).filter(|&at| rows.iter().any(|row| !empty(&row[at]))).collect();
    let columns: Vec<_> = used.iter().map(|&at| (columns[at].0.as_str(), columns[at].1)).collect();
    let rows = rows.into_iter().map(|row| used.iter().map(|&at| row[at].clone()).collect()).collect();
    table(&format!("{id}-rows"), &format!("{}: differences and searches", one.name), &columns, rows)
}

/// Numbers that are no differences.
fn beside(id: &str, one: &ScoredTable) -> Table {
    let published = |side: &str| format!("{side}, published");
    let columns =
        [("Row", TEXT), ("What", TEXT), (&published(BASE), ""), (BASE, ""), (&published(WITH), ""), (WITH, "")];
    let row = |row: &Scored| {
        let [name, what, ..] = beside_line(row)?;
        let beside = row.side_by_side.as_ref()?;
        let mut cells = vec![text(name), text(what)];
        for side in [0, 1] {
            cells.extend([opt(beside.published[side], 2), opt(beside.simulated[side], 2)]);
        }
        Some(cells)
    };
    let rows = one.rows.iter().filter_map(row).collect();
    table(&format!("{id}-beside"), &format!("{}: published and simulated numbers", one.name), &columns, rows)
}

/// Rows that the simulation leaves out.
fn not_simulated(id: &str, one: &ScoredTable) -> Table {
    let row = |row: &Scored| {
        let why = row.excluded.as_deref()?;
        Some(vec![text(name(row)), opt(row.published_compare_pct, 2), text(why)])
    };
    let columns = [("Row", TEXT), ("Published", "%"), ("Why not", TEXT)];
    let rows = one.rows.iter().filter_map(row).collect();
    table(&format!("{id}-not"), &format!("{}: rows that are not simulated", one.name), &columns, rows)
}

/// Where the simulation is wrong, the farthest first; `None` where it is nowhere.
fn misses(board: &Scoreboard) -> Option<Section> {
    let row = |(table, row): (&str, &Scored)| {
        let numbers = [(row.published_compare_pct, 2), (row.simulated_compare_pct, 2), (Some(row.noise_pct), 1)];
        let names = [text(table), text(name(row))].into_iter();
        names.chain(numbers.map(|(number, digits)| opt(number, digits))).collect()
    };
    let rows: Vec<Vec<Cell>> = missed(board).into_iter().map(row).collect();
    let columns = [("Table", TEXT), ("Row", TEXT), ("Published", "%"), ("Simulated", "%"), ("Noise", "%")];
    (!rows.is_empty()).then(|| Section {
        id: "misses".to_owned(),
        title: "Misses".to_owned(),
        paragraphs: vec!["Rows whose class is not the published one, the farthest first.".to_owned()],
        tables: vec![table("misses-table", "Rows that the simulation misses", &columns, rows)],
    })
}
